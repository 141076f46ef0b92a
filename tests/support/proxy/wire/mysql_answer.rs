//! Where the server's answer to a command ends.

use super::Reader;

const OK: u8 = 0x00;
const EOF: u8 = 0xFE;
const ERR: u8 = 0xFF;
const LOCAL_INFILE: u8 = 0xFB;
const CURSOR_EXISTS: u64 = 0x40;
const MORE_RESULTS_EXIST: u64 = 0x08;

/// What the next packet of an answer is.
#[derive(Clone, Copy)]
pub enum Expected {
    /// The end of a login, or one more step of it.
    Login,
    /// The only packet.
    Only,
    /// The head of the answer to COM_STMT_PREPARE.
    Prepared,
    /// The head of a result: its end where it has no rows, otherwise how many columns follow.
    Result,
    /// So many definitions of columns, then their end.
    Columns(u64),
    /// So many packets, then nothing.
    Rest(u64),
    /// A row, or the end of them.
    Rows,
}

impl Expected {
    /// What comes after this packet; `None` when the answer is complete.
    pub fn after(self, packet: &[u8]) -> Option<Expected> {
        let kind = packet.first().copied().unwrap_or(OK);
        match self {
            _ if kind == ERR => None,
            Expected::Only => None,
            Expected::Login => (kind != OK).then_some(Expected::Login),
            Expected::Prepared => {
                let mut head = Reader(&packet[1..]);
                let (_id, columns, parameters) = (head.little(4), head.little(2), head.little(2));
                let with_end = |count| if count > 0 { count + 1 } else { 0 };
                rest(with_end(columns) + with_end(parameters))
            }
            Expected::Result => match kind {
                OK => {
                    let mut head = Reader(&packet[1..]);
                    let (_affected, _inserted) = (variable(&mut head), variable(&mut head));
                    after_result(head.little(2))
                }
                LOCAL_INFILE => Some(Expected::Result),
                _ => Some(Expected::Columns(variable(&mut Reader(packet)))),
            },
            Expected::Columns(0) if status_of_end(packet) & CURSOR_EXISTS != 0 => None,
            Expected::Columns(0) => Some(Expected::Rows),
            Expected::Columns(left) => Some(Expected::Columns(left - 1)),
            Expected::Rest(left) => rest(left - 1),
            // A row whose first value is longer than 16 MB begins with the same byte.
            Expected::Rows if kind == EOF && packet.len() < 9 => {
                after_result(status_of_end(packet))
            }
            Expected::Rows => Some(Expected::Rows),
        }
    }
}

fn rest(packets: u64) -> Option<Expected> {
    (packets > 0).then_some(Expected::Rest(packets))
}

fn after_result(status: u64) -> Option<Expected> {
    (status & MORE_RESULTS_EXIST != 0).then_some(Expected::Result)
}

fn status_of_end(packet: &[u8]) -> u64 {
    let mut packet = Reader(packet);
    let (_kind, _warnings) = (packet.little(1), packet.little(2));
    packet.little(2)
}

/// A number whose first byte says how long it is.
fn variable(reader: &mut Reader<'_>) -> u64 {
    match reader.little(1) {
        0xFC => reader.little(2),
        0xFD => reader.little(3),
        0xFE => reader.little(8),
        number => number,
    }
}
