//! What the proxy is told to do to a message, and whether it has.

use super::wire::Request;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// How long a test waits for the proxy, and the proxy for a test, before something must be wrong.
pub const BOUND: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Action {
    CutBefore,
    CutAfter,
    Reset,
    BlackHoleBefore,
    BlackHoleAfter,
    Delay(Duration),
    Hold,
}

pub struct Fault {
    pub action: Action,
    text: String,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    every_time: bool,
    fired: usize,
    released: bool,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at {:?}", self.action, self.text)
    }
}

impl Fault {
    /// `*_after` has fired when the server's answer is complete, every other fault when the message has arrived.
    pub fn has_fired(&self) {
        self.change(|state| state.fired += 1);
    }

    pub fn release(&self) {
        self.change(|state| state.released = true);
    }

    /// Whether it was released in this time.
    pub fn released_within(&self, limit: Duration) -> bool {
        self.wait(limit, |state| state.released)
    }

    fn fires_on(&self, request: &Request) -> bool {
        let asked = |statement: &String| statement.to_lowercase().contains(&self.text);
        !self.state().released && request.statements.iter().any(asked)
    }

    fn wait(&self, limit: Duration, until: impl Fn(&State) -> bool) -> bool {
        let state = self.state();
        let waited = self
            .changed
            .wait_timeout_while(state, limit, |state| !until(state));
        !waited.unwrap().1.timed_out()
    }

    fn change(&self, with: impl FnOnce(&mut State)) {
        with(&mut self.state());
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

/// A fault that was armed. Dropping this changes nothing.
pub struct Armed(Arc<Fault>);

impl Armed {
    /// Fires each time, until [`disarm`](super::Proxy::disarm).
    pub fn every_time(self) -> Self {
        self.0.change(|state| state.every_time = true);
        self
    }

    pub fn fired(&self) -> bool {
        self.times_fired() > 0
    }

    pub fn times_fired(&self) -> usize {
        self.0.state().fired
    }

    pub fn wait_until_fired(&self) {
        assert!(
            self.0.wait(BOUND, |state| state.fired > 0),
            "nothing came in {BOUND:?} that fires {}",
            self.0
        );
    }
}

/// A hold. The message goes on when this is released or dropped.
#[must_use = "a hold that is dropped holds nothing"]
pub struct Held(Armed);

impl Held {
    pub fn wait_until_reached(&self) {
        self.0.wait_until_fired();
    }

    pub fn reached(&self) -> bool {
        self.0.fired()
    }

    pub fn release(self) {}
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.0.release();
    }
}

impl From<Armed> for Held {
    fn from(armed: Armed) -> Self {
        Held(armed)
    }
}

/// The fault that is armed, and all that ever were.
#[derive(Default)]
pub struct Faults(Mutex<Known>);

#[derive(Default)]
struct Known {
    armed: Option<Arc<Fault>>,
    all: Vec<Arc<Fault>>,
}

impl Faults {
    pub fn arm(&self, text: &str, action: Action) -> Armed {
        let fault = Arc::new(Fault {
            action,
            text: text.to_lowercase(),
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let mut known = self.0.lock().unwrap();
        let earlier = known.armed.replace(fault.clone());
        known.all.push(fault.clone());
        // The panic must not poison what the proxy needs when it is dropped.
        drop(known);
        if let Some(earlier) = earlier.filter(|earlier| !earlier.state().released) {
            panic!("one fault at a time: {earlier} is still armed, disarm it first");
        }
        Armed(fault)
    }

    pub fn disarm(&self) {
        self.0.lock().unwrap().armed = None;
    }

    pub fn release(&self) {
        for fault in &self.0.lock().unwrap().all {
            fault.release();
        }
    }

    /// The armed fault if the request fires it.
    pub fn fired_by(&self, request: &Request) -> Option<Arc<Fault>> {
        let mut known = self.0.lock().unwrap();
        let fault = known.armed.take_if(|fault| fault.fires_on(request))?;
        if fault.state().every_time {
            known.armed = Some(fault.clone());
        }
        Some(fault)
    }
}
