//! What the features `serde` and `tracing` add.
#![cfg(all(feature = "sqlite", feature = "r2d2"))]

mod support;

#[cfg(feature = "serde")]
#[test]
fn row_o4_a_conflict_and_a_row_version_travel_as_json() {
    use diesel_occ::prelude::*;
    use serde_json::json;
    use support::*;

    let bed = sqlite_bare();
    let row: RowVersion<Product> = Product::at(42, 7);
    let text = serde_json::to_value(&row).unwrap();
    assert_eq!(text, json!({"key": 42, "version": 7}));
    assert_eq!(
        serde_json::from_value::<RowVersion<Product>>(text).unwrap(),
        row
    );
    let part = Part::at((1, "x".into()), 3);
    let text = serde_json::to_string(&part).unwrap();
    assert_eq!(
        serde_json::from_str::<RowVersion<Part>>(&text).unwrap(),
        part
    );
    assert!(serde_json::from_value::<RowVersion<Product>>(json!({"key": 42})).is_err());
    let Err(diesel_occ::Error::Conflict(conflict)) = bed.connect().touch(Product::at(42, 3)) else {
        panic!()
    };
    assert_eq!(
        serde_json::to_value(&conflict).unwrap(),
        json!({"table": "products", "key": "42", "expected": "3", "actual": "7", "kind": "Modified"})
    );
}

#[cfg(feature = "tracing")]
mod events {
    use crate::support::*;
    use diesel_occ::prelude::*;
    use std::fmt::{Debug, Write};
    use std::sync::{Arc, Mutex};
    use tracing::field::{Field, Visit};
    use tracing::span::{Attributes, Id, Record as Values};
    use tracing::{Event, Metadata, Subscriber};

    /// Writes every event down.
    #[derive(Clone, Default)]
    struct Notes(Arc<Mutex<Vec<String>>>);

    struct Line(String);

    impl Visit for Line {
        fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
            write!(self.0, " {}={value:?}", field.name()).unwrap();
        }
    }

    impl Subscriber for Notes {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            metadata.target().starts_with("diesel_occ")
        }
        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }
        fn record(&self, _: &Id, _: &Values<'_>) {}
        fn record_follows_from(&self, _: &Id, _: &Id) {}
        fn event(&self, event: &Event<'_>) {
            let mut line = Line(event.metadata().level().to_string());
            event.record(&mut line);
            self.0.lock().unwrap().push(line.0);
        }
        fn enter(&self, _: &Id) {}
        fn exit(&self, _: &Id) {}
    }

    #[test]
    fn row_r2_conflicts_retries_and_the_end_are_events_without_values() {
        let bed = sqlite_bare();
        let notes = Notes::default();
        tracing::subscriber::with_default(notes.clone(), || {
            let policy = Retry::default().attempts(2).timer(FakeTimer::new(1.0));
            bed.connect()
                .transact(&policy, |tx| tx.touch(Product::at(42, 1)))
                .unwrap_err();
        });
        let notes = notes.0.lock().unwrap();
        assert_eq!(notes.len(), 4, "{notes:?}");
        assert!(
            notes[0].starts_with("DEBUG")
                && notes[0].contains("products")
                && notes[0].contains("actual=\"7\""),
            "{notes:?}"
        );
        assert!(
            notes[1].starts_with("DEBUG")
                && notes[1].contains("attempts=1")
                && notes[1].contains("a lost race"),
            "{notes:?}"
        );
        assert!(
            notes[3].starts_with("WARN") && notes[3].contains("attempts=2"),
            "{notes:?}"
        );
        assert!(!notes.concat().contains("secret"));
    }
}
