//! One client's connection and the proxy's own to the server. A thread each way moves what arrives.

use super::fault::{Action, BOUND, Fault};
use super::shared::Shared;
use super::source::Source;
use super::wire::{Answer, Inbox, Request, Wire};
use std::io::{Read, Result, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

pub struct Link {
    number: usize,
    client: TcpStream,
    server: TcpStream,
    wire: Mutex<Box<dyn Wire>>,
    /// Something was forwarded that the server has not begun to answer.
    waits: AtomicBool,
    /// From which answer on the client gets none, and the fault that wants it.
    swallows: Mutex<Option<(u64, Arc<Fault>)>>,
    resets: AtomicBool,
}

impl Link {
    pub fn new(
        number: usize,
        client: TcpStream,
        server: TcpStream,
        wire: Box<dyn Wire>,
    ) -> Result<Self> {
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        Ok(Link {
            number,
            client,
            server,
            wire: Mutex::new(wire),
            waits: AtomicBool::new(false),
            swallows: Mutex::new(None),
            resets: AtomicBool::new(false),
        })
    }

    /// Ends both sides; whatever still waits for them goes on with an error.
    pub fn close(&self) {
        // A side that is already closed is what is wanted.
        let _ = self.server.shutdown(Shutdown::Both);
        if !self.resets.load(Ordering::SeqCst) {
            let _ = self.client.shutdown(Shutdown::Both);
        }
    }

    /// Moves what the client sends, until either side ends.
    pub fn carry_requests(&self, shared: &Shared) {
        let _closing = Closing(self);
        let mut source = Source::new(&self.client);
        let mut inbox = Inbox::default();
        while source.look(&mut inbox) {
            // What arrived together goes on together, so that it is one round trip however fast the server is.
            let mut batch = Batch::default();
            while let Some(mut request) = self.next_request(&mut inbox) {
                shared.misspell(&mut request.bytes);
                if let Some(refusal) = request.refusal {
                    if (&self.client).write_all(refusal).is_err() {
                        return;
                    }
                    continue;
                }
                if let Some(fault) = shared.faults.fired_by(&request) {
                    let before = std::mem::take(&mut batch);
                    if self.forward(before).is_err()
                        || !self.suffer(&fault, &request, &mut source, shared)
                    {
                        return;
                    }
                }
                shared.journal.passes(self.number, &request);
                batch.add(&request);
            }
            if self.forward(batch).is_err() {
                return;
            }
        }
    }

    /// Moves what the server sends, until either side ends.
    pub fn carry_answers(&self, shared: &Shared) {
        let _closing = Closing(self);
        let mut inbox = Inbox::default();
        let mut bytes = vec![0; 1 << 16];
        loop {
            match (&self.server).read(&mut bytes) {
                Ok(length @ 1..) => inbox.push(&bytes[..length]),
                Ok(0) | Err(_) => return,
            }
            if self.waits.swap(false, Ordering::SeqCst) {
                shared.journal.round_trip(self.number);
            }
            let mut passed = Vec::new();
            let mut cut = false;
            while let Some(answer) = self.next_answer(&mut inbox) {
                let swallows = self.swallows.lock().unwrap();
                let Some((from, fault)) =
                    swallows.as_ref().filter(|(from, _)| answer.number >= *from)
                else {
                    passed.extend(answer.bytes);
                    continue;
                };
                if answer.last && answer.number == *from {
                    fault.has_fired();
                    cut = fault.action == Action::CutAfter;
                }
            }
            if (&self.client).write_all(&passed).is_err() || cut {
                return;
            }
        }
    }

    /// Does to the request what the fault says. Returns whether the request goes on to the server as usual.
    fn suffer(
        &self,
        fault: &Arc<Fault>,
        request: &Request,
        source: &mut Source<'_>,
        shared: &Shared,
    ) -> bool {
        match fault.action {
            Action::CutBefore => {
                fault.has_fired();
                source.consume();
                false
            }
            Action::Reset => {
                fault.has_fired();
                self.resets.store(true, Ordering::SeqCst);
                false
            }
            Action::CutAfter => {
                self.swallow(fault, request, shared);
                // The thread of the answers ends the connection.
                if !source.ends_within(BOUND) {
                    shared.complain(format!("no whole answer to {fault} in {BOUND:?}"));
                }
                false
            }
            Action::BlackHoleBefore => {
                fault.has_fired();
                shared.expect_release(fault);
                false
            }
            Action::BlackHoleAfter => {
                self.swallow(fault, request, shared);
                shared.expect_release(fault);
                false
            }
            Action::Delay(time) => {
                fault.has_fired();
                fault.released_within(time);
                true
            }
            Action::Hold => {
                fault.has_fired();
                shared.expect_release(fault)
            }
        }
    }

    /// Forwards the request, and from its answer on nothing comes back.
    fn swallow(&self, fault: &Arc<Fault>, request: &Request, shared: &Shared) {
        *self.swallows.lock().unwrap() = Some((request.number, fault.clone()));
        shared.journal.passes(self.number, request);
        let mut batch = Batch::default();
        batch.add(request);
        // A server that is gone ends the thread of the answers.
        let _ = self.forward(batch);
    }

    // The lock ends with the call: both threads read, and a request may be held for long.
    fn next_request(&self, inbox: &mut Inbox) -> Option<Request> {
        self.wire.lock().unwrap().request(inbox)
    }

    fn next_answer(&self, inbox: &mut Inbox) -> Option<Answer> {
        self.wire.lock().unwrap().answer(inbox)
    }

    fn forward(&self, batch: Batch) -> Result<()> {
        // Before the bytes: the answer must find it.
        if batch.waits {
            self.waits.store(true, Ordering::SeqCst);
        }
        (&self.server).write_all(&batch.bytes)
    }
}

#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    waits: bool,
}

impl Batch {
    fn add(&mut self, request: &Request) {
        self.bytes.extend_from_slice(&request.bytes);
        self.waits |= request.waits;
    }
}

/// Ends the connection with the thread, even one that panics.
struct Closing<'a>(&'a Link);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}
