//! PostgreSQL's own client library. Values go both ways in the binary format, as Diesel sends them.

use crate::floor::{Floor, Texts};
use crate::product::Product;
use pq_sys as ffi;
use std::ffi::{CStr, CString, c_char, c_int};
use std::ptr;

pub struct Libpq(*mut ffi::PGconn);

const LOAD: &CStr = c"load";
const LOAD_LOCKED: &CStr = c"load_locked";
const UPDATE: &CStr = c"update";
const UPDATE_ALONE: &CStr = c"update_alone";
const SAVE: &CStr = c"save";

/// An answer, cleared when it is dropped.
struct Answer(*mut ffi::PGresult);

impl Answer {
    fn is_ok(&self) -> bool {
        // SAFETY: the result is alive.
        let status = unsafe { ffi::PQresultStatus(self.0) };
        matches!(
            status,
            ffi::ExecStatusType::PGRES_COMMAND_OK | ffi::ExecStatusType::PGRES_TUPLES_OK
        )
    }

    fn rows(&self) -> u64 {
        // SAFETY: the result is alive and the text ends in NUL.
        let rows = unsafe { CStr::from_ptr(ffi::PQcmdTuples(self.0)) };
        rows.to_str().expect("digits").parse().expect("a number")
    }

    /// The bytes of a column of the one row.
    fn bytes(&self, column: c_int) -> &[u8] {
        // SAFETY: the result is alive and has a row; the bytes live as long as it.
        unsafe {
            let start: *const u8 = ffi::PQgetvalue(self.0, 0, column).cast();
            let length = usize::try_from(ffi::PQgetlength(self.0, 0, column)).expect("a length");
            std::slice::from_raw_parts(start, length)
        }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        // SAFETY: not used afterwards.
        unsafe { ffi::PQclear(self.0) };
    }
}

impl Libpq {
    fn message(&self) -> String {
        // SAFETY: the handle is open, and the text is copied before anything else is called on it.
        unsafe { CStr::from_ptr(ffi::PQerrorMessage(self.0)) }
            .to_string_lossy()
            .into_owned()
    }

    fn prepare(&mut self, name: &CStr, sql: &str) {
        let text = CString::new(sql).expect("SQL without NUL");
        // SAFETY: both texts end in NUL; the server finds out the types.
        let answer =
            Answer(unsafe { ffi::PQprepare(self.0, name.as_ptr(), text.as_ptr(), 0, ptr::null()) });
        assert!(answer.is_ok(), "{sql}: {}", self.message());
    }

    fn run<const N: usize>(&mut self, name: &CStr, values: [&[u8]; N]) -> Answer {
        let starts: [*const c_char; N] = values.map(|value| value.as_ptr().cast());
        let lengths: [c_int; N] = values.map(|value| c_int::try_from(value.len()).expect("short"));
        // SAFETY: as many values, lengths and formats as are said, all alive during the call.
        Answer(unsafe {
            ffi::PQexecPrepared(
                self.0,
                name.as_ptr(),
                c_int::try_from(N).expect("few"),
                starts.as_ptr(),
                lengths.as_ptr(),
                [1; N].as_ptr(),
                1,
            )
        })
    }

    fn read(&mut self, name: &CStr, id: i64) -> Product {
        let answer = self.run(name, [&id.to_be_bytes()]);
        assert!(answer.is_ok(), "{}", self.message());
        let name = std::str::from_utf8(answer.bytes(1)).expect("UTF-8");
        Product {
            id: i64::from_be_bytes(integer(answer.bytes(0))),
            name: name.to_owned(),
            stock: i32::from_be_bytes(integer(answer.bytes(2))),
            version: i64::from_be_bytes(integer(answer.bytes(3))),
        }
    }

    fn count(&mut self, answer: &Answer) -> Option<u64> {
        if answer.is_ok() {
            return Some(answer.rows());
        }
        let message = self.message();
        let lost = message.contains("serialize") || message.contains("deadlock");
        assert!(lost, "{message}");
        None
    }
}

fn stock(stock: i64) -> [u8; 4] {
    i32::try_from(stock).expect("a stock").to_be_bytes()
}

fn integer<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("an integer of that size")
}

impl Floor for Libpq {
    fn connect(url: &str) -> Self {
        let url = CString::new(url).expect("a URL without NUL");
        // SAFETY: the text ends in NUL.
        let conn = Libpq(unsafe { ffi::PQconnectdb(url.as_ptr()) });
        // SAFETY: the handle is there, whatever came of the connection.
        let status = unsafe { ffi::PQstatus(conn.0) };
        assert!(
            matches!(status, ffi::ConnStatusType::CONNECTION_OK),
            "{}",
            conn.message()
        );
        let texts = Texts::new(|number| format!("${number}"), "FOR NO KEY UPDATE");
        let mut conn = conn;
        for (name, sql) in [
            (LOAD, &texts.load),
            (LOAD_LOCKED, &texts.load_locked),
            (UPDATE, &texts.update),
            (UPDATE_ALONE, &texts.update_alone),
            (SAVE, &texts.save),
        ] {
            conn.prepare(name, sql);
        }
        conn
    }

    fn batch(&mut self, sql: &str) {
        let text = CString::new(sql).expect("SQL without NUL");
        // SAFETY: the text ends in NUL.
        let answer = Answer(unsafe { ffi::PQexec(self.0, text.as_ptr()) });
        assert!(answer.is_ok(), "{sql}: {}", self.message());
    }

    fn load(&mut self, id: i64) -> Product {
        self.read(LOAD, id)
    }

    fn load_locked(&mut self, id: i64) -> Product {
        self.read(LOAD_LOCKED, id)
    }

    fn update(&mut self, new: i64, id: i64, version: i64) -> Option<u64> {
        let (id, version) = (id.to_be_bytes(), version.to_be_bytes());
        let answer = self.run(UPDATE, [&stock(new), &id, &version]);
        self.count(&answer)
    }

    fn update_alone(&mut self, new: i64, id: i64, version: i64) -> Option<u64> {
        let (id, version) = (id.to_be_bytes(), version.to_be_bytes());
        let answer = self.run(UPDATE_ALONE, [&stock(new), &id, &version, &id, &version]);
        self.count(&answer)
    }

    fn save(&mut self, row: &Product) -> Option<u64> {
        let (id, version) = (row.id.to_be_bytes(), row.version.to_be_bytes());
        let values: [&[u8]; 4] = [row.name.as_bytes(), &stock(row.stock.into()), &id, &version];
        let answer = self.run(SAVE, values);
        self.count(&answer)
    }
}

impl Drop for Libpq {
    fn drop(&mut self) {
        // SAFETY: not used afterwards.
        unsafe { ffi::PQfinish(self.0) };
    }
}
