//! The proxy's own URL, and a server that is not there.

use crate::support::proxy::Proxy;
use std::io::Read;
use std::net::TcpStream;
use std::panic::catch_unwind;

/// The proxy's URL with its port, which is another one each time, left out.
fn own(url: &str) -> String {
    let own = Proxy::to(url).url().to_owned();
    let port = own.split("@127.0.0.1:").nth(1).unwrap();
    let digits = port.len()
        - port
            .trim_start_matches(|letter: char| letter.is_ascii_digit())
            .len();
    own.replacen(&port[..digits], "PORT", 1)
}

#[test]
fn everything_but_the_address_is_kept() {
    let kept = [
        ("postgres://me@host", "postgres://me@127.0.0.1:PORT"),
        (
            "postgresql://me:p%40ss@w@host:1/name?options=-cx%3Dy&sslmode=prefer",
            "postgresql://me:p%40ss@w@127.0.0.1:PORT/name?options=-cx%3Dy&sslmode=prefer",
        ),
        ("mysql://root@[::1]/", "mysql://root@127.0.0.1:PORT/"),
        (
            "mysql://root:@[::1]:1?a=b@c",
            "mysql://root:@127.0.0.1:PORT?a=b@c",
        ),
    ];
    for (url, expected) in kept {
        assert_eq!(own(url), expected);
    }
}

fn said(result: std::thread::Result<()>) -> String {
    *result.unwrap_err().downcast::<String>().unwrap()
}

#[test]
fn what_has_no_address_is_refused() {
    let of = |url: &'static str| said(catch_unwind(|| drop(Proxy::to(url))));
    let socket = of("postgres:///name?host=/run");
    assert_eq!(
        socket,
        "the proxy needs a host in postgres:///name?host=/run"
    );
    let file = of("sqlite://me@host/name");
    assert_eq!(
        file,
        "the proxy stands before postgres:// or mysql://, not sqlite://me@host/name"
    );
    assert_eq!(of("mysql://host:x/"), "no port number in mysql://host:x/");
}

#[test]
fn a_server_that_is_not_there_is_named_when_the_proxy_is_dropped() {
    // The port of a service that is not in use any more.
    let address = "127.0.0.1:1";
    let result = catch_unwind(|| {
        let proxy = Proxy::to(&format!("mysql://me@{address}"));
        let mut client = TcpStream::connect(proxy.url().split('@').nth(1).unwrap()).unwrap();
        assert_eq!(client.read(&mut [0]).unwrap(), 0);
    });
    let said = said(result);
    let expected = format!("the proxy cannot reach {address}: Connection refused");
    assert!(said.starts_with(&expected), "{said}");
}
