//! MySQL or MariaDB, and how old: read from the version string.

/// What the version string of a server says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Flavor {
    pub(super) name: &'static str,
    version: (u32, u32, u32),
}

impl Flavor {
    pub(super) fn of(version: &str) -> Flavor {
        let name = match version.contains("MariaDB") {
            true => "MariaDB",
            false => "MySQL",
        };
        // What MariaDB put before its own number so that old replicas would take it.
        let number = version.strip_prefix("5.5.5-").unwrap_or(version);
        let mut parts = number
            .split(|c: char| !c.is_ascii_digit())
            .map(|part| part.parse().unwrap_or(0));
        let mut next = || parts.next().unwrap_or(0);
        Flavor {
            name,
            version: (next(), next(), next()),
        }
    }

    fn is_mariadb(self) -> bool {
        self.name == "MariaDB"
    }

    /// <https://mariadb.com/kb/en/select/#skip-locked>,
    /// <https://dev.mysql.com/doc/relnotes/mysql/8.0/en/news-8-0-1.html>
    pub(super) fn skip_locked(self) -> bool {
        self.version
            >= match self.is_mariadb() {
                true => (10, 6, 0),
                false => (8, 0, 1),
            }
    }

    /// The first version that this crate is written for, where this one is older.
    pub(super) fn too_old_for(self) -> Option<&'static str> {
        let (first, minimum) = match self.is_mariadb() {
            true => ((10, 6, 0), "MariaDB 10.6"),
            false => ((8, 0, 1), "MySQL 8.0.1"),
        };
        (self.version < first).then_some(minimum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_string_tells_the_server_and_what_it_has() {
        for (version, name, skip_locked, too_old) in [
            ("10.11.19-MariaDB-0+deb12u1", "MariaDB", true, None),
            ("5.5.5-10.11.19-MariaDB", "MariaDB", true, None),
            ("11.4.2-MariaDB-log", "MariaDB", true, None),
            ("10.6.0-MariaDB", "MariaDB", true, None),
            ("10.5.9-MariaDB", "MariaDB", false, Some("MariaDB 10.6")),
            ("8.4.0", "MySQL", true, None),
            ("8.0.36-0ubuntu0.22.04.1", "MySQL", true, None),
            ("8.0.1", "MySQL", true, None),
            ("5.7.44-log", "MySQL", false, Some("MySQL 8.0.1")),
            ("nonsense", "MySQL", false, Some("MySQL 8.0.1")),
        ] {
            let flavor = Flavor::of(version);
            assert_eq!(
                (flavor.name, flavor.skip_locked(), flavor.too_old_for()),
                (name, skip_locked, too_old),
                "{version}"
            );
        }
    }
}
