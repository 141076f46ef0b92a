//! What the threads of a proxy share, and the thread that accepts its clients.

use super::fault::{BOUND, Fault, Faults};
use super::journal::Journal;
use super::link::Link;
use super::url::Target;
use super::wire::{Wire, mysql::Mysql, postgres::Postgres};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::thread;

#[derive(Default)]
pub struct Shared {
    pub target: Target,
    pub journal: Journal,
    pub faults: Faults,
    links: Mutex<Vec<Weak<Link>>>,
    stopped: AtomicBool,
    pub clear_found_rows: AtomicBool,
    /// Words that the server is not to know.
    pub unknown: Mutex<Option<String>>,
    pub complaint: Mutex<Option<String>>,
}

impl Shared {
    pub fn before(target: Target) -> Self {
        Shared {
            target,
            ..Shared::default()
        }
    }

    /// Misspells what the server is not to know.
    pub fn misspell(&self, bytes: &mut [u8]) {
        let unknown = self.unknown.lock().unwrap();
        let Some(words) = unknown.as_deref().map(str::as_bytes) else {
            return;
        };
        if let Some(at) = bytes.windows(words.len()).position(|part| part == words) {
            bytes[at..at + words.len()].fill(b'X');
        }
    }

    /// Returns when it is stopped and every connection has ended.
    pub fn accept(&self, listener: &TcpListener) {
        thread::scope(|threads| {
            for (number, client) in listener.incoming().enumerate() {
                if self.stopped.load(Ordering::SeqCst) {
                    return;
                }
                // A client may have gone before it was accepted.
                let Ok(client) = client else { continue };
                let Some(link) = self.link(number, client) else {
                    continue;
                };
                let other = link.clone();
                threads.spawn(move || link.carry_requests(self));
                threads.spawn(move || other.carry_answers(self));
            }
        });
    }

    fn link(&self, number: usize, client: TcpStream) -> Option<Arc<Link>> {
        let Target { host, port, .. } = &self.target;
        let link = TcpStream::connect((host.as_str(), *port))
            .and_then(|server| Link::new(number, client, server, self.wire()));
        let link = match link {
            Ok(link) => Arc::new(link),
            Err(error) => {
                self.complain(format!("the proxy cannot reach {host}:{port}: {error}"));
                return None;
            }
        };
        let mut links = self.links.lock().unwrap();
        links.push(Arc::downgrade(&link));
        // Stopping sets this first and closes what is listed afterwards.
        if self.stopped.load(Ordering::SeqCst) {
            link.close();
        }
        Some(link)
    }

    fn wire(&self) -> Box<dyn Wire> {
        if self.target.is_mysql {
            let clear_found_rows = self.clear_found_rows.load(Ordering::SeqCst);
            Box::new(Mysql::new(clear_found_rows))
        } else {
            Box::<Postgres>::default()
        }
    }

    /// Waits for the test. A test that forgets would wait for its own statement forever.
    pub fn expect_release(&self, fault: &Fault) -> bool {
        let released = fault.released_within(BOUND);
        if !released {
            self.complain(format!("nobody released {fault} in {BOUND:?}"));
        }
        released
    }

    pub fn complain(&self, complaint: String) {
        self.complaint.lock().unwrap().get_or_insert(complaint);
    }

    pub fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        for link in self.links.lock().unwrap().iter() {
            if let Some(link) = link.upgrade() {
                link.close();
            }
        }
        self.faults.release();
    }
}
