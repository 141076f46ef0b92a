//! Checks a model as a whole: that it is a struct with named fields, of which table it is a row,
//! and that each field is one column. Which fields are key, version and soft delete is left to
//! `role`, what is written from them to `expand`.

use syn::ext::IdentExt;
use syn::{Data, DeriveInput, Fields, FieldsNamed, Generics, Ident, Path, Result, Type};

use crate::attr::{Errors, FieldAttrs, StructAttrs};
use crate::field_type::DeletedWhen;
use crate::role::{Roles, same};

/// A model without faults; fields are meant by their place.
pub(crate) struct Model<'a> {
    pub(crate) name: &'a Ident,
    pub(crate) generics: &'a Generics,
    pub(crate) table: Path,
    pub(crate) fields: Vec<Field<'a>>,
    pub(crate) key: Vec<usize>,
    /// The same columns where the user named them, for messages.
    pub(crate) key_columns: Vec<Ident>,
    pub(crate) version: usize,
    pub(crate) soft_delete: Option<(usize, DeletedWhen)>,
}

pub(crate) struct Field<'a> {
    pub(crate) name: &'a Ident,
    pub(crate) column: Ident,
    pub(crate) ty: &'a Type,
    pub(crate) serialize_as: Option<Type>,
    pub(crate) skip_update: bool,
    pub(crate) embed: bool,
    pub(crate) marked: bool,
}

impl<'a> Model<'a> {
    pub(crate) fn check(input: &'a DeriveInput) -> Result<Self> {
        let mut errors = Errors::default();
        let options = StructAttrs::read(&input.attrs, &mut errors);
        let Some(named) = named_fields(input, &mut errors) else {
            return errors.or(None);
        };
        let fields = read_fields(named, &mut errors);
        let roles = Roles {
            model: &input.ident,
            fields: &fields,
        };
        let key_columns = options
            .key
            .unwrap_or_else(|| vec![Ident::new("id", input.ident.span())]);
        let key = roles.key(&key_columns, &mut errors);
        let version = roles.version(options.version, &mut errors);
        if let Some(version) = version {
            roles.check_version(version, &key, &mut errors);
        }
        let soft_delete = options
            .soft_delete
            .and_then(|column| roles.soft_delete(&column, version, &key, &mut errors));
        let table = options
            .table
            .unwrap_or_else(|| inferred_table(&input.ident));
        let model = version.map(|version| Model {
            name: &input.ident,
            generics: &input.generics,
            table,
            fields,
            key,
            key_columns,
            version,
            soft_delete,
        });
        errors.or(model)
    }

    /// What a save writes. Neither the soft-delete mark, so that no save deletes or brings back
    /// a row, nor the version, which the database counts.
    pub(crate) fn changed(&self) -> impl Iterator<Item = &Field<'a>> {
        self.fields.iter().enumerate().filter_map(|(place, field)| {
            let kept = field.skip_update
                || place == self.version
                || self.key.contains(&place)
                || self.soft_delete.is_some_and(|(mark, _)| mark == place);
            (!kept).then_some(field)
        })
    }
}

fn named_fields<'a>(input: &'a DeriveInput, errors: &mut Errors) -> Option<&'a FieldsNamed> {
    const NAMED: &str = "`Versioned` needs a struct with named fields, one for each column";
    match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(named) => return Some(named),
            Fields::Unnamed(fields) => errors.at(fields, NAMED),
            Fields::Unit => errors.at(&input.ident, NAMED),
        },
        Data::Enum(data) => errors.at(data.enum_token, NAMED),
        Data::Union(data) => errors.at(data.union_token, NAMED),
    }
    None
}

fn read_fields<'a>(named: &'a FieldsNamed, errors: &mut Errors) -> Vec<Field<'a>> {
    let mut fields: Vec<Field<'a>> = Vec::new();
    for field in &named.named {
        let Some(name) = &field.ident else { continue };
        let attrs = FieldAttrs::read(&field.attrs, errors);
        let column = attrs.column.unwrap_or_else(|| name.clone());
        if let Some(embed) = &attrs.embed {
            errors.at(
                embed,
                "`embed` hides columns from `Versioned`, so that a save would not write them; list \
                 the fields of the embedded struct here, or leave it out of this model and write \
                 its columns with `versioned_update`",
            );
        } else if fields
            .iter()
            .any(|other| !other.embed && same(&other.column, &column))
        {
            let shown = column.unraw();
            errors.at(
                &column,
                format!("two fields have the column `{shown}`; keep one"),
            );
        }
        fields.push(Field {
            name,
            column,
            ty: &field.ty,
            serialize_as: attrs.serialize_as,
            skip_update: attrs.skip_update.is_some(),
            embed: attrs.embed.is_some(),
            marked: attrs.version.is_some(),
        });
    }
    fields
}

/// The table that Diesel's derives mean when none is named: snake case, and an `s`.
fn inferred_table(model: &Ident) -> Path {
    let mut name = String::new();
    for letter in model.unraw().to_string().chars() {
        if letter.is_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.extend(letter.to_lowercase());
    }
    name.push('s');
    Ident::new(&name, model.span()).into()
}
