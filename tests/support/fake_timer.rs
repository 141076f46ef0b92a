//! A clock that only sleeping moves, and a random source that a test sets.

use diesel_occ::Timer;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

#[derive(Clone)]
pub struct FakeTimer(Arc<Mutex<State>>);

struct State {
    now: Instant,
    slept: Vec<Duration>,
    random: f64,
    on_sleep: Option<Box<dyn FnMut() + Send>>,
}

impl FakeTimer {
    pub fn new(random: f64) -> Self {
        FakeTimer(Arc::new(Mutex::new(State {
            now: Instant::now(),
            slept: vec![],
            random,
            on_sleep: None,
        })))
    }

    /// Runs at every sleep: what others do meanwhile.
    pub fn on_sleep(self, f: impl FnMut() + Send + 'static) -> Self {
        self.0.lock().unwrap().on_sleep = Some(Box::new(f));
        self
    }

    /// The sleeps so far, in milliseconds.
    pub fn slept(&self) -> Vec<u128> {
        self.0
            .lock()
            .unwrap()
            .slept
            .iter()
            .map(Duration::as_millis)
            .collect()
    }

    /// Lets time pass.
    pub fn pass(&self, time: Duration) {
        self.0.lock().unwrap().now += time;
    }
}

impl Timer for FakeTimer {
    fn now(&self) -> Instant {
        self.0.lock().unwrap().now
    }

    fn sleep(&self, time: Duration) {
        let mut on_sleep = {
            let mut state = self.0.lock().unwrap();
            state.now += time;
            state.slept.push(time);
            state.on_sleep.take()
        };
        if let Some(on_sleep) = &mut on_sleep {
            on_sleep();
        }
        self.0.lock().unwrap().on_sleep = on_sleep;
    }

    fn random(&self) -> f64 {
        self.0.lock().unwrap().random
    }
}
