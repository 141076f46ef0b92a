//! Reads the attributes: `versioned` whole, and of `diesel` what says where a field is written.
//! Decides spelling only (which options there are, each at most once); what they mean together is
//! left to `model`, and every other `diesel` option to Diesel's own derives.

use proc_macro2::TokenTree;
use quote::ToTokens;
use syn::meta::ParseNestedMeta;
use syn::parse::ParseStream;
use syn::punctuated::Punctuated;
use syn::{Attribute, Ident, LitStr, Meta, Path, Result, Token, Type, parenthesized, parse_str};

const ON_A_FIELD: &str = "on a field `#[versioned]` stands alone; options such as `column = ..` \
    and `soft_delete = ..` belong on the struct";
const ON_THE_STRUCT: &str = "on a struct `versioned` needs an option: `#[versioned(column = ..)]` \
    or `#[versioned(soft_delete = ..)]`; without one it belongs on the field that is the version";
const NO_COLUMN_NAME: &str =
    "a column is named by an identifier, as `table!` does, and this is none";

/// All that is wrong with one model, so that the user sees it at once.
#[derive(Default)]
pub(crate) struct Errors(Option<syn::Error>);

impl Errors {
    pub(crate) fn at(&mut self, place: impl ToTokens, sentence: impl std::fmt::Display) {
        self.push(syn::Error::new_spanned(place, sentence));
    }

    pub(crate) fn push(&mut self, error: syn::Error) {
        match &mut self.0 {
            Some(errors) => errors.combine(error),
            None => self.0 = Some(error),
        }
    }

    pub(crate) fn or<T>(self, value: Option<T>) -> Result<T> {
        match (self.0, value) {
            (None, Some(value)) => Ok(value),
            (Some(errors), _) => Err(errors),
            (None, None) => unreachable!("a model is missing only when an error says why"),
        }
    }

    fn set_once<T>(&mut self, slot: &mut Option<T>, option: &Path, value: T) {
        if slot.replace(value).is_some() {
            let name = option.to_token_stream();
            self.at(option, format!("`{name}` is given twice; keep one"));
        }
    }

    fn keep<T>(&mut self, result: Result<T>) {
        if let Err(error) = result {
            self.push(error);
        }
    }
}

/// What stands on the struct. Columns are named, not yet found.
#[derive(Default)]
pub(crate) struct StructAttrs {
    pub(crate) table: Option<Path>,
    pub(crate) key: Option<Vec<Ident>>,
    pub(crate) version: Option<Ident>,
    pub(crate) soft_delete: Option<Ident>,
}

/// What stands on a field; the marks keep their place for messages.
#[derive(Default)]
pub(crate) struct FieldAttrs {
    pub(crate) column: Option<Ident>,
    pub(crate) serialize_as: Option<Type>,
    pub(crate) embed: Option<Path>,
    pub(crate) skip_update: Option<Path>,
    pub(crate) version: Option<Path>,
}

impl StructAttrs {
    pub(crate) fn read(attrs: &[Attribute], errors: &mut Errors) -> Self {
        let mut found = StructAttrs::default();
        for attr in attrs {
            if attr.path().is_ident("diesel") {
                let read = attr.parse_nested_meta(|option| {
                    let name = &option.path;
                    if name.is_ident("table_name") {
                        errors.set_once(&mut found.table, name, option.value()?.parse()?);
                    } else if name.is_ident("primary_key") {
                        errors.set_once(&mut found.key, name, columns(&option)?);
                    } else {
                        skip_value(&option)?;
                    }
                    Ok(())
                });
                errors.keep(read);
            } else if attr.path().is_ident("versioned") {
                if !matches!(attr.meta, Meta::List(_)) {
                    errors.at(attr, ON_THE_STRUCT);
                    continue;
                }
                let read = attr.parse_nested_meta(|option| {
                    let name = &option.path;
                    if name.is_ident("column") {
                        errors.set_once(&mut found.version, name, column(option.value()?)?);
                    } else if name.is_ident("soft_delete") {
                        errors.set_once(&mut found.soft_delete, name, column(option.value()?)?);
                    } else {
                        let given = name.to_token_stream();
                        errors.at(
                            name,
                            format!(
                                "`versioned` has no option `{given}`; the options are \
                                 `column = ..` (the version) and `soft_delete = ..`"
                            ),
                        );
                        skip_value(&option)?;
                    }
                    Ok(())
                });
                errors.keep(read);
            }
        }
        found
    }
}

impl FieldAttrs {
    pub(crate) fn read(attrs: &[Attribute], errors: &mut Errors) -> Self {
        let mut found = FieldAttrs::default();
        for attr in attrs {
            if attr.path().is_ident("diesel") {
                let read = attr.parse_nested_meta(|option| {
                    let name = &option.path;
                    if name.is_ident("column_name") {
                        errors.set_once(&mut found.column, name, column(option.value()?)?);
                    } else if name.is_ident("serialize_as") {
                        errors.set_once(&mut found.serialize_as, name, option.value()?.parse()?);
                    } else if name.is_ident("embed") {
                        errors.set_once(&mut found.embed, name, name.clone());
                    } else if name.is_ident("skip_update") {
                        errors.set_once(&mut found.skip_update, name, name.clone());
                    } else {
                        skip_value(&option)?;
                    }
                    Ok(())
                });
                errors.keep(read);
            } else if attr.path().is_ident("versioned") {
                match &attr.meta {
                    Meta::Path(mark) => errors.set_once(&mut found.version, mark, mark.clone()),
                    _ => errors.at(attr, ON_A_FIELD),
                }
            }
        }
        found
    }
}

/// `name` or `"name"`. A string may be a keyword, as in `column_name = "type"`.
fn column(input: ParseStream) -> Result<Ident> {
    if !input.peek(LitStr) {
        return input.parse();
    }
    let written: LitStr = input.parse()?;
    let name = written.value();
    let mut column = parse_str::<Ident>(&name)
        .or_else(|_| parse_str(&format!("r#{name}")))
        .map_err(|_| syn::Error::new(written.span(), NO_COLUMN_NAME))?;
    column.set_span(written.span());
    Ok(column)
}

fn columns(option: &ParseNestedMeta) -> Result<Vec<Ident>> {
    let list;
    parenthesized!(list in option.input);
    let columns = Punctuated::<Ident, Token![,]>::parse_terminated(&list)?;
    if columns.is_empty() {
        return Err(option.error("`primary_key` names no column"));
    }
    Ok(columns.into_iter().collect())
}

/// Passes over `= value` or `(..)`. The value may be a type or an expression, so a comma ends it
/// only outside `<..>`.
fn skip_value(option: &ParseNestedMeta) -> Result<()> {
    let mut depth = 0_usize;
    while !option.input.is_empty() && (depth > 0 || !option.input.peek(Token![,])) {
        if let TokenTree::Punct(punct) = option.input.parse()? {
            match punct.as_char() {
                '<' => depth += 1,
                '>' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
    }
    Ok(())
}
