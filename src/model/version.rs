//! The types that can be a version: a counter that a server adds one to.

/// A version: `i16`, `i32`, `i64`, or an `Option` of one for rows that have none yet.
///
/// `None` is a state of its own, which the first checked write ends by making the version 1. The largest number of the type
/// has no successor: a write at it is [`Error::VersionOverflow`](crate::Error::VersionOverflow).
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the version of a row",
    label = "not a counter",
    note = "a version is an `i16`, `i32` or `i64` that every write moves by one, or an `Option` of one for legacy rows",
    note = "a timestamp loses updates: two writes in one tick carry the same stamp"
)]
pub trait VersionValue:
    Clone + PartialEq + std::fmt::Debug + Send + sealed::Sealed + 'static
{
    /// Whether a row may have no version yet.
    #[doc(hidden)]
    const NULLABLE: bool;

    /// The largest version, as SQL.
    #[doc(hidden)]
    const MAX: &'static str;

    /// Whether this row has no version yet.
    #[doc(hidden)]
    fn is_null(&self) -> bool;

    /// The version after this one; `None` after the largest.
    ///
    /// ```
    /// use diesel_occ::VersionValue;
    ///
    /// assert_eq!(7_i64.next(), Some(8));
    /// assert_eq!(None::<i16>.next(), Some(Some(1)));
    /// assert_eq!(i32::MAX.next(), None);
    /// ```
    fn next(&self) -> Option<Self>;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! counters {
    ($($counter:ty = $max:literal),+) => {$(
        impl sealed::Sealed for $counter {}
        impl sealed::Sealed for Option<$counter> {}

        impl VersionValue for $counter {
            const NULLABLE: bool = false;
            const MAX: &'static str = $max;

            fn is_null(&self) -> bool {
                false
            }

            fn next(&self) -> Option<Self> {
                self.checked_add(1)
            }
        }

        impl VersionValue for Option<$counter> {
            const NULLABLE: bool = true;
            const MAX: &'static str = $max;

            fn is_null(&self) -> bool {
                self.is_none()
            }

            fn next(&self) -> Option<Self> {
                self.unwrap_or(0).checked_add(1).map(Some)
            }
        }
    )+};
}

counters!(
    i16 = "32767",
    i32 = "2147483647",
    i64 = "9223372036854775807"
);

#[cfg(test)]
mod tests {
    use super::VersionValue;

    #[test]
    fn the_sql_literal_is_the_largest_number_of_the_type() {
        assert_eq!(i16::MAX.to_string(), <i16 as VersionValue>::MAX);
        assert_eq!(i32::MAX.to_string(), <Option<i32> as VersionValue>::MAX);
        assert_eq!(i64::MAX.to_string(), <i64 as VersionValue>::MAX);
    }
}
