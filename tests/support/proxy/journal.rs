//! What passed through the proxy, in order, until someone looks.

use super::wire::Request;
use std::sync::Mutex;

enum Event {
    Message(&'static str),
    Statement(String),
    RoundTrip,
}

#[derive(Default)]
pub struct Journal(Mutex<Vec<(usize, Event)>>);

/// Whose events: one connection's by its number, or everyone's.
pub type Whose = Option<usize>;

impl Journal {
    pub fn passes(&self, connection: usize, request: &Request) {
        let mut events = self.0.lock().unwrap();
        let messages = request.messages.iter().copied().map(Event::Message);
        let statements = request.statements.iter().cloned().map(Event::Statement);
        events.extend(messages.chain(statements).map(|event| (connection, event)));
    }

    pub fn round_trip(&self, connection: usize) {
        self.0.lock().unwrap().push((connection, Event::RoundTrip));
    }

    pub fn forget(&self) {
        self.0.lock().unwrap().clear();
    }

    pub fn messages(&self, whose: Whose) -> Vec<&'static str> {
        self.take(whose, |event| match event {
            Event::Message(name) => Ok(name),
            other => Err(other),
        })
    }

    pub fn statements(&self, whose: Whose) -> Vec<String> {
        self.take(whose, |event| match event {
            Event::Statement(text) => Ok(text),
            other => Err(other),
        })
    }

    pub fn round_trips(&self, whose: Whose) -> usize {
        self.take(whose, |event| match event {
            Event::RoundTrip => Ok(()),
            other => Err(other),
        })
        .len()
    }

    fn take<T>(&self, whose: Whose, wanted: impl Fn(Event) -> Result<T, Event>) -> Vec<T> {
        let mut events = self.0.lock().unwrap();
        let mut taken = Vec::new();
        for (connection, event) in std::mem::take(&mut *events) {
            if whose.is_some_and(|number| number != connection) {
                events.push((connection, event));
                continue;
            }
            match wanted(event) {
                Ok(found) => taken.push(found),
                Err(event) => events.push((connection, event)),
            }
        }
        taken
    }
}
