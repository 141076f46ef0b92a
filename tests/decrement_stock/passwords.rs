//! The password in a URL: no message repeats it, however the URL is wrong, and no worker has it where `ps` shows it.

use crate::process::{code, folder, run, stderr};
use std::process::Output;

/// Two words, for a password with a character between them that has a meaning in a URL.
const WORDS: [&str; 2] = ["kanari", "vogel"];

/// Refused, with a message that has this in it, and nothing of the password anywhere.
fn assert_refused(arguments: &str, output: &Output, message: &str) {
    assert_eq!(code(output), 2, "{arguments}: {}", stderr(output));
    assert!(
        stderr(output).contains(message),
        "{arguments}: {}",
        stderr(output)
    );
    assert!(output.stdout.is_empty(), "{arguments}");
    assert_silent(arguments, output);
}

fn assert_silent(arguments: &str, output: &Output) {
    for stream in [&output.stdout, &output.stderr] {
        let text = String::from_utf8_lossy(stream);
        for word in WORDS {
            assert!(!text.contains(word), "{arguments}: {text}");
        }
    }
}

#[test]
fn main_job_url_in_the_wrong_place_is_refused_without_its_password() {
    for option in [
        "",
        "--mode ",
        "--stock ",
        "--products ",
        "--database=",
        "--json=",
    ] {
        let arguments = format!("{option}postgres://ada:kanari@localhost/shop");
        let output = run(folder().path(), &arguments);
        assert_refused(&arguments, &output, "a URL goes behind --database-url");
    }
}

#[test]
fn main_job_url_without_its_scheme_is_refused_without_its_password() {
    for url in [
        "ada:kanari@localhost/shop",
        "postgres:/ada:kanari@localhost/shop",
        "sqlite://ada:kanari@localhost/shop",
        "sqlite://postgres://ada:kanari@localhost/shop",
        "password=kanari",
    ] {
        let arguments = format!("--database-url {url}");
        let folder = folder();
        let output = run(folder.path(), &arguments);
        assert_refused(&arguments, &output, "that is no file; name a file, ");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

#[cfg(any(feature = "postgres", feature = "mysql"))]
mod on_servers {
    use super::*;
    /// A password that would be cut in two, and half of it be taken for a host, a port or a database.
    pub fn assert_badly_written_urls_are_refused(scheme: &str) {
        let written = "in a user name or a password @ : / ? # % have to be written as";
        let port = "what follows the host and a colon is not a port";
        for (rest, message) in [
            ("ada:kanari@vogel@127.0.0.1:1/shop", written),
            ("ada:kanari/vogel@127.0.0.1:1/shop", written),
            ("ada:1/vogel@127.0.0.1:1/shop", written),
            ("ada:kanari?vogel@127.0.0.1:1/shop", written),
            ("ada:kanari#vogel@127.0.0.1:1/shop", written),
            ("ada:kanari/shop", port),
            ("ada@127.0.0.1:kanari/shop", port),
            ("[::1]:kanari/shop", port),
            ("ada:kanari@[::1/shop", port),
        ] {
            let arguments = format!("--database-url {scheme}://{rest}");
            assert_refused(&arguments, &run(folder().path(), &arguments), message);
        }
    }

    /// What the client itself finds wrong, and says in its own words.
    pub fn assert_the_client_is_not_repeated(scheme: &str, more: &[&str]) {
        let common = [
            "ada:kanari%40vogel@127.0.0.1:1/shop",
            "ada:kanari%zzvogel@127.0.0.1:1/shop",
            "ada:kanari@[]/shop",
            "ada:kanari@[::1]x/shop",
        ];
        for rest in common.iter().chain(more) {
            let arguments = format!("--database-url {scheme}://{rest}");
            let output = run(folder().path(), &arguments);
            assert_refused(&arguments, &output, &format!("decrement_stock: {scheme}: "));
        }
    }

    pub fn assert_a_run_does_not_show_it(url: &str) {
        let folder = folder();
        for workers in ["", "--processes"] {
            for json in ["", "--json"] {
                let arguments = format!(
                    "--stock 40 --orders 60 --mode guarded {workers} {json} --database-url {url}"
                );
                let output = run(folder.path(), &arguments);
                assert_eq!(code(&output), 0, "{arguments}: {}", stderr(&output));
                assert_silent(&arguments, &output);
            }
        }
        #[cfg(target_os = "linux")]
        assert_workers_do_not_show_it(url);
    }

    /// Looks at the workers, while they are at it, as `ps` does.
    #[cfg(target_os = "linux")]
    fn assert_workers_do_not_show_it(url: &str) {
        use crate::process::example;
        use std::process::{Command, Stdio};

        let mut parent = Command::new(example("decrement_stock"))
            .args(["--processes", "--mode", "guarded", "--stock", "2000"])
            .args(["--database-url", url])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut seen = std::collections::HashSet::new();
        while parent.try_wait().unwrap().is_none() {
            let id = parent.id();
            let children = format!("/proc/{id}/task/{id}/children");
            for child in std::fs::read_to_string(children)
                .unwrap_or_default()
                .split_whitespace()
            {
                let read =
                    |file: &str| std::fs::read(format!("/proc/{child}/{file}")).unwrap_or_default();
                let (arguments, environment) = (read("cmdline"), read("environ"));
                // Before it has become the example, it has the arguments of its parent.
                if !String::from_utf8_lossy(&arguments).contains("--internal-worker") {
                    continue;
                }
                for bytes in [&arguments, &environment] {
                    let text = String::from_utf8_lossy(bytes);
                    assert!(!WORDS.iter().any(|word| text.contains(word)), "{text}");
                }
                seen.insert(child.to_owned());
            }
        }
        assert!(parent.wait().unwrap().success());
        assert!(!seen.is_empty(), "no worker was seen");
    }
}

#[cfg(feature = "postgres")]
mod postgres {
    use super::on_servers::*;
    use super::*;
    use crate::shop::postgres_with_login;

    #[test]
    fn main_job_password_that_splits_the_url_is_refused_before_anybody_tries_it() {
        assert_badly_written_urls_are_refused("postgres");
        assert_badly_written_urls_are_refused("postgresql");
    }

    #[test]
    fn main_job_errors_of_the_client_do_not_repeat_the_password() {
        assert_the_client_is_not_repeated(
            "postgres",
            &[
                "127.0.0.1:1/shop?user=ada&password=kanari",
                "127.0.0.1:1/shop?password=kanari%zz",
                "127.0.0.1:1/shop?sslpassword=kanari&colour=red",
            ],
        );
    }

    #[test]
    fn main_job_password_shows_neither_in_a_run_nor_in_its_workers() {
        let (_shop, url) = postgres_with_login("kanari@vogel", "kanari%40vogel");
        assert_a_run_does_not_show_it(&url);
        let nowhere = url.replacen('?', "?dbname=occ_example_nowhere&", 1);
        let arguments = format!("--database-url {nowhere}");
        let output = run(folder().path(), &arguments);
        assert_refused(&arguments, &output, "occ_example_nowhere");
    }
}

#[cfg(feature = "mysql")]
mod mysql {
    use super::on_servers::*;
    use super::*;
    use crate::shop::mysql_with_login;

    #[test]
    fn main_job_password_that_splits_the_url_is_refused_before_anybody_tries_it() {
        assert_badly_written_urls_are_refused("mysql");
    }

    #[test]
    fn main_job_errors_of_the_client_do_not_repeat_the_password() {
        assert_the_client_is_not_repeated("mysql", &["ada:kanari@127.0.0.1:1/shop/vogel"]);
    }

    #[test]
    fn main_job_password_shows_neither_in_a_run_nor_in_its_workers() {
        let (_shop, url) = mysql_with_login("kanari@vogel", "kanari%40vogel");
        assert_a_run_does_not_show_it(&url);
        let wrong = url.replace("kanari", "kanariwrong");
        let arguments = format!("--database-url {wrong}");
        let output = run(folder().path(), &arguments);
        assert_refused(&arguments, &output, "Access denied");
    }
}
