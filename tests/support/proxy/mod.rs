//! A TCP proxy before a real server that reads what passes and, where it is told to, breaks the connection: between a COMMIT
//! and its answer, say.
//!
//! **What is a statement.** What the server is asked to run, when it is forwarded: the text of a simple query, and of a prepared
//! statement each time that it is executed. Preparing is a message and no statement, so a fault that is armed for a text lets
//! the text be prepared and waits for its execution. A text of several statements is one.
//!
//! **What is a round trip.** The server begins to answer after something was forwarded to it that is answered. Messages that
//! the client sends without waiting are one round trip when they arrive together. A message without an answer, such as
//! COM_STMT_CLOSE or Terminate, is none. A login is not counted, because the server decides how long it takes; what Diesel then
//! sends to set up the connection is.
//!
//! The connection stays in plain text. The server is not told that the client would encrypt (PostgreSQL), and the client not
//! that the server could (MySQL, MariaDB). Nor does it learn of compression and of the shorter forms of an answer.
//!
//! Where a thread of the proxy finds something wrong, the proxy says so by a panic when it is dropped.

mod fault;
mod journal;
mod link;
mod shared;
mod source;
mod url;
mod wire;

pub use fault::{Armed, Held};

use fault::Action;
use shared::Shared;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Dropping it closes every connection and ends every thread.
pub struct Proxy {
    url: String,
    address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Proxy {
    /// A proxy before the server of this URL, on a free port of 127.0.0.1.
    pub fn to(url: &str) -> Proxy {
        let (target, before, after) = url::split(url);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared::before(target));
        Proxy {
            url: format!("{before}{address}{after}"),
            address,
            thread: Some(thread::spawn({
                let shared = shared.clone();
                move || shared.accept(&listener)
            })),
            shared,
        }
    }

    /// The URL that it was made for, with its own address.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A look at everything: what passed so far is not counted.
    pub fn forget(&self) {
        self.shared.journal.forget();
    }

    /// The statements since the last look, of all connections.
    pub fn statements(&self) -> Vec<String> {
        self.shared.journal.statements(None)
    }

    /// The round trips since the last look, of all connections.
    pub fn round_trips(&self) -> usize {
        self.shared.journal.round_trips(None)
    }

    /// The protocol's names of the client's messages since the last look, of all connections. One without an answer may still
    /// be on its way when the client goes on.
    pub fn messages(&self) -> Vec<&'static str> {
        self.shared.journal.messages(None)
    }

    /// The statements of one connection alone. Connections are counted from 0 as they are made, login failed or not.
    pub fn statements_of(&self, connection: usize) -> Vec<String> {
        self.shared.journal.statements(Some(connection))
    }

    /// The round trips of one connection alone.
    pub fn round_trips_of(&self, connection: usize) -> usize {
        self.shared.journal.round_trips(Some(connection))
    }

    /// Closes the connection on both sides; the server never sees the statement. Each fault is for the next statement with this
    /// text, in upper or lower case, on any connection, and only one can be armed.
    pub fn cut_before(&self, text: &str) -> Armed {
        self.shared.faults.arm(text, Action::CutBefore)
    }

    /// Closes the connection on both sides when the server has answered; the client never sees the answer.
    pub fn cut_after(&self, text: &str) -> Armed {
        self.shared.faults.arm(text, Action::CutAfter)
    }

    /// As `cut_before`, but the client gets RST and not FIN.
    pub fn reset(&self, text: &str) -> Armed {
        self.shared.faults.arm(text, Action::Reset)
    }

    /// The server never sees the statement, and the client waits for an answer until [`release`](Self::release).
    pub fn black_hole_before(&self, text: &str) -> Armed {
        self.shared.faults.arm(text, Action::BlackHoleBefore)
    }

    /// The server answers, and the client waits for its answer until [`release`](Self::release).
    pub fn black_hole_after(&self, text: &str) -> Armed {
        self.shared.faults.arm(text, Action::BlackHoleAfter)
    }

    /// The statement reaches the server later by this time.
    pub fn delay(&self, text: &str, time: Duration) -> Armed {
        self.shared.faults.arm(text, Action::Delay(time))
    }

    /// The statement reaches the server when what this returns is released.
    pub fn hold(&self, text: &str) -> Held {
        self.shared.faults.arm(text, Action::Hold).into()
    }

    /// A fault that has not fired will not.
    pub fn disarm(&self) {
        self.shared.faults.disarm();
    }

    /// Ends every hold and every delay, closes the connections that lead to a black hole, and disarms.
    pub fn release(&self) {
        self.shared.faults.release();
    }

    /// Misspells these words on their way, so that the server answers with a syntax error, as one does that has no such
    /// statement. The log shows what the client said.
    pub fn does_not_know(&self, words: &str) {
        *self.shared.unknown.lock().unwrap() = Some(words.to_owned());
    }

    /// Takes CLIENT_FOUND_ROWS from the connections that are made from now on, as some proxies do.
    pub fn clear_found_rows(&self) {
        assert!(self.shared.target.is_mysql, "only MySQL has that flag");
        self.shared.clear_found_rows.store(true, Ordering::SeqCst);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.stop();
        // The thread that accepts wakes up for this connection, and finds that it has to stop.
        let _ = TcpStream::connect(self.address);
        let ended = self.thread.take().unwrap().join();
        if !thread::panicking() {
            assert!(ended.is_ok(), "a thread of the proxy panicked");
            let complaint = self.shared.complaint.lock().unwrap().take();
            assert!(complaint.is_none(), "{}", complaint.unwrap_or_default());
        }
    }
}
