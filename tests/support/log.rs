//! What a connection sends, counted outside the code under test by Diesel's instrumentation.

use diesel::connection::{Instrumentation, InstrumentationEvent};
use std::sync::{Arc, Mutex};

#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Seen>>);

#[derive(Default)]
struct Seen {
    statements: Vec<String>,
    prepared: usize,
}

impl Instrumentation for Log {
    fn on_connection_event(&mut self, event: InstrumentationEvent<'_>) {
        let mut seen = self.0.lock().unwrap();
        match event {
            InstrumentationEvent::StartQuery { query, .. } => {
                seen.statements.push(alike(&query.to_string()))
            }
            InstrumentationEvent::CacheQuery { .. } => seen.prepared += 1,
            _ => {}
        }
    }
}

/// The statement as every server writes it: names in backticks, binds as question marks.
pub fn alike(sql: &str) -> String {
    let (sql, binds) = sql.split_once(" -- binds:").unwrap_or((sql, ""));
    let mut text = String::new();
    let sql = sql.replace('"', "`");
    let mut chars = sql.chars().peekable();
    while let Some(c) = chars.next() {
        let bind = c == '$' && chars.peek().is_some_and(char::is_ascii_digit);
        while bind && chars.next_if(char::is_ascii_digit).is_some() {}
        text.push(if bind { '?' } else { c });
    }
    match binds {
        "" => text,
        binds => format!("{text} -- binds:{binds}"),
    }
}

impl Log {
    /// The log of this connection, from here on.
    pub fn on(conn: &mut impl diesel::Connection) -> Log {
        let log = Log::default();
        conn.set_instrumentation(log.clone());
        log
    }

    /// The statements sent since the last look.
    pub fn statements(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap().statements)
    }

    /// How many statements were prepared anew since the last look.
    pub fn prepared(&self) -> usize {
        std::mem::take(&mut self.0.lock().unwrap().prepared)
    }
}
