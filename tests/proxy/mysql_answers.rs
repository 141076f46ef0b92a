//! Where the answers of MySQL's server end. After each comes the answer to a COMMIT, which is cut: it ends the connection and
//! nothing of it arrives, and all of the answer before it does.

use crate::mysql_bytes::{OK, command, packet, session};
use crate::scripted::{expect, send};
use std::io::Read;

const END: &[u8] = &[0xFE, 0, 0, 2, 0];
const END_AND_MORE: &[u8] = &[0xFE, 0, 0, 0x0A, 0];
const END_WITH_CURSOR: &[u8] = &[0xFE, 0, 0, 0x42, 0];
const COLUMN: &[u8] = b"\x03def";
const ERROR: &[u8] = b"\xFF\x28\x04#42000No";

fn ends_with(question: Vec<u8>, answer: &[&[u8]]) {
    let both = [question, command(0x03, b"COMMIT")].concat();
    let packets = answer.iter().map(|payload| packet(1, payload));
    let answer = packets.collect::<Vec<_>>().concat();
    let (all, said) = (both.clone(), answer.clone());
    let mut session = session(move |mut stream| {
        expect(&mut stream, &all);
        send(&mut stream, &said);
        send(&mut stream, &packet(1, OK));
        assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    });
    let cut = session.proxy.cut_after("COMMIT");
    send(&mut session.client, &both);
    let mut got = Vec::new();
    session.client.read_to_end(&mut got).unwrap();
    assert!(got == answer, "{} bytes of {}", got.len(), answer.len());
    assert!(cut.fired());
    session.end();
}

fn query() -> Vec<u8> {
    command(0x03, b"SELECT 1")
}

fn execute() -> Vec<u8> {
    command(0x17, &[1, 0, 0, 0, 0, 1, 0, 0, 0])
}

#[test]
fn a_command_with_one_packet() {
    ends_with(command(0x1B, &[0, 0]), &[END]);
    ends_with(command(0x0E, b""), &[OK]);
}

#[test]
fn a_statement_without_rows() {
    ends_with(query(), &[OK]);
    ends_with(query(), &[ERROR]);
    // Counts that take three bytes each, before the status.
    ends_with(query(), &[&[0, 0xFC, 8, 8, 0xFC, 8, 8, 2, 0, 0, 0]]);
}

#[test]
fn rows_of_text_and_of_numbers() {
    let rows: &[&[u8]] = &[&[2], COLUMN, COLUMN, END, b"\x011\x012", END];
    ends_with(query(), rows);
    ends_with(query(), &[&[1], COLUMN, END, b"\x011", ERROR]);
    ends_with(execute(), &[&[1], COLUMN, END, &[0, 0, 1], END]);
}

#[test]
fn several_results() {
    let first: &[&[u8]] = &[&[1], COLUMN, END, b"\x011", END_AND_MORE];
    let second: &[&[u8]] = &[&[0, 0, 0, 0x0A, 0, 0, 0], OK];
    ends_with(query(), &[first, second].concat());
}

#[test]
fn a_cursor_and_what_is_fetched_of_it() {
    ends_with(execute(), &[&[1], COLUMN, END_WITH_CURSOR]);
    let fetch = command(0x1C, &[1, 0, 0, 0, 1, 0, 0, 0]);
    ends_with(fetch, &[&[0, 0, 1], &[0, 0, 2], END]);
}

#[test]
fn a_prepared_statement_with_parameters_and_columns() {
    let prepare = || command(0x16, b"SELECT ?, ?");
    let head = |columns: u8, parameters: u8| [0, 1, 0, 0, 0, columns, 0, parameters, 0, 0, 0, 0];
    ends_with(prepare(), &[&head(0, 0)]);
    ends_with(prepare(), &[&head(0, 2), COLUMN, COLUMN, END]);
    ends_with(prepare(), &[&head(1, 0), COLUMN, END]);
    ends_with(prepare(), &[&head(1, 2), COLUMN, COLUMN, END, COLUMN, END]);
    ends_with(prepare(), &[ERROR]);
}

/// What continues the row looks like the end of the rows.
#[test]
fn a_row_longer_than_a_packet() {
    const LONGEST: usize = 0xFF_FFFF;
    let mut row = vec![0xFE];
    row.resize(LONGEST, 0);
    ends_with(query(), &[&[1], COLUMN, END, &row, END, END]);
}

/// The client's packets in between go on with a command: an answer to a question about its password, or a file.
#[test]
fn a_command_in_several_turns() {
    let with = |first: Vec<u8>, more: &[&[u8]]| {
        let more = more.iter().map(|payload| packet(2, payload));
        [first, more.collect::<Vec<_>>().concat()].concat()
    };
    let change_user = command(0x11, b"user\0\0\0");
    let (other_way, more) = (b"\xFEmysql_native_password\0", b"\x01\x03");
    ends_with(with(change_user, &[b"secret"]), &[other_way, more, OK]);
    let load = command(0x03, b"LOAD DATA LOCAL INFILE 'rows' INTO TABLE t");
    let file: &[&[u8]] = &[b"\x03COMMIT", b""];
    ends_with(with(load, file), &[b"\xFBrows", OK]);
}
