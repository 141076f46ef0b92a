//! Texts through the C interface, bound and read as Diesel does: not copied on the way in, checked and copied on the way
//! out.

use crate::c::Statement;
use libsqlite3_sys as ffi;
use std::ffi::c_int;

impl Statement {
    /// Binds a text and, by `bind`, the rest; runs the statement while the text is there.
    pub fn execute_with_text(
        &mut self,
        at: c_int,
        text: &str,
        bind: impl FnOnce(&mut Self),
    ) -> Result<c_int, c_int> {
        let length = c_int::try_from(text.len()).expect("a short text");
        let start = text.as_ptr().cast();
        // SAFETY: the statement is alive and was reset, and it is run before the text can go.
        let code =
            unsafe { ffi::sqlite3_bind_text(self.stmt, at, start, length, ffi::SQLITE_STATIC()) };
        debug_assert_eq!(code, ffi::SQLITE_OK);
        bind(self);
        self.execute()
    }

    pub fn text(&self, at: c_int) -> String {
        // SAFETY: the caller has stepped to a row, and the column is not NULL; the bytes are copied before the next step.
        let bytes = unsafe {
            let start = ffi::sqlite3_column_text(self.stmt, at);
            let length = ffi::sqlite3_column_bytes(self.stmt, at);
            std::slice::from_raw_parts(start, usize::try_from(length).expect("a length"))
        };
        std::str::from_utf8(bytes).expect("UTF-8").to_owned()
    }
}
