//! The parts of a database's URL that a proxy replaces.

/// The server that a URL names.
#[derive(Default)]
pub struct Target {
    pub is_mysql: bool,
    pub host: String,
    pub port: u16,
}

/// Splits `scheme://[user[:password]@]host[:port][/database][?options]`: the target, what stands before the host, and what
/// stands after the port.
pub fn split(url: &str) -> (Target, &str, &str) {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let (is_mysql, usual_port) = match scheme {
        "mysql" => (true, 3306),
        "postgres" | "postgresql" => (false, 5432),
        _ => panic!("the proxy stands before postgres:// or mysql://, not {url}"),
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, after) = rest.split_at(end);
    let start = authority.rfind('@').map_or(0, |at| at + 1);
    let address = &authority[start..];
    let (host, port) = match address.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port),
        _ => (address, ""),
    };
    assert!(!host.is_empty(), "the proxy needs a host in {url}");
    let target = Target {
        is_mysql,
        host: host.trim_matches(['[', ']']).to_owned(),
        port: match port {
            "" => usual_port,
            port => port
                .parse()
                .unwrap_or_else(|_| panic!("no port number in {url}")),
        },
    };
    (
        target,
        &url[..url.len() - after.len() - address.len()],
        after,
    )
}
