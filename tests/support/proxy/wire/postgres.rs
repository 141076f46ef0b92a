//! PostgreSQL's protocol, version 3: <https://www.postgresql.org/docs/current/protocol-message-formats.html>.

use super::{Answer, Inbox, Reader, Request, Wire};
use std::collections::HashMap;

const CANCEL_REQUEST: u32 = 80_877_102;
const SSL_REQUEST: u32 = 80_877_103;
const GSSENC_REQUEST: u32 = 80_877_104;

#[derive(Default)]
pub struct Postgres {
    started: bool,
    /// The messages up to the next one that the server answers. They are kept together because a Bind or a Parse alone
    /// already takes locks, which a message that is held must not.
    unit: Request,
    statements: HashMap<String, String>,
    portals: HashMap<String, String>,
    asked: u64,
    asked_by_sync: bool,
    answered: u64,
}

impl Wire for Postgres {
    fn request(&mut self, inbox: &mut Inbox) -> Option<Request> {
        if !self.started {
            return self.startup(inbox);
        }
        loop {
            let message = take(inbox, 1)?;
            let kind = message[0];
            let known = self.read(kind, &message[5..]);
            self.unit.messages.push(known);
            self.unit.bytes.extend(message);
            if matches!(
                kind,
                b'Q' | b'S' | b'F' | b'H' | b'X' | b'd' | b'c' | b'f' | b'p'
            ) {
                return Some(self.ends(kind));
            }
        }
    }

    fn answer(&mut self, inbox: &mut Inbox) -> Option<Answer> {
        let bytes = take(inbox, 1)?;
        let number = self.answered + 1;
        // ReadyForQuery, or CopyInResponse: the server reads on before it says anything else.
        let last = matches!(bytes[0], b'Z' | b'G');
        // While the server reads a COPY it leaves Sync out, and answers the next one:
        // <https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-COPY>.
        if bytes[0] == b'Z' || last && self.asked_by_sync {
            self.answered = number;
        }
        Some(Answer {
            bytes,
            number,
            last,
        })
    }
}

impl Postgres {
    /// The messages before the session have no kind. A session that became encrypted could not be read, so the proxy itself
    /// says that the server does not encrypt.
    fn startup(&mut self, inbox: &mut Inbox) -> Option<Request> {
        let bytes = take(inbox, 0)?;
        let (name, refusal) = match big(&bytes[4..8]) {
            SSL_REQUEST => ("SSLRequest", Some(b"N".as_slice())),
            GSSENC_REQUEST => ("GSSENCRequest", Some(b"N".as_slice())),
            CANCEL_REQUEST => ("CancelRequest", None),
            _ => {
                self.started = true;
                self.asked = 1;
                ("StartupMessage", None)
            }
        };
        Some(Request {
            bytes,
            messages: vec![name],
            refusal,
            ..Request::default()
        })
    }

    fn ends(&mut self, kind: u8) -> Request {
        let mut unit = std::mem::take(&mut self.unit);
        if matches!(kind, b'Q' | b'S' | b'F') {
            self.asked += 1;
            self.asked_by_sync = kind == b'S';
        }
        unit.number = self.asked;
        unit.waits = !matches!(kind, b'X' | b'd' | b'p');
        unit
    }

    /// Keeps what the message says, and returns its name.
    fn read(&mut self, kind: u8, body: &[u8]) -> &'static str {
        let mut body = Reader(body);
        match kind {
            b'Q' => {
                self.unit.statements.push(body.text());
                "Query"
            }
            b'P' => {
                let name = body.text();
                self.statements.insert(name, body.text());
                "Parse"
            }
            b'B' => {
                let portal = body.text();
                let name = body.text();
                let statement = self.statements.get(&name).cloned();
                self.portals.insert(
                    portal,
                    statement.unwrap_or_else(|| format!("(prepared by SQL: {name})")),
                );
                "Bind"
            }
            b'E' => {
                let statement = self.portals.get(&body.text()).cloned();
                self.unit
                    .statements
                    .push(statement.unwrap_or_else(|| "(cursor of SQL)".to_owned()));
                "Execute"
            }
            b'C' => {
                let of = body.little(1);
                let name = body.text();
                if of == u64::from(b'S') {
                    self.statements.remove(&name);
                } else {
                    self.portals.remove(&name);
                }
                "Close"
            }
            b'D' => "Describe",
            b'S' => "Sync",
            b'H' => "Flush",
            b'X' => "Terminate",
            b'F' => "FunctionCall",
            b'd' => "CopyData",
            b'c' => "CopyDone",
            b'f' => "CopyFail",
            b'p' => "PasswordMessage",
            _ => "(unknown)",
        }
    }
}

/// A whole message: its kind of so many bytes, and a length that counts itself.
fn take(inbox: &mut Inbox, kind: usize) -> Option<Vec<u8>> {
    let length = big(inbox.bytes().get(kind..kind + 4)?);
    inbox.take(kind + length as usize)
}

fn big(bytes: &[u8]) -> u32 {
    u32::from_be_bytes(bytes.try_into().unwrap())
}
