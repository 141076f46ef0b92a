//! A server and a client of a few bytes each, for what no real client can be made to send.

use crate::support::proxy::Proxy;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Longer than anything here takes, so that what does not come is an error.
const BOUND: Duration = Duration::from_secs(30);

pub struct Scripted {
    pub proxy: Proxy,
    pub client: TcpStream,
    server: JoinHandle<()>,
}

/// A server that takes one connection and does this, and a client that is connected to it through a proxy.
pub fn scripted(scheme: &str, server: impl FnOnce(TcpStream) + Send + 'static) -> Scripted {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let proxy = Proxy::to(&format!("{scheme}://user@{address}/name"));
    let own = proxy.url().split(['@', '/']).nth(3).unwrap().to_owned();
    Scripted {
        proxy,
        client: bounded(TcpStream::connect(own).unwrap()),
        server: thread::spawn(move || server(bounded(listener.accept().unwrap().0))),
    }
}

impl Scripted {
    /// Ends the server, and panics if it did.
    pub fn end(self) {
        drop(self.client);
        drop(self.proxy);
        self.server.join().unwrap();
    }
}

/// Reads exactly these bytes.
pub fn expect(stream: &mut TcpStream, bytes: &[u8]) {
    assert_eq!(read(stream, bytes.len()), bytes);
}

pub fn read(stream: &mut TcpStream, length: usize) -> Vec<u8> {
    let mut got = vec![0; length];
    stream.read_exact(&mut got).unwrap();
    got
}

pub fn send(stream: &mut TcpStream, bytes: &[u8]) {
    stream.write_all(bytes).unwrap();
}

fn bounded(stream: TcpStream) -> TcpStream {
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(BOUND)).unwrap();
    stream
}
