//! Finds the fields that have a role: the key, the version, the mark of a soft delete. Decides
//! what is refused about them and in which words.

use proc_macro2::Span;
use syn::Ident;
use syn::ext::IdentExt;

use crate::attr::Errors;
use crate::field_type::{self, DeletedWhen, written};
use crate::model::Field;

/// The fields of one model, among which roles are given.
pub(crate) struct Roles<'f, 'a> {
    pub(crate) model: &'f Ident,
    pub(crate) fields: &'f [Field<'a>],
}

impl Roles<'_, '_> {
    fn column(&self, column: &Ident) -> Option<usize> {
        self.fields
            .iter()
            .position(|field| same(&field.column, column))
    }

    /// An embedded struct may hold what is missing here, and is refused anyway.
    fn missing(&self, errors: &mut Errors, place: &Ident, sentence: String) {
        if !self.fields.iter().any(|field| field.embed) {
            errors.at(place, sentence);
        }
    }

    pub(crate) fn key(&self, columns: &[Ident], errors: &mut Errors) -> Vec<usize> {
        let mut key = Vec::new();
        for column in columns {
            match self.column(column) {
                Some(place) if key.contains(&place) => {
                    errors.at(column, "this primary key column is named twice; keep one");
                }
                Some(place) => key.push(place),
                None => {
                    let sentence = format!(
                        "`{}` has no field for `{}`: the model needs a field for every primary \
                         key column; without `#[diesel(primary_key(..))]` the key is `id`",
                        self.model,
                        column.unraw()
                    );
                    self.missing(errors, column, sentence);
                }
            }
        }
        key
    }

    pub(crate) fn version(&self, named: Option<Ident>, errors: &mut Errors) -> Option<usize> {
        let mut marked = (0..self.fields.len()).filter(|place| self.fields[*place].marked);
        let first = marked.next();
        for again in marked {
            errors.at(
                self.fields[again].name,
                "a second version: only one field can be `#[versioned]`",
            );
        }
        let Some(column) = named else {
            let place = first.or_else(|| self.column(&Ident::new("version", Span::call_site())));
            if place.is_none() {
                let model = self.model;
                let sentence = format!(
                    "`{model}` has no version: name a field `version`, mark one with \
                     `#[versioned]`, or name its column with `#[versioned(column = ..)]`"
                );
                self.missing(errors, model, sentence);
            }
            return place;
        };
        let place = self.column(&column);
        match (place, first) {
            (None, _) => {
                let sentence = format!(
                    "the version `{}` is no column of `{}`: none of its fields has this name or \
                     this `column_name`",
                    column.unraw(),
                    self.model
                );
                self.missing(errors, &column, sentence);
            }
            (Some(place), Some(first)) if place != first => errors.at(
                self.fields[first].name,
                format!(
                    "a second version: `#[versioned(column = {column})]` on the struct names \
                     another field"
                ),
            ),
            _ => {}
        }
        place
    }

    pub(crate) fn check_version(&self, version: usize, key: &[usize], errors: &mut Errors) {
        let field = &self.fields[version];
        if field.embed {
            return;
        }
        if key.contains(&version) {
            errors.at(
                field.name,
                "the version cannot be part of the primary key: every write changes it, and the \
                 row would no longer be found",
            );
        }
        if let Some(ty) = &field.serialize_as {
            errors.at(
                ty,
                "the version cannot be written through `serialize_as`: the database counts it; \
                 give the field the type that its column has",
            );
        } else if let Some(sentence) = field_type::refusal(field.ty) {
            errors.at(field.ty, sentence);
        }
    }

    pub(crate) fn soft_delete(
        &self,
        column: &Ident,
        version: Option<usize>,
        key: &[usize],
        errors: &mut Errors,
    ) -> Option<(usize, DeletedWhen)> {
        let shown = column.unraw();
        let Some(place) = self.column(column) else {
            let sentence = format!(
                "the soft delete `{shown}` is no column of `{}`: none of its fields has this name \
                 or this `column_name`",
                self.model
            );
            self.missing(errors, column, sentence);
            return None;
        };
        if Some(place) == version || key.contains(&place) {
            errors.at(
                column,
                format!("`{shown}` cannot mark a deleted row: it is the version or a key column"),
            );
            return None;
        }
        let ty = self.fields[place].ty;
        let when = DeletedWhen::of(ty);
        if when.is_none() {
            errors.at(
                ty,
                format!(
                    "`{}` cannot mark a deleted row: use an `Option` that is not `None` once the \
                     row is deleted, such as `Option<NaiveDateTime>`, or a `bool`",
                    written(ty)
                ),
            );
        }
        when.map(|when| (place, when))
    }
}

/// Whether two names are one column: `r#type` is `type`.
pub(crate) fn same(one: &Ident, other: &Ident) -> bool {
    one.unraw() == other.unraw()
}
