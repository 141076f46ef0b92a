//! Models that the derive must accept, each in a file of its own as a user would write it, and used.
#![cfg(feature = "sqlite")]

mod composite_key;
mod fields_written_as_another_type;
mod key_and_version_only;
mod nullable_version;
mod soft_delete_by_a_flag;
mod version_named_on_the_struct;
mod what_a_save_leaves_out;
