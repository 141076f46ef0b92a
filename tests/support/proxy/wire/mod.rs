//! What the proxy reads of a protocol. A file a server, and what both share here.

pub mod mysql;
mod mysql_answer;
pub mod postgres;

/// Client messages that belong together: the server answers them as one, and a fault lets all of them pass or none.
#[derive(Default)]
pub struct Request {
    pub bytes: Vec<u8>,
    /// The protocol's names of the messages.
    pub messages: Vec<&'static str>,
    /// The statements that the server is asked to run.
    pub statements: Vec<String>,
    /// Whether the client waits for an answer now. False until it is logged in.
    pub waits: bool,
    /// Requests that end in an answer are numbered from 1. An answer has the number of its request.
    pub number: u64,
    /// The proxy's own answer. The server gets nothing then.
    pub refusal: Option<&'static [u8]>,
}

/// One packet of the server's.
pub struct Answer {
    pub bytes: Vec<u8>,
    /// The request that it answers.
    pub number: u64,
    /// Whether the server waits for the client after it.
    pub last: bool,
}

/// One connection's state in its protocol. Both take one whole frame from the inbox, or nothing while it is incomplete.
pub trait Wire: Send {
    fn request(&mut self, inbox: &mut Inbox) -> Option<Request>;
    fn answer(&mut self, inbox: &mut Inbox) -> Option<Answer>;
}

/// Bytes as they arrive, given out by the frame.
#[derive(Default)]
pub struct Inbox {
    bytes: Vec<u8>,
    given_out: usize,
}

impl Inbox {
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.given_out);
        self.given_out = 0;
        self.bytes.extend_from_slice(bytes);
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes[self.given_out..]
    }

    pub fn take(&mut self, length: usize) -> Option<Vec<u8>> {
        let taken = self.bytes().get(..length)?.to_vec();
        self.given_out += length;
        Some(taken)
    }
}

/// Reads a message from its start. What is too short reads as zero or as an empty text: the server is there to complain.
pub struct Reader<'a>(pub &'a [u8]);

impl Reader<'_> {
    pub fn little(&mut self, bytes: usize) -> u64 {
        let taken = self.skip(bytes);
        taken
            .iter()
            .rev()
            .fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    /// A text up to its NUL.
    pub fn text(&mut self) -> String {
        let length = self.0.iter().position(|byte| *byte == 0);
        let text = self.skip(length.unwrap_or(self.0.len()));
        let text = String::from_utf8_lossy(text).into_owned();
        self.skip(1);
        text
    }

    pub fn skip(&mut self, bytes: usize) -> &[u8] {
        let (taken, rest) = self.0.split_at(bytes.min(self.0.len()));
        self.0 = rest;
        taken
    }
}
