//! A copy of a server's error, to be told as the first one when the original is long gone.

use diesel::result::{DatabaseErrorInformation, Error as DieselError};

/// Diesel's errors cannot be cloned, and the original belongs to who sent the statement.
pub(super) fn copy(error: &DieselError) -> DieselError {
    match error {
        DieselError::DatabaseError(kind, information) => {
            DieselError::DatabaseError(*kind, Box::new(Information::of(&**information)))
        }
        _ => DieselError::BrokenTransactionManager,
    }
}

/// What a server said about a failure.
struct Information {
    message: String,
    details: Option<String>,
    hint: Option<String>,
    table_name: Option<String>,
    column_name: Option<String>,
    constraint_name: Option<String>,
    statement_position: Option<i32>,
}

impl Information {
    fn of(information: &dyn DatabaseErrorInformation) -> Self {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        Information {
            message: information.message().to_owned(),
            details: owned(information.details()),
            hint: owned(information.hint()),
            table_name: owned(information.table_name()),
            column_name: owned(information.column_name()),
            constraint_name: owned(information.constraint_name()),
            statement_position: information.statement_position(),
        }
    }
}

impl DatabaseErrorInformation for Information {
    fn message(&self) -> &str {
        &self.message
    }
    fn details(&self) -> Option<&str> {
        self.details.as_deref()
    }
    fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
    fn table_name(&self) -> Option<&str> {
        self.table_name.as_deref()
    }
    fn column_name(&self) -> Option<&str> {
        self.column_name.as_deref()
    }
    fn constraint_name(&self) -> Option<&str> {
        self.constraint_name.as_deref()
    }
    fn statement_position(&self) -> Option<i32> {
        self.statement_position
    }
}
