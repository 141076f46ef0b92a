//! A column in the SQL: its name in quotes, and the pieces around it that every statement repeats.
//!
//! Diesel's `push_identifier` copies each name to double the quotes in it, and a statement is built from many small pieces.
//! Where the name has no quotes, the compiler puts the pieces together, once for each column.

use crate::backend::Dialect;
use diesel::query_builder::AstPass;
use diesel::query_source::Column;
use diesel::result::QueryResult;
use std::marker::PhantomData;

/// The name of a column in quotes. Diesel's `push_identifier` copies every name to double the quotes in it; one that has
/// none, and that is known to the compiler, is written as it is.
pub(super) fn push_column<Vc: Column, DB: Dialect>(
    out: &mut AstPass<'_, '_, DB>,
) -> QueryResult<()> {
    if !const { is_plain(Vc::NAME) } {
        return out.push_identifier(Vc::NAME);
    }
    let quote = DB::server(out.backend()).quote;
    out.push_sql(quote);
    out.push_sql(Vc::NAME);
    out.push_sql(quote);
    Ok(())
}

/// Whether a name is itself in quotes, whatever the quotes.
pub(super) const fn is_plain(name: &str) -> bool {
    let name = name.as_bytes();
    let mut at = 0;
    while at < name.len() {
        if !name[at].is_ascii_alphanumeric() && name[at] != b'_' {
            return false;
        }
        at += 1;
    }
    true
}

/// `"version" = "version" + 1`
pub(super) fn push_bump<C: Column, DB: Dialect>(out: &mut AstPass<'_, '_, DB>) -> QueryResult<()> {
    match Pieces::<C>::of::<DB>(out).bump {
        Some(piece) => out.push_sql(piece),
        None => {
            push_column::<C, DB>(out)?;
            out.push_sql(" = ");
            push_column::<C, DB>(out)?;
            out.push_sql(" + 1");
        }
    }
    Ok(())
}

/// ` WHERE "id" = `
pub(super) fn push_where_is<C: Column, DB: Dialect>(
    out: &mut AstPass<'_, '_, DB>,
) -> QueryResult<()> {
    push_is::<C, DB>(out, Pieces::<C>::of::<DB>(out).where_is, " WHERE ")
}

/// ` AND "version" = `
pub(super) fn push_and_is<C: Column, DB: Dialect>(
    out: &mut AstPass<'_, '_, DB>,
) -> QueryResult<()> {
    push_is::<C, DB>(out, Pieces::<C>::of::<DB>(out).and_is, " AND ")
}

fn push_is<C: Column, DB: Dialect>(
    out: &mut AstPass<'_, '_, DB>,
    piece: Option<&str>,
    before: &str,
) -> QueryResult<()> {
    match piece {
        Some(piece) => out.push_sql(piece),
        None => {
            out.push_sql(before);
            push_column::<C, DB>(out)?;
            out.push_sql(" = ");
        }
    }
    Ok(())
}

/// What the compiler has put together of a column whose name is plain and not too long.
struct Pieces<C>(PhantomData<C>);

struct Ready {
    bump: Option<&'static str>,
    where_is: Option<&'static str>,
    and_is: Option<&'static str>,
}

impl<C: Column> Pieces<C> {
    const BUMP_IN_BACKTICKS: Piece = Piece::of(&["`", C::NAME, "` = `", C::NAME, "` + 1"]);
    const BUMP_IN_QUOTES: Piece = Piece::of(&["\"", C::NAME, "\" = \"", C::NAME, "\" + 1"]);
    const WHERE_IN_BACKTICKS: Piece = Piece::of(&[" WHERE `", C::NAME, "` = "]);
    const WHERE_IN_QUOTES: Piece = Piece::of(&[" WHERE \"", C::NAME, "\" = "]);
    const AND_IN_BACKTICKS: Piece = Piece::of(&[" AND `", C::NAME, "` = "]);
    const AND_IN_QUOTES: Piece = Piece::of(&[" AND \"", C::NAME, "\" = "]);
    const IN_BACKTICKS: Ready = Ready {
        bump: Self::BUMP_IN_BACKTICKS.text_for(C::NAME),
        where_is: Self::WHERE_IN_BACKTICKS.text_for(C::NAME),
        and_is: Self::AND_IN_BACKTICKS.text_for(C::NAME),
    };
    const IN_QUOTES: Ready = Ready {
        bump: Self::BUMP_IN_QUOTES.text_for(C::NAME),
        where_is: Self::WHERE_IN_QUOTES.text_for(C::NAME),
        and_is: Self::AND_IN_QUOTES.text_for(C::NAME),
    };

    fn of<DB: Dialect>(out: &AstPass<'_, '_, DB>) -> Ready {
        match DB::server(out.backend()).quote {
            "`" => Self::IN_BACKTICKS,
            _ => Self::IN_QUOTES,
        }
    }
}

const LONGEST: usize = 160;

struct Piece {
    bytes: [u8; LONGEST],
    len: usize,
}

impl Piece {
    const fn of(parts: &[&str]) -> Piece {
        let (mut bytes, mut len) = ([0; LONGEST], 0);
        let mut part = 0;
        while part < parts.len() {
            let text = parts[part].as_bytes();
            let mut at = 0;
            while at < text.len() {
                if len < LONGEST {
                    bytes[len] = text[at];
                }
                len += 1;
                at += 1;
            }
            part += 1;
        }
        Piece { bytes, len }
    }

    const fn text_for(&'static self, name: &str) -> Option<&'static str> {
        if self.len > LONGEST || !is_plain(name) {
            return None;
        }
        match std::str::from_utf8(self.bytes.split_at(self.len).0) {
            Ok(text) => Some(text),
            Err(_) => None,
        }
    }
}
