//! What a client sends.

use super::wire::Inbox;
use std::io::{ErrorKind, Read, Result};
use std::net::TcpStream;
use std::time::Duration;

/// What the client sends, looked at and left in the kernel until the next look. The standard library cannot set SO_LINGER;
/// but Linux sends RST instead of FIN for a socket that is closed with unread bytes, as RFC 2525, 2.17, asks.
pub struct Source<'a> {
    stream: &'a TcpStream,
    bytes: Vec<u8>,
    looked_at: usize,
}

impl<'a> Source<'a> {
    pub fn new(stream: &'a TcpStream) -> Self {
        Source {
            stream,
            bytes: vec![0; 1 << 16],
            looked_at: 0,
        }
    }

    /// Waits for more, and returns whether there is more.
    pub fn look(&mut self, inbox: &mut Inbox) -> bool {
        let length = self.peek().unwrap_or(0);
        inbox.push(&self.bytes[..length]);
        length > 0
    }

    /// Waits for the end, whatever comes before it.
    pub fn ends_within(&mut self, limit: Duration) -> bool {
        let _ = self.stream.set_read_timeout(Some(limit));
        loop {
            match self.peek() {
                Ok(1..) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
                Ok(0) | Err(_) => return true,
            }
        }
    }

    fn peek(&mut self) -> Result<usize> {
        self.consume();
        self.looked_at = self.stream.peek(&mut self.bytes)?;
        Ok(self.looked_at)
    }

    pub fn consume(&mut self) {
        let seen = &mut self.bytes[..std::mem::take(&mut self.looked_at)];
        // They are in the kernel's buffer; a connection that is gone says so at the next look.
        let _ = self.stream.read_exact(seen);
    }
}
