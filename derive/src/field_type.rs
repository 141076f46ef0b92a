//! Judges the type of a field by how it is spelled, which is all that a derive can see of it.
//! Decides which well-known types cannot be a version and why, and what kind of mark a soft
//! delete is; any name it does not know is left to the trait bounds in `diesel_occ`.

use quote::ToTokens;
use syn::{GenericArgument, Path, PathArguments, Type};

const REMEDY: &str = "use an integer counter, such as `i64` on a BIGINT column";

/// Why `ty` cannot be a version, if that is known.
pub(crate) fn refusal(ty: &Type) -> Option<String> {
    let ty = option_of(ty).unwrap_or(bare(ty));
    let Some(name) = last_name(ty) else {
        return Some(sentence(
            &written(ty),
            "every write adds one to it, and this is no number",
        ));
    };
    let reason = match name.as_str() {
        "SystemTime" | "Instant" | "NaiveDateTime" | "NaiveDate" | "NaiveTime" | "DateTime"
        | "OffsetDateTime" | "PrimitiveDateTime" | "Timestamp" | "Zoned" | "PgTimestamp" => {
            "two writes within one tick carry the same stamp, and some servers cut the fraction \
             off, so an update could be lost unnoticed"
        }
        "String" | "str" | "Cow" | "char" => {
            "every write adds one to it, and text has no next value"
        }
        "Uuid" | "Vec" | "Bytes" => "every write adds one to it, and bytes have no next value",
        "bool" => "every write adds one to it, and a flag is back where it was after two writes",
        "f32" | "f64" => "every write adds one to it, and a large float plus one is the same float",
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" | "i8" | "i128" | "isize" => {
            return Some(format!(
                "`{name}` cannot be a version: the integer columns that every server has are \
                 signed and hold 16, 32 or 64 bits; use `i16`, `i32` or `i64`"
            ));
        }
        _ => return None,
    };
    Some(sentence(&name, reason))
}

/// A type as it would be written, which is not how its tokens print.
pub(crate) fn written(tokens: impl ToTokens) -> String {
    let text = tokens.to_token_stream().to_string();
    text.replace(" < ", "<")
        .replace(" >", ">")
        .replace(" :: ", "::")
        .replace(" ,", ",")
        .replace(" ;", ";")
        .replace("& ", "&")
}

fn sentence(name: &str, reason: &str) -> String {
    format!("`{name}` cannot be a version: {reason}; {REMEDY}")
}

/// How a soft-deleted row is told from one that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeletedWhen {
    NotNull,
    True,
}

impl DeletedWhen {
    pub(crate) fn of(ty: &Type) -> Option<Self> {
        match option_of(ty) {
            // NULL, false and true are three answers to a question with two.
            Some(inner) if is_bool(inner) => None,
            Some(_) => Some(DeletedWhen::NotNull),
            None if is_bool(bare(ty)) => Some(DeletedWhen::True),
            None => None,
        }
    }
}

fn is_bool(ty: &Type) -> bool {
    last_name(ty).is_some_and(|name| name == "bool")
}

fn option_of(ty: &Type) -> Option<&Type> {
    let segment = path(bare(ty))?.segments.last()?;
    match &segment.arguments {
        PathArguments::AngleBracketed(list) if segment.ident == "Option" => {
            match list.args.first() {
                Some(GenericArgument::Type(inner)) => Some(bare(inner)),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The last name of a path; behind a reference, of what it points to.
fn last_name(ty: &Type) -> Option<String> {
    match ty {
        Type::Reference(to) => last_name(bare(&to.elem)),
        _ => Some(path(ty)?.segments.last()?.ident.to_string()),
    }
}

fn path(ty: &Type) -> Option<&Path> {
    match ty {
        Type::Path(ty) => Some(&ty.path),
        _ => None,
    }
}

/// Without the parentheses and the invisible groups that `macro_rules!` puts around a `$ty`.
fn bare(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => bare(&group.elem),
        Type::Paren(paren) => bare(&paren.elem),
        _ => ty,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn::parse_str;

    fn refused(ty: &str) -> Option<String> {
        refusal(&parse_str(ty).unwrap())
    }

    #[test]
    fn integers_that_every_server_has_are_versions() {
        for ty in [
            "i16",
            "i32",
            "i64",
            "Option<i64>",
            "std::option::Option<i32>",
            "(i64)",
        ] {
            assert_eq!(refused(ty), None, "{ty}");
        }
    }

    #[test]
    fn unknown_names_are_left_to_the_trait() {
        for ty in [
            "Revision",
            "crate::model::Revision",
            "Option<Revision>",
            "T::Version",
        ] {
            assert_eq!(refused(ty), None, "{ty}");
        }
    }

    #[test]
    fn refusal_says_why_and_what_to_use() {
        for (ty, name, why) in [
            ("chrono::DateTime<Utc>", "`DateTime`", "same stamp"),
            ("Option<NaiveDateTime>", "`NaiveDateTime`", "same stamp"),
            ("&'a str", "`str`", "text has no next value"),
            ("uuid::Uuid", "`Uuid`", "bytes have no next value"),
            ("bool", "`bool`", "a flag"),
            ("f64", "`f64`", "the same float"),
            ("[u8; 8]", "`[u8; 8]`", "no number"),
        ] {
            let sentence = refused(ty).unwrap_or_else(|| panic!("{ty} was let through"));
            assert!(
                sentence.starts_with(&format!("{name} cannot be a version")),
                "{sentence}"
            );
            assert!(sentence.contains(why), "{sentence}");
            assert!(sentence.contains("integer counter"), "{sentence}");
        }
        assert!(
            refused("u64")
                .unwrap()
                .ends_with("use `i16`, `i32` or `i64`")
        );
    }

    #[test]
    fn soft_delete_is_an_option_or_a_flag() {
        let of = |ty| DeletedWhen::of(&parse_str(ty).unwrap());
        assert_eq!(of("Option<NaiveDateTime>"), Some(DeletedWhen::NotNull));
        assert_eq!(of("bool"), Some(DeletedWhen::True));
        assert_eq!(of("Option<bool>"), None);
        assert_eq!(of("NaiveDateTime"), None);
    }
}
