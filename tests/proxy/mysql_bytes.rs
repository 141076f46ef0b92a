//! MySQL's packets in pieces, in bundles, and longer than a packet can be.

use crate::scripted::{Scripted, expect, read, scripted, send};
use std::net::TcpStream;

/// A server of MariaDB's that offers everything. The bits of the first that the proxy leaves are those that it can read.
const OFFERED: [u8; 2] = [0xFE, 0xFF];
const OFFERED_TO_CLIENT: [u8; 2] = [0xDE, 0xF7];
const OFFERED_TOO: [u8; 2] = [0xFF, 0xFF];
const OFFERED_TOO_TO_CLIENT: [u8; 2] = [0xFF, 0xF0];
const OFFERED_BY_MARIADB: [u8; 4] = [0xFF, 0, 0, 0];
const OFFERED_BY_MARIADB_TO_CLIENT: [u8; 4] = [0xEE, 0, 0, 0];

pub const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];

fn greeting(low: [u8; 2], high: [u8; 2], of_mariadb: [u8; 4]) -> Vec<u8> {
    let payload = [
        b"\x0a11.4\0",
        [7; 12].as_slice(),
        &[0],
        &low,
        &[45, 2, 0],
        &high,
        &[21, 0, 0, 0, 0, 0, 0],
        &of_mariadb,
        &[7; 13],
        b"mysql_native_password\0",
    ];
    packet(0, &payload.concat())
}

pub fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_le_bytes();
    [&length[..3], &[sequence], payload].concat()
}

pub fn command(kind: u8, body: &[u8]) -> Vec<u8> {
    packet(0, &[&[kind], body].concat())
}

/// A session that has begun, and then a server that does this.
pub fn session(server: impl FnOnce(TcpStream) + Send + 'static) -> Scripted {
    let login = packet(1, &[0xFF; 32]);
    let all = login.clone();
    let mut session = scripted("mysql", move |mut stream| {
        let offered = greeting(OFFERED, OFFERED_TOO, OFFERED_BY_MARIADB);
        send(&mut stream, &offered);
        expect(&mut stream, &all);
        send(&mut stream, &packet(2, OK));
        server(stream);
    });
    let offered = greeting(
        OFFERED_TO_CLIENT,
        OFFERED_TOO_TO_CLIENT,
        OFFERED_BY_MARIADB_TO_CLIENT,
    );
    expect(&mut session.client, &offered);
    send(&mut session.client, &login);
    expect(&mut session.client, &packet(2, OK));
    assert_eq!(session.proxy.round_trips(), 0);
    session.proxy.forget();
    session
}

#[test]
fn what_the_proxy_cannot_read_is_not_offered() {
    session(|_| ()).end();
}

/// A login takes as many turns as the server likes. A file that a statement asks for is one more.
#[test]
fn a_login_is_not_counted_and_a_file_is() {
    let login = packet(1, &[0xFF; 32]);
    let other_way = packet(2, b"\xFEmysql_native_password\0");
    let no_password = packet(3, b"");
    let load = command(0x03, b"LOAD DATA LOCAL INFILE 'rows' INTO TABLE t");
    let wants = packet(1, b"\xFBrows");
    let file = [packet(2, b"1\n"), packet(3, b"")].concat();
    let turns = [
        (login, other_way),
        (no_password, packet(4, OK)),
        (load, wants),
        (file, packet(4, OK)),
    ];
    let hello = greeting(OFFERED_TO_CLIENT, [0; 2], [0; 4]);
    let (script, said) = (turns.clone(), hello.clone());
    let mut session = scripted("mysql", move |mut stream| {
        send(&mut stream, &said);
        for (question, answer) in script {
            expect(&mut stream, &question);
            send(&mut stream, &answer);
        }
    });
    expect(&mut session.client, &hello);
    let mut counts = Vec::new();
    for (question, answer) in turns {
        send(&mut session.client, &question);
        expect(&mut session.client, &answer);
        counts.push(session.proxy.round_trips());
    }
    assert_eq!(counts, [0, 0, 1, 1]);
    session.end();
}

/// As a connector does that does not wait for the number: 0xFFFFFFFF is the statement prepared last.
#[test]
fn prepared_and_executed_in_one_segment_is_one_round_trip() {
    let prepare = |text: &[u8]| command(0x16, text);
    let execute = |id: u32| command(0x17, &[&id.to_le_bytes(), [0; 5].as_slice()].concat());
    let prepared = |id: u8| packet(1, &[0, id, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0]);
    let definition = packet(2, b"\x03def");
    let end = packet(3, &[0xFE, 0, 0, 2, 0]);

    let bundle = [prepare(b"SELECT ?"), execute(u32::MAX)].concat();
    let answer = [
        prepared(5),
        definition.clone(),
        end.clone(),
        definition.clone(),
        end.clone(),
        // One column, and one row whose first byte is that of an OK.
        packet(1, &[1]),
        definition,
        end.clone(),
        packet(4, &[0, 0, 1]),
        end,
    ]
    .concat();
    let later = [
        prepare(b"UPDATE t SET a = 1"),
        execute(5),
        execute(6),
        command(0x19, &[5, 0, 0, 0]),
        execute(5),
    ]
    .concat();
    let later_answer = [
        packet(1, &[0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        packet(1, OK),
        packet(1, OK),
        packet(1, b"\xFF\xDB\x04#HY000No such statement"),
    ]
    .concat();

    let (first, first_answer) = (bundle.clone(), answer.clone());
    let (second, second_answer) = (later.clone(), later_answer.clone());
    let mut session = session(move |mut stream| {
        expect(&mut stream, &first);
        send(&mut stream, &first_answer);
        // In two parts, because the number of the new statement is known only when it is answered.
        let (prepare, rest) = second.split_at(second.len() - 14 * 3 - 9);
        expect(&mut stream, prepare);
        let (prepared, answers) = second_answer.split_at(16);
        send(&mut stream, prepared);
        expect(&mut stream, rest);
        send(&mut stream, answers);
    });
    send(&mut session.client, &bundle);
    expect(&mut session.client, &answer);
    assert_eq!(session.proxy.statements(), ["SELECT ?"]);
    assert_eq!(session.proxy.round_trips(), 1);

    let (prepare, rest) = later.split_at(later.len() - 14 * 3 - 9);
    send(&mut session.client, prepare);
    expect(&mut session.client, &later_answer[..16]);
    send(&mut session.client, rest);
    expect(&mut session.client, &later_answer[16..]);
    assert_eq!(
        session.proxy.statements(),
        ["SELECT ?", "UPDATE t SET a = 1", "(unknown statement 5)"]
    );
    assert_eq!(session.proxy.round_trips(), 2);
    session.end();
}

#[test]
fn commands_without_an_answer_are_no_round_trip() {
    let close = command(0x19, &[1, 0, 0, 0]);
    let ping = command(0x0E, b"");
    let quit = command(0x01, b"");
    let bye = packet(0, b"\xFF\xB0\x04#08S01Bye");
    let (both, last, said) = ([close, ping].concat(), quit.clone(), bye.clone());
    let all = both.clone();
    let mut session = session(move |mut stream| {
        expect(&mut stream, &all);
        send(&mut stream, &packet(1, OK));
        expect(&mut stream, &last);
        // A last word that nobody asked for.
        send(&mut stream, &said);
    });
    // One byte at a time: the close passes long before the ping.
    for byte in both {
        send(&mut session.client, &[byte]);
    }
    expect(&mut session.client, &packet(1, OK));
    send(&mut session.client, &quit);
    expect(&mut session.client, &bye);
    let names = "COM_STMT_CLOSE COM_PING COM_QUIT";
    assert_eq!(session.proxy.messages().join(" "), names);
    assert_eq!(session.proxy.round_trips(), 1);
    session.end();
}

#[test]
fn a_reset_connection_forgets_its_statements() {
    let prepare = command(0x16, b"SELECT 1");
    let execute = command(0x17, &[5, 0, 0, 0, 0, 1, 0, 0, 0]);
    let rest = [execute.clone(), command(0x1F, b""), execute].concat();
    let (first, second) = (prepare.clone(), rest.clone());
    let prepared = packet(1, &[0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let said = prepared.clone();
    let mut session = session(move |mut stream| {
        expect(&mut stream, &first);
        send(&mut stream, &said);
        expect(&mut stream, &second);
        send(&mut stream, &packet(1, OK).repeat(3));
    });
    send(&mut session.client, &prepare);
    expect(&mut session.client, &prepared);
    send(&mut session.client, &rest);
    expect(&mut session.client, &packet(1, OK).repeat(3));
    let statements = session.proxy.statements();
    assert_eq!(statements, ["SELECT 1", "(unknown statement 5)"]);
    session.end();
}

#[test]
fn a_statement_longer_than_a_packet_passes_whole() {
    const LONGEST: usize = 0xFF_FFFF;
    let mut text = b"\x03INSERT ".to_vec();
    text.resize(LONGEST, b'x');
    let bytes = [packet(0, &text), packet(1, b"VALUES (1)")].concat();
    let length = bytes.len();
    let mut session = session(move |mut stream| {
        assert!(read(&mut stream, length).ends_with(b"VALUES (1)"));
        send(&mut stream, &packet(2, OK));
    });
    send(&mut session.client, &bytes);
    expect(&mut session.client, &packet(2, OK));
    let statements = session.proxy.statements();
    assert!(statements[0].starts_with("INSERT xx"));
    assert_eq!((statements.len(), statements[0].len()), (1, LONGEST - 1));
    assert_eq!(session.proxy.messages(), ["COM_QUERY"]);
    session.end();
}
