//! PostgreSQL's messages in pieces, in bundles, and cut.

use crate::scripted::{Scripted, expect, read, scripted, send};
use std::io::{ErrorKind, Read};
use std::net::TcpStream;

const STARTUP: &[u8] = b"\0\0\0\x09\0\x03\0\0\0";
const SSL_REQUEST: &[u8] = b"\0\0\0\x08\x04\xd2\x16\x2f";
const READY: &[u8] = b"Z\0\0\0\x05I";

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() + 4) as u32;
    [&[kind], length.to_be_bytes().as_slice(), body].concat()
}

fn query(text: &str) -> Vec<u8> {
    message(b'Q', &[text.as_bytes(), b"\0"].concat())
}

/// A session that has begun, and then a server that does this.
fn session(server: impl FnOnce(TcpStream) + Send + 'static) -> Scripted {
    let mut session = scripted("postgres", |mut stream| {
        expect(&mut stream, STARTUP);
        send(&mut stream, READY);
        server(stream);
    });
    send(&mut session.client, STARTUP);
    expect(&mut session.client, READY);
    session.proxy.forget();
    session
}

#[test]
fn the_server_is_not_asked_to_encrypt() {
    let mut session = scripted("postgresql", |mut stream| {
        expect(&mut stream, STARTUP);
        send(&mut stream, READY);
    });
    send(&mut session.client, SSL_REQUEST);
    expect(&mut session.client, b"N");
    send(&mut session.client, STARTUP);
    expect(&mut session.client, READY);
    assert_eq!(session.proxy.round_trips(), 0);
    session.end();
}

#[test]
fn a_message_in_single_bytes_is_one_message() {
    let question = query("SELECT 1");
    let all = question.clone();
    let mut session = session(move |mut stream| {
        expect(&mut stream, &all);
        for byte in READY {
            send(&mut stream, &[*byte]);
        }
    });
    for byte in question {
        send(&mut session.client, &[byte]);
    }
    expect(&mut session.client, READY);
    assert_eq!(session.proxy.statements(), ["SELECT 1"]);
    assert_eq!(session.proxy.round_trips(), 1);
    session.end();
}

#[test]
fn two_queries_in_one_segment_are_one_round_trip() {
    let both = [query("SELECT 1"), query("SELECT 2")].concat();
    let all = both.clone();
    let mut session = session(move |mut stream| {
        expect(&mut stream, &all);
        send(&mut stream, READY);
        send(&mut stream, READY);
    });
    send(&mut session.client, &both);
    expect(&mut session.client, &[READY, READY].concat());
    assert_eq!(session.proxy.statements(), ["SELECT 1", "SELECT 2"]);
    assert_eq!(session.proxy.round_trips(), 1);
    session.end();
}

#[test]
fn an_execution_is_the_text_of_its_statement() {
    let unit = [
        message(b'P', b"one\0SELECT 1\0\0\0"),
        message(b'P', b"two\0SELECT 2\0\0\0"),
        message(b'B', b"\0two\0\0\0\0\0\0\0"),
        message(b'E', b"\0\0\0\0\0"),
        message(b'B', b"door\0one\0\0\0\0\0\0\0"),
        message(b'E', b"door\0\0\0\0\0"),
        message(b'C', b"Stwo\0"),
        message(b'B', b"\0two\0\0\0\0\0\0\0"),
        message(b'E', b"\0\0\0\0\0"),
        message(b'S', b""),
        message(b'X', b""),
    ]
    .concat();
    let all = unit.clone();
    let mut session = session(move |mut stream| {
        expect(&mut stream, &all);
        send(&mut stream, READY);
    });
    send(&mut session.client, &unit);
    expect(&mut session.client, READY);
    assert_eq!(
        session.proxy.statements(),
        ["SELECT 2", "SELECT 1", "(prepared by SQL: two)"]
    );
    let names = "Parse Parse Bind Execute Bind Execute Close Bind Execute Sync Terminate";
    assert_eq!(session.proxy.messages().join(" "), names);
    assert_eq!(session.proxy.round_trips(), 1);
    session.end();
}

/// What a query before the one that is cut got is not lost with it.
#[test]
fn the_answer_before_the_one_that_is_cut_arrives() {
    let mut session = session(|mut stream| {
        read(&mut stream, query("SELECT 1").len() + query("COMMIT").len());
        send(&mut stream, &[message(b'1', b""), READY.into()].concat());
        send(&mut stream, &[message(b'2', b""), READY.into()].concat());
    });
    let cut = session.proxy.cut_after("COMMIT");
    let both = [query("SELECT 1"), query("COMMIT")].concat();
    send(&mut session.client, &both);
    let mut got = Vec::new();
    session.client.read_to_end(&mut got).unwrap();
    assert_eq!(got, [message(b'1', b""), READY.into()].concat());
    assert!(cut.fired());
    session.end();
}

fn ends(stream: &mut TcpStream) -> Result<usize, ErrorKind> {
    stream.read(&mut [0]).map_err(|error| error.kind())
}

#[test]
fn a_cut_is_an_end_and_a_reset_is_an_error() {
    let gone = |mut stream: TcpStream| assert_eq!(ends(&mut stream), Ok(0));
    let mut cut = session(gone);
    cut.proxy.cut_before("select");
    send(&mut cut.client, &query("SELECT 1"));
    assert_eq!(ends(&mut cut.client), Ok(0));
    cut.end();

    let mut reset = session(gone);
    reset.proxy.reset("select");
    send(&mut reset.client, &query("SELECT 1"));
    assert_eq!(ends(&mut reset.client), Err(ErrorKind::ConnectionReset));
    reset.end();
}
