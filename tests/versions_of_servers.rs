//! Says which servers the tests run on, and that these are as the tests need them. `tests/run` reads the versions that are
//! printed here.

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Text;

#[cfg(feature = "sqlite")]
#[test]
fn row_o2_linked_sqlite_has_returning() {
    let mut conn = SqliteConnection::establish(":memory:").unwrap();
    let version: String = diesel::select(sql::<Text>("sqlite_version()"))
        .get_result(&mut conn)
        .unwrap();
    println!("sqlite {version}");

    let mut parts = version.split('.').map(|part| part.parse::<u32>().unwrap());
    let (major, minor) = (parts.next().unwrap(), parts.next().unwrap());
    assert!(
        (major, minor) >= (3, 35),
        "RETURNING came with SQLite 3.35, this is {version}"
    );
}

#[cfg(any(feature = "postgres", feature = "mysql"))]
fn url(variable: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| {
        panic!("{variable} is missing; `tests/with-servers cargo test ..` starts the servers and sets it")
    })
}

#[cfg(feature = "postgres")]
mod postgres {
    use super::*;
    use diesel::connection::SimpleConnection;
    use diesel::result::Error;
    use diesel::sql_types::Bool;

    fn connect() -> PgConnection {
        PgConnection::establish(&url("OCC_TEST_POSTGRES_URL")).unwrap()
    }

    #[test]
    fn user_of_the_tests_may_do_everything() {
        let conn = &mut connect();
        let version: String = diesel::select(sql::<Text>("current_setting('server_version')"))
            .get_result(conn)
            .unwrap();
        // A distribution adds its own: `15.18 (Debian 15.18-0+deb12u1)`.
        println!("postgres {}", version.split(' ').next().unwrap());

        let superuser: bool = diesel::select(sql::<Bool>("current_setting('is_superuser')::bool"))
            .get_result(conn)
            .unwrap();
        assert!(superuser, "OCC_TEST_POSTGRES_URL must name a superuser");
    }

    #[test]
    fn messages_are_french_where_the_launcher_says_so() {
        if std::env::var("OCC_TEST_FRENCH").as_deref() != Ok("yes") {
            println!("SKIPPED messages of PostgreSQL in French: OCC_TEST_FRENCH is not yes");
            return;
        }
        let conn = &mut connect();
        conn.batch_execute("SET lc_messages = 'fr_FR.UTF-8'")
            .unwrap();
        match conn.batch_execute("SELECT 1 / 0") {
            Err(Error::DatabaseError(_, told)) => assert_eq!(told.message(), "division par zéro"),
            other => panic!("{other:?}"),
        }
    }
}

#[cfg(feature = "mysql")]
mod mysql {
    use super::*;
    use diesel::sql_types::Bool;

    #[test]
    fn user_of_the_tests_may_do_everything() {
        let conn = &mut MysqlConnection::establish(&url("OCC_TEST_MYSQL_URL")).unwrap();
        let version: String = diesel::select(sql::<Text>("VERSION()"))
            .get_result(conn)
            .unwrap();
        // A distribution adds its own: `10.11.19-MariaDB-0+deb12u1`.
        let number = version.split('-').next().unwrap();
        let maker = if version.contains("MariaDB") {
            "-MariaDB"
        } else {
            ""
        };
        println!("mysql {number}{maker}");

        let superuser: bool = diesel::select(sql::<Bool>(
            "EXISTS (SELECT * FROM information_schema.user_privileges WHERE privilege_type = 'SUPER' \
             AND grantee = CONCAT('''', REPLACE(CURRENT_USER(), '@', '''@'''), ''''))",
        ))
        .get_result(conn)
        .unwrap();
        assert!(superuser, "OCC_TEST_MYSQL_URL must name a superuser");
    }
}
