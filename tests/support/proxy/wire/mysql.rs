//! The protocol of MySQL and MariaDB: <https://mariadb.com/kb/en/clientserver-protocol/>.

use super::mysql_answer::Expected;
use super::{Answer, Inbox, Reader, Request, Wire};
use std::collections::{HashMap, VecDeque};

const CLIENT_LONG_PASSWORD: u32 = 1;
const CLIENT_FOUND_ROWS: u32 = 1 << 1;
/// What the proxy could not read, and therefore takes out of the server's offer: compression, encryption, answers without
/// their inner EOF packets, results without definitions of columns, and parameters before a statement's text.
const UNREAD: u32 = 1 << 5 | 1 << 11 | 1 << 24 | 1 << 25 | 1 << 26 | 1 << 27;
/// The same for MariaDB's extended capabilities: progress reports, and definitions of columns that are left out.
const UNREAD_OF_MARIADB: u32 = 1 | 1 << 4;
/// A statement's id that stands for the statement prepared last.
const PREPARED_LAST: u32 = u32::MAX;
const LONGEST: usize = 0xFF_FFFF;

/// Commands by number: <https://mariadb.com/kb/en/2-text-protocol/> and <https://mariadb.com/kb/en/3-binary-protocol-prepared-statements/>.
mod command {
    pub const QUIT: u8 = 0x01;
    pub const QUERY: u8 = 0x03;
    pub const FIELD_LIST: u8 = 0x04;
    pub const CHANGE_USER: u8 = 0x11;
    pub const STMT_PREPARE: u8 = 0x16;
    pub const STMT_EXECUTE: u8 = 0x17;
    pub const STMT_SEND_LONG_DATA: u8 = 0x18;
    pub const STMT_CLOSE: u8 = 0x19;
    pub const STMT_FETCH: u8 = 0x1C;
    pub const RESET_CONNECTION: u8 = 0x1F;
    pub const STMT_BULK_EXECUTE: u8 = 0xFA;
}

struct Pending {
    expected: Expected,
    /// What is being prepared.
    text: String,
}

#[derive(Default)]
pub struct Mysql {
    clear_found_rows: bool,
    greeted: bool,
    login_sent: bool,
    pending: VecDeque<Pending>,
    statements: HashMap<u32, String>,
    prepared_last: String,
    asked: u64,
    answered: u64,
}

impl Wire for Mysql {
    fn request(&mut self, inbox: &mut Inbox) -> Option<Request> {
        let mut bytes = take(inbox)?;
        if !self.login_sent {
            self.login_sent = true;
            if self.clear_found_rows {
                change(&mut bytes[4..8], |flags| flags & !CLIENT_FOUND_ROWS);
            }
            let request = Request {
                bytes,
                messages: vec!["HandshakeResponse"],
                ..Request::default()
            };
            return Some(self.answered_by(Expected::Login, request));
        }
        // A command begins to count its packets anew. Anything else goes on with a login, or is a file for LOAD DATA LOCAL.
        if bytes[3] != 0 {
            return Some(Request {
                waits: self.answered > 0,
                bytes,
                ..Request::default()
            });
        }
        Some(self.command(bytes))
    }

    fn answer(&mut self, inbox: &mut Inbox) -> Option<Answer> {
        let mut bytes = take(inbox)?;
        let number = self.answered + 1;
        let mut last = false;
        if !self.greeted {
            self.greeted = true;
            offer_what_is_read(&mut bytes);
        } else if let Some(pending) = self.pending.front_mut() {
            let packet = payload(&bytes);
            if let (Expected::Prepared, Some(0)) = (pending.expected, packet.first()) {
                let id = Reader(&packet[1..]).little(4) as u32;
                self.statements
                    .insert(id, std::mem::take(&mut pending.text));
            }
            match pending.expected.after(packet) {
                Some(expected) => pending.expected = expected,
                None => {
                    self.pending.pop_front();
                    self.answered = number;
                    last = true;
                }
            }
        }
        Some(Answer {
            bytes,
            number,
            last,
        })
    }
}

impl Mysql {
    pub fn new(clear_found_rows: bool) -> Self {
        Mysql {
            clear_found_rows,
            ..Mysql::default()
        }
    }

    fn answered_by(&mut self, expected: Expected, mut request: Request) -> Request {
        self.pending.push_back(Pending {
            expected,
            text: self.prepared_last.clone(),
        });
        self.asked += 1;
        request.number = self.asked;
        request
    }

    fn command(&mut self, bytes: Vec<u8>) -> Request {
        let mut statements = Vec::new();
        let body = payload(&bytes);
        let kind = body.first().copied().unwrap_or_default();
        let mut rest = Reader(&body[1.min(body.len())..]);
        let expected = match kind {
            command::QUERY => {
                statements.push(String::from_utf8_lossy(rest.0).into_owned());
                Some(Expected::Result)
            }
            command::STMT_PREPARE => {
                self.prepared_last = String::from_utf8_lossy(rest.0).into_owned();
                Some(Expected::Prepared)
            }
            command::STMT_EXECUTE | command::STMT_BULK_EXECUTE => {
                statements.push(self.statement(rest.little(4) as u32));
                Some(Expected::Result)
            }
            command::STMT_CLOSE => {
                self.statements.remove(&(rest.little(4) as u32));
                None
            }
            command::STMT_SEND_LONG_DATA | command::QUIT => None,
            command::STMT_FETCH | command::FIELD_LIST => Some(Expected::Rows),
            command::CHANGE_USER => Some(Expected::Login),
            _ => Some(Expected::Only),
        };
        if matches!(kind, command::RESET_CONNECTION | command::CHANGE_USER) {
            self.statements.clear();
        }
        let request = Request {
            messages: vec![name(kind)],
            statements,
            waits: expected.is_some(),
            bytes,
            ..Request::default()
        };
        match expected {
            Some(expected) => self.answered_by(expected, request),
            None => request,
        }
    }

    fn statement(&self, id: u32) -> String {
        let known = match id {
            PREPARED_LAST => Some(&self.prepared_last),
            _ => self.statements.get(&id),
        };
        known
            .cloned()
            .unwrap_or_else(|| format!("(unknown statement {id})"))
    }
}

fn name(kind: u8) -> &'static str {
    match kind {
        command::QUIT => "COM_QUIT",
        0x02 => "COM_INIT_DB",
        command::QUERY => "COM_QUERY",
        command::FIELD_LIST => "COM_FIELD_LIST",
        0x0E => "COM_PING",
        command::CHANGE_USER => "COM_CHANGE_USER",
        command::STMT_PREPARE => "COM_STMT_PREPARE",
        command::STMT_EXECUTE => "COM_STMT_EXECUTE",
        command::STMT_SEND_LONG_DATA => "COM_STMT_SEND_LONG_DATA",
        command::STMT_CLOSE => "COM_STMT_CLOSE",
        0x1A => "COM_STMT_RESET",
        0x1B => "COM_SET_OPTION",
        command::STMT_FETCH => "COM_STMT_FETCH",
        command::RESET_CONNECTION => "COM_RESET_CONNECTION",
        command::STMT_BULK_EXECUTE => "COM_STMT_BULK_EXECUTE",
        _ => "(other command)",
    }
}

/// One packet with what continues it: a packet of the greatest length is followed by the rest.
fn take(inbox: &mut Inbox) -> Option<Vec<u8>> {
    let mut end = 0;
    loop {
        let length = Reader(inbox.bytes().get(end..end + 3)?).little(3) as usize;
        end += 4 + length;
        if length < LONGEST {
            return inbox.take(end);
        }
    }
}

/// What is in the packet, up to what continues it.
fn payload(bytes: &[u8]) -> &[u8] {
    &bytes[4..bytes.len().min(4 + LONGEST)]
}

/// The server's greeting: <https://mariadb.com/kb/en/connection/#initial-handshake-packet>.
fn offer_what_is_read(bytes: &mut [u8]) {
    const PROTOCOL: u8 = 10;
    if payload(bytes).first() != Some(&PROTOCOL) {
        return;
    }
    let version = bytes[5..].iter().position(|byte| *byte == 0).unwrap();
    // After the version and its NUL: the thread's id, the first eight bytes of the scramble, and a zero.
    let low = 5 + version + 1 + 4 + 8 + 1;
    // Between the halves: the character set and the status.
    let high = low + 2 + 1 + 2;
    let of_mariadb = high + 2 + 1 + 6;
    let mut flags = [bytes[low], bytes[low + 1], bytes[high], bytes[high + 1]];
    let is_mariadb = u32::from_le_bytes(flags) & CLIENT_LONG_PASSWORD == 0;
    change(&mut flags, |flags| flags & !UNREAD);
    bytes[low..low + 2].copy_from_slice(&flags[..2]);
    bytes[high..high + 2].copy_from_slice(&flags[2..]);
    if is_mariadb {
        change(&mut bytes[of_mariadb..of_mariadb + 4], |flags| {
            flags & !UNREAD_OF_MARIADB
        });
    }
}

fn change(bytes: &mut [u8], with: impl Fn(u32) -> u32) {
    let flags = u32::from_le_bytes(bytes.try_into().unwrap());
    bytes.copy_from_slice(&with(flags).to_le_bytes());
}
