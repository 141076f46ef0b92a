//! MySQL's and MariaDB's own client library.

use crate::floor::{Floor, Texts};
use crate::product::Product;
use mysqlclient_sys as ffi;
use std::ffi::{CStr, CString, c_ulong, c_void};
use std::mem::zeroed;
use std::ptr;

pub struct Libmariadb {
    load: Statement,
    load_locked: Statement,
    update: Statement,
    update_alone: Statement,
    save: Statement,
    conn: *mut ffi::MYSQL,
}

struct Statement(*mut ffi::MYSQL_STMT);

/// Deadlock, and MariaDB's row that has changed since the snapshot.
const LOST: [u32; 2] = [1213, 1020];

/// A place that an integer is written to.
fn place(value: *mut i64) -> ffi::MYSQL_BIND {
    // SAFETY: the library's own way to begin with a bind is to fill it with zeros.
    let mut bind: ffi::MYSQL_BIND = unsafe { zeroed() };
    bind.buffer_type = ffi::enum_field_types::MYSQL_TYPE_LONGLONG;
    bind.buffer = value.cast();
    bind
}

/// An integer that is read.
fn integer(value: &i64) -> ffi::MYSQL_BIND {
    place(ptr::from_ref(value).cast_mut())
}

fn text(start: *mut c_void, size: usize, length: *mut c_ulong) -> ffi::MYSQL_BIND {
    // SAFETY: as above.
    let mut bind: ffi::MYSQL_BIND = unsafe { zeroed() };
    bind.buffer_type = ffi::enum_field_types::MYSQL_TYPE_STRING;
    bind.buffer = start;
    bind.buffer_length = size as c_ulong;
    bind.length = length;
    bind
}

impl Statement {
    fn message(&self) -> String {
        // SAFETY: the statement is alive, and the text is copied.
        unsafe { CStr::from_ptr(ffi::mysql_stmt_error(self.0)) }
            .to_string_lossy()
            .into_owned()
    }

    /// Runs it; the binds and what they point at are alive during the call.
    fn execute(&mut self, binds: &mut [ffi::MYSQL_BIND]) -> Option<u64> {
        // SAFETY: as many binds as the text has.
        let failed = unsafe {
            ffi::mysql_stmt_bind_param(self.0, binds.as_mut_ptr());
            ffi::mysql_stmt_execute(self.0) != 0
        };
        if failed {
            // SAFETY: the statement is alive.
            let number = unsafe { ffi::mysql_stmt_errno(self.0) };
            assert!(LOST.contains(&number), "{number}: {}", self.message());
            return None;
        }
        // SAFETY: the statement is alive.
        Some(unsafe { ffi::mysql_stmt_affected_rows(self.0) })
    }

    /// The one row of a SELECT.
    fn read(&mut self, id: i64) -> Product {
        self.execute(&mut [integer(&id)]).expect("no failure");
        let (mut key, mut stock, mut version) = (0_i64, 0_i64, 0_i64);
        let (mut name, mut length) = ([0_u8; 64], c_ulong::default());
        let mut binds = [
            place(&raw mut key),
            text((&raw mut name).cast(), name.len(), &raw mut length),
            place(&raw mut stock),
            place(&raw mut version),
        ];
        let statement = self.0;
        // SAFETY: as many binds as columns, each at a place that is alive.
        let fetched = unsafe {
            ffi::mysql_stmt_bind_result(statement, binds.as_mut_ptr());
            ffi::mysql_stmt_store_result(statement);
            let fetched = ffi::mysql_stmt_fetch(statement);
            ffi::mysql_stmt_free_result(statement);
            fetched
        };
        assert_eq!(fetched, 0, "{}", self.message());
        let length = usize::try_from(length).expect("a length");
        let name = std::str::from_utf8(&name[..length]).expect("UTF-8");
        Product {
            id: key,
            name: name.to_owned(),
            stock: i32::try_from(stock).expect("a stock"),
            version,
        }
    }
}

impl Libmariadb {
    fn message(&self) -> String {
        // SAFETY: the handle is there, and the text is copied.
        unsafe { CStr::from_ptr(ffi::mysql_error(self.conn)) }
            .to_string_lossy()
            .into_owned()
    }
}

fn prepare(conn: *mut ffi::MYSQL, sql: &str) -> Statement {
    // SAFETY: the connection is open; the text is given with its length.
    let (statement, failed) = unsafe {
        let statement = Statement(ffi::mysql_stmt_init(conn));
        let failed =
            ffi::mysql_stmt_prepare(statement.0, sql.as_ptr().cast(), sql.len() as c_ulong);
        (statement, failed != 0)
    };
    assert!(!failed, "{sql}: {}", statement.message());
    statement
}

/// `mysql://user[:password]@host[:port]/database`
struct Address {
    user: CString,
    password: CString,
    host: CString,
    port: u32,
    database: CString,
}

impl Address {
    fn of(url: &str) -> Self {
        let rest = url.strip_prefix("mysql://").expect("a mysql URL");
        let (login, place) = rest.split_once('@').expect("a user");
        let (user, password) = login.split_once(':').unwrap_or((login, ""));
        let (place, database) = place.split_once('/').expect("a database");
        let (host, port) = place.split_once(':').unwrap_or((place, "3306"));
        let text = |text: &str| CString::new(text).expect("no NUL");
        Address {
            user: text(user),
            password: text(password),
            host: text(host),
            port: port.parse().expect("a port"),
            database: text(database),
        }
    }
}

impl Floor for Libmariadb {
    fn connect(url: &str) -> Self {
        let address = Address::of(url);
        // Found rows count, as Diesel asks for.
        const CLIENT_FOUND_ROWS: c_ulong = 2;
        // SAFETY: every text ends in NUL and is alive during the call.
        let (conn, opened) = unsafe {
            let conn = ffi::mysql_init(ptr::null_mut());
            let opened = ffi::mysql_real_connect(
                conn,
                address.host.as_ptr(),
                address.user.as_ptr(),
                address.password.as_ptr(),
                address.database.as_ptr(),
                address.port,
                ptr::null(),
                CLIENT_FOUND_ROWS,
            );
            (conn, opened)
        };
        assert!(!opened.is_null(), "no connection to {:?}", address.host);
        let texts = Texts::new(|_| "?".to_owned(), "FOR UPDATE");
        Libmariadb {
            load: prepare(conn, &texts.load),
            load_locked: prepare(conn, &texts.load_locked),
            update: prepare(conn, &texts.update),
            update_alone: prepare(conn, &texts.update_alone),
            save: prepare(conn, &texts.save),
            conn,
        }
    }

    fn batch(&mut self, sql: &str) {
        // SAFETY: the text is given with its length.
        let failed =
            unsafe { ffi::mysql_real_query(self.conn, sql.as_ptr().cast(), sql.len() as c_ulong) };
        assert_eq!(failed, 0, "{sql}: {}", self.message());
    }

    fn load(&mut self, id: i64) -> Product {
        self.load.read(id)
    }

    fn load_locked(&mut self, id: i64) -> Product {
        self.load_locked.read(id)
    }

    fn update(&mut self, stock: i64, id: i64, version: i64) -> Option<u64> {
        self.update
            .execute(&mut [integer(&stock), integer(&id), integer(&version)])
    }

    fn update_alone(&mut self, stock: i64, id: i64, version: i64) -> Option<u64> {
        let (id, version) = (&id, &version);
        self.update_alone.execute(&mut [
            integer(&stock),
            integer(id),
            integer(version),
            integer(id),
            integer(version),
        ])
    }

    fn save(&mut self, row: &Product) -> Option<u64> {
        let (stock, mut length) = (i64::from(row.stock), row.name.len() as c_ulong);
        let name = row.name.as_ptr().cast_mut().cast();
        let binds = &mut [
            text(name, row.name.len(), &raw mut length),
            integer(&stock),
            integer(&row.id),
            integer(&row.version),
        ];
        self.save.execute(binds)
    }
}

impl Drop for Libmariadb {
    fn drop(&mut self) {
        // SAFETY: not used afterwards; statements before their connection.
        unsafe {
            for statement in [
                &self.load,
                &self.load_locked,
                &self.update,
                &self.update_alone,
                &self.save,
            ] {
                ffi::mysql_stmt_close(statement.0);
            }
            ffi::mysql_close(self.conn);
        }
    }
}
