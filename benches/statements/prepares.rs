//! Counting what SQLite compiles. Diesel tells of a statement that it puts into its cache, but not of one that it prepares
//! and drops; SQLite's own compiler asks the authorizer either way.

use diesel::connection::{Instrumentation, InstrumentationEvent};
use libsqlite3_sys as ffi;
use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Whether the compiler ran since somebody last looked. One thread counts at a time.
static COMPILED: AtomicBool = AtomicBool::new(false);

unsafe extern "C" fn note(
    _: *mut c_void,
    _: c_int,
    _: *const c_char,
    _: *const c_char,
    _: *const c_char,
    _: *const c_char,
) -> c_int {
    COMPILED.store(true, Ordering::Relaxed);
    ffi::SQLITE_OK
}

unsafe extern "C" fn watch(
    db: *mut ffi::sqlite3,
    _: *mut *mut c_char,
    _: *const ffi::sqlite3_api_routines,
) -> c_int {
    // SAFETY: SQLite calls this with a connection that it has just opened.
    unsafe { ffi::sqlite3_set_authorizer(db, Some(note), std::ptr::null_mut()) }
}

/// Watches the connections that `open` opens.
pub fn watched<T>(open: impl FnOnce() -> T) -> T {
    // SAFETY: a static function, taken away again before anything else is opened.
    unsafe { ffi::sqlite3_auto_extension(Some(watch)) };
    let opened = open();
    // SAFETY: as above.
    unsafe { ffi::sqlite3_cancel_auto_extension(Some(watch)) };
    opened
}

/// Queries of a connection, and how many of them were prepared for it.
#[derive(Clone, Default)]
pub struct Count {
    queries: Arc<AtomicUsize>,
    prepares: Arc<AtomicUsize>,
}

impl Count {
    pub fn queries(&self) -> usize {
        self.queries.load(Ordering::Relaxed)
    }

    pub fn prepares(&self) -> usize {
        self.prepares.load(Ordering::Relaxed)
    }
}

impl Instrumentation for Count {
    fn on_connection_event(&mut self, event: InstrumentationEvent<'_>) {
        match event {
            InstrumentationEvent::StartQuery { .. } => COMPILED.store(false, Ordering::Relaxed),
            InstrumentationEvent::FinishQuery { .. } => {
                self.queries.fetch_add(1, Ordering::Relaxed);
                if COMPILED.swap(false, Ordering::Relaxed) {
                    self.prepares.fetch_add(1, Ordering::Relaxed);
                }
            }
            _ => {}
        }
    }
}
