//! The C interface of SQLite, as thin as it goes: what a program that calls it by hand would do. What cannot fail in a
//! benchmark panics.

use libsqlite3_sys as ffi;
use std::ffi::{CStr, CString, c_int};
use std::ptr;

/// A connection of its own. It closes only after its statements: declare it behind them.
pub struct Database(*mut ffi::sqlite3);

/// A statement that is prepared once and kept.
pub struct Statement {
    db: *mut ffi::sqlite3,
    pub stmt: *mut ffi::sqlite3_stmt,
}

fn message(db: *mut ffi::sqlite3) -> String {
    // SAFETY: the handle is open, and the text is copied before anything else is called on it.
    unsafe { CStr::from_ptr(ffi::sqlite3_errmsg(db)) }
        .to_string_lossy()
        .into_owned()
}

impl Database {
    pub fn open(path: &str) -> Self {
        let path = CString::new(path).expect("a path without NUL");
        let mut db = ptr::null_mut();
        // SAFETY: the path ends in NUL, and SQLite fills in the handle.
        let code = unsafe { ffi::sqlite3_open(path.as_ptr(), &mut db) };
        assert_eq!(code, ffi::SQLITE_OK, "{}", message(db));
        Database(db)
    }

    pub fn batch(&self, sql: &str) {
        let text = CString::new(sql).expect("SQL without NUL");
        // SAFETY: the handle is open, the text ends in NUL, and nobody is called back.
        let code = unsafe {
            ffi::sqlite3_exec(
                self.0,
                text.as_ptr(),
                None,
                ptr::null_mut(),
                ptr::null_mut(),
            )
        };
        assert_eq!(code, ffi::SQLITE_OK, "{sql}: {}", message(self.0));
    }

    pub fn prepare(&self, sql: &str) -> Statement {
        let text = CString::new(sql).expect("SQL without NUL");
        let mut stmt = ptr::null_mut();
        // SAFETY: as above; -1 means up to the NUL.
        let code = unsafe {
            ffi::sqlite3_prepare_v2(self.0, text.as_ptr(), -1, &mut stmt, ptr::null_mut())
        };
        assert_eq!(code, ffi::SQLITE_OK, "{sql}: {}", message(self.0));
        Statement { db: self.0, stmt }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // SAFETY: not used afterwards.
        unsafe { ffi::sqlite3_close(self.0) };
    }
}

impl Statement {
    pub fn bind(&mut self, at: c_int, value: i64) {
        // SAFETY: the statement is alive and was reset.
        let code = unsafe { ffi::sqlite3_bind_int64(self.stmt, at, value) };
        debug_assert_eq!(code, ffi::SQLITE_OK);
    }

    /// Steps, and answers SQLite's code.
    pub fn step(&mut self) -> c_int {
        // SAFETY: the statement is alive.
        unsafe { ffi::sqlite3_step(self.stmt) }
    }

    pub fn reset(&mut self) {
        // SAFETY: the statement is alive.
        unsafe { ffi::sqlite3_reset(self.stmt) };
    }

    /// Runs a statement that answers no rows; how many it hit, or SQLite's code.
    pub fn execute(&mut self) -> Result<c_int, c_int> {
        let code = self.step();
        // SAFETY: the handle outlives its statements.
        let rows = unsafe { ffi::sqlite3_changes(self.db) };
        self.reset();
        if code == ffi::SQLITE_DONE {
            Ok(rows)
        } else {
            Err(code)
        }
    }

    pub fn integer(&self, at: c_int) -> i64 {
        // SAFETY: the caller has stepped to a row.
        unsafe { ffi::sqlite3_column_int64(self.stmt, at) }
    }
}

impl Drop for Statement {
    fn drop(&mut self) {
        // SAFETY: not used afterwards.
        unsafe { ffi::sqlite3_finalize(self.stmt) };
    }
}

pub fn version() -> String {
    // SAFETY: a constant text.
    unsafe { CStr::from_ptr(ffi::sqlite3_libversion()) }
        .to_string_lossy()
        .into_owned()
}
