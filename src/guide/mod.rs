//! The guide: one page a task, for five minutes each. Every example is compiled and run, those of a
//! server on that server.
//! The reference is at [`VersionedConnection`](crate::VersionedConnection); a page says which of it to use, and why.

#[doc = include_str!("the_lost_update.md")]
pub mod the_lost_update {}

#[doc = include_str!("optimistic.md")]
pub mod optimistic {}

#[doc = include_str!("pessimistic.md")]
pub mod pessimistic {}

#[doc = include_str!("optimistic_or_pessimistic.md")]
pub mod optimistic_or_pessimistic {}

#[doc = include_str!("what_a_conflict_means.md")]
pub mod what_a_conflict_means {}

#[doc = include_str!("adopting.md")]
pub mod adopting {}

#[doc = include_str!("the_smallest_critical_section.md")]
pub mod the_smallest_critical_section {}

#[cfg(feature = "sqlite")]
#[doc = include_str!("sqlite.md")]
pub mod sqlite {}

#[cfg(feature = "postgres")]
#[doc = include_str!("postgres.md")]
pub mod postgres {}

#[cfg(feature = "mysql")]
#[doc = include_str!("mysql.md")]
pub mod mysql {}
