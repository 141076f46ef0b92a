//! What `--database-url` may name, and what of it may be said aloud: a URL has a password in it.

use crate::failure::Failure;
use std::path::Path;

/// Checks what the caller named, and answers the path of a file, or the URL of a server that is compiled in.
pub fn accepted(url: &str) -> Result<&str, Failure> {
    match url.split_once("://") {
        None => file(url),
        Some(("sqlite", path)) => file(path),
        Some((scheme @ ("postgres" | "postgresql"), rest)) => {
            server(scheme, "postgres", cfg!(feature = "postgres"), rest).map(|()| url)
        }
        Some((scheme @ "mysql", rest)) => {
            server(scheme, "mysql", cfg!(feature = "mysql"), rest).map(|()| url)
        }
        Some(("mariadb", _)) => Err(refused("MariaDB is named as MySQL is, by mysql://")),
        Some((scheme, _)) if scheme.chars().all(char::is_alphanumeric) => {
            Err(refused(&format!("nothing here talks {scheme}://; {FORMS}")))
        }
        Some(_) => Err(refused(FORMS)),
    }
}

const FORMS: &str = "name a file, sqlite://path, postgres://.. or mysql://..";

fn refused(why: &str) -> Failure {
    Failure::bad_input(format_args!("--database-url: {why}"))
}

/// Each worker opens the database for itself, so it has to be a file.
fn file(path: &str) -> Result<&str, Failure> {
    if is_half_a_server(path) {
        return Err(refused(&format!("that is no file; {FORMS}")));
    }
    if path.is_empty() || path.starts_with(':') || path.starts_with("file:") {
        return Err(refused(&format!(
            "{path}: the workers need the path of a file that all of them can open"
        )));
    }
    if Path::new(path).is_dir() {
        return Err(refused(&format!("{path}: that is a folder")));
    }
    Ok(path)
}

/// A URL without its scheme, or the other form that PostgreSQL's client takes. As a path it would be repeated in a message.
fn is_half_a_server(path: &str) -> bool {
    let drive =
        matches!(path.as_bytes(), [letter, b':', b'\\' | b'/', ..] if letter.is_ascii_alphabetic());
    let credentials = path
        .split_once(':')
        .is_some_and(|(_, rest)| rest.contains('@'));
    path.contains("://") || path.contains("password=") || (credentials && !drive)
}

/// Refuses a URL in which a part of the password would be taken for a host, a port or a database: the client's error would
/// repeat it.
fn server(scheme: &str, feature: &str, compiled_in: bool, rest: &str) -> Result<(), Failure> {
    if !compiled_in {
        return Err(refused(&format!(
            "{scheme}:// needs the feature `{feature}`: \
             cargo run --features {feature} --example decrement_stock -- --database-url {scheme}://.."
        )));
    }
    let (authority, behind) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let hosts = authority
        .split_once('@')
        .map_or(authority, |(_, hosts)| hosts);
    if hosts.contains('@') || behind.contains(['@', '#']) {
        return Err(refused(
            "in a user name or a password @ : / ? # % have to be written as %40 %3A %2F %3F %23 %25",
        ));
    }
    let port = |host: &str| {
        let behind_brackets = host.rsplit_once(']').map_or(host, |(_, port)| port);
        behind_brackets
            .split_once(':')
            .is_none_or(|(_, port)| port.bytes().all(|digit| digit.is_ascii_digit()))
    };
    if !hosts.split(',').all(port) {
        return Err(refused("what follows the host and a colon is not a port"));
    }
    Ok(())
}

/// A file by its path, a server by its scheme.
pub fn shown(url: &str) -> &str {
    url.split_once("://").map_or(url, |(scheme, _)| scheme)
}

/// A message of the client, which may repeat parts of the URL.
pub fn without_password(url: &str, message: &str) -> String {
    let Some((_, rest)) = url.split_once("://") else {
        return message.to_owned();
    };
    let user = rest.split_once('@').map_or("", |(user, _)| user);
    let of_user = user.split_once(':').map(|(_, password)| password);
    let options = rest.split_once('?').map_or("", |(_, options)| options);
    let of_options = options.split('&').filter_map(|option| {
        let (name, value) = option.split_once('=')?;
        name.contains("password").then_some(value)
    });
    of_user
        .into_iter()
        .chain(of_options)
        .filter(|password| !password.is_empty())
        .fold(message.to_owned(), |message, password| {
            message.replace(password, "***")
        })
}
