//! The derive macro of `diesel_occ`: from a struct and its attributes to `impl Versioned`.
//! This crate decides what a model may look like; what is done with one is decided in `diesel_occ`.
//! Depend on `diesel_occ`, which exports the derive beside the trait.
#![deny(missing_docs)]

mod attr;
mod expand;
mod field_type;
mod model;
mod role;
#[cfg(test)]
mod tests;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Implements `diesel_occ::Versioned` for a struct that holds one row of one table.
///
/// The full documentation is at `diesel_occ::Versioned`; this is the list of attributes.
///
/// ```text
/// use diesel_occ::prelude::*;
///
/// #[derive(Clone, Queryable, Versioned)]
/// #[diesel(table_name = products)]
/// struct Product {
///     id: i64,
///     name: String,
///     #[versioned]
///     lock_version: i64,
/// }
/// ```
///
/// # The version
///
/// One field is the version: the one marked `#[versioned]`, or the one whose column is named by
/// `#[versioned(column = lock_version)]` on the struct, or else the one whose column is `version`.
/// Its type is `i16`, `i32` or `i64`, an `Option` of one, or another name for one of these.
///
/// # Options on the struct
///
/// | attribute | effect | default |
/// |---|---|---|
/// | `#[versioned(column = c)]` | column `c` is the version | the field marked `#[versioned]` |
/// | `#[versioned(soft_delete = c)]` | a row is deleted when `c` is set: an `Option` field that is not `None`, or a `bool` that is true; a save never writes `c` | rows are deleted for good |
/// | `#[diesel(table_name = path)]` | the table | the name of the struct in snake case, and an `s` |
/// | `#[diesel(primary_key(a, b))]` | the key, with the columns that `table!` lists as the primary key and in that order; several make a tuple | `id` |
///
/// # Options on a field
///
/// | attribute | effect | default |
/// |---|---|---|
/// | `#[versioned]` | this field is the version | the field whose column is `version` |
/// | `#[diesel(column_name = c)]` | the column of this field | the name of the field |
/// | `#[diesel(skip_update)]` | a save does not write this field | a save writes every field but key and version |
/// | `#[diesel(serialize_as = T)]` | the value is written as `T::from(field.clone())` | it is written as it is |
/// | `#[diesel(embed)]` | refused: the columns of the embedded struct cannot be seen from here | |
///
/// Everything else in `#[diesel(..)]` is left to Diesel's own derives. A `None` is written as NULL
/// whatever `treat_none_as_null` says: a save writes the whole row.
#[proc_macro_derive(Versioned, attributes(versioned, diesel))]
pub fn derive_versioned(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    versioned(&input).into()
}

fn versioned(input: &DeriveInput) -> proc_macro2::TokenStream {
    match model::Model::check(input) {
        Ok(model) => expand::accepted(&model),
        Err(errors) => expand::refused(input, errors),
    }
}
