//! Writes the impl. Decides how each item of the trait is spelled, and what stands in for a model
//! that was refused; whether it is refused was decided in `model`.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{DeriveInput, Ident};

use crate::field_type::DeletedWhen;
use crate::model::{Field, Model};

/// `impl Versioned` for a model without faults.
pub(crate) fn accepted(model: &Model) -> TokenStream {
    let (name, table) = (model.name, &model.table);
    let (impl_generics, ty_generics, where_clause) = model.generics.split_for_impl();
    let table_name = table
        .segments
        .last()
        .map(|last| last.ident.unraw().to_string());
    let (key_type, key) = key(model);
    let (changes_type, changes) = changes(model);
    let soft_delete = soft_delete(model);
    let (filter_type, filter) = key_filter(model);
    let key_check = key_check(model);
    let columns = model
        .fields
        .iter()
        .map(|field| &field.column)
        .collect::<Vec<_>>();
    let Field {
        name: version,
        column: version_column,
        ty: version_type,
        ..
    } = &model.fields[model.version];
    quote! {
        #[automatically_derived]
        #[allow(clippy::pedantic)]
        impl #impl_generics ::diesel_occ::Versioned for #name #ty_generics #where_clause {
            type Table = #table::table;
            type Key = #key_type;
            type Version = #version_type;
            type VersionSql = <#table::#version_column as ::diesel::Expression>::SqlType;
            type VersionColumn = #table::#version_column;
            type KeyFilter = #filter_type;
            type Columns = (#(#table::#columns,)*);
            type Changes<'changes> = #changes_type where Self: 'changes;
            const TABLE: &'static str = #table_name;
            const SOFT_DELETE: ::core::option::Option<::diesel_occ::SoftDelete> = #soft_delete;
            fn table() -> Self::Table { #table::table }
            fn row_key(&self) -> Self::Key { #key }
            fn version(&self) -> &Self::Version { &self.#version }
            fn set_version(&mut self, __occ_version: Self::Version) { self.#version = __occ_version; }
            fn version_column() -> Self::VersionColumn { #table::#version_column }
            fn key_filter(key: &Self::Key) -> Self::KeyFilter { #filter }
            fn columns() -> Self::Columns { (#(#table::#columns,)*) }
            fn changes(&self) -> Self::Changes<'_> { #changes }
        }
        #key_check
    }
}

/// The errors, and an impl whose types hold one of them: the compiler keeps silent about whatever
/// depends on an error, so that a use of the model does not report the same fault again. It is the
/// length of an array because an error that stands for a whole type is taken for `()`.
pub(crate) fn refused(input: &DeriveInput, errors: syn::Error) -> TokenStream {
    let name = &input.ident;
    let (impl_generics, ty_generics, where_clause) = input.generics.split_for_impl();
    let mut errors: Vec<_> = errors
        .into_iter()
        .map(|error| error.to_compile_error())
        .collect();
    let last = errors.pop();
    quote! {
        #(#errors)*
        #[automatically_derived]
        impl #impl_generics ::diesel_occ::Versioned for #name #ty_generics #where_clause {
            type Table = [(); #last];
            type Key = Self::Table;
            type Version = Self::Table;
            type VersionSql = Self::Table;
            type VersionColumn = Self::Table;
            type KeyFilter = Self::Table;
            type Columns = Self::Table;
            type Changes<'changes> = Self::Table where Self: 'changes;
            const TABLE: &'static str = "";
            const SOFT_DELETE: ::core::option::Option<::diesel_occ::SoftDelete> =
                ::core::option::Option::None;
            fn table() -> Self::Table { ::core::unreachable!() }
            fn row_key(&self) -> Self::Key { ::core::unreachable!() }
            fn version(&self) -> &Self::Version { ::core::unreachable!() }
            fn set_version(&mut self, _: Self::Version) { ::core::unreachable!() }
            fn version_column() -> Self::VersionColumn { ::core::unreachable!() }
            fn key_filter(_: &Self::Key) -> Self::KeyFilter { ::core::unreachable!() }
            fn columns() -> Self::Columns { ::core::unreachable!() }
            fn changes(&self) -> Self::Changes<'_> { ::core::unreachable!() }
        }
    }
}

/// Type and value of the key: of one column as it is, of several as a tuple.
fn key(model: &Model) -> (TokenStream, TokenStream) {
    let (types, values): (Vec<_>, Vec<_>) = model
        .key
        .iter()
        .map(|place| &model.fields[*place])
        .map(|field| match &field.serialize_as {
            Some(ty) => (quote!(#ty), converted(field)),
            None => (as_type(field), cloned(field.name)),
        })
        .unzip();
    match (&types[..], &values[..]) {
        ([ty], [value]) => (ty.clone(), value.clone()),
        _ => (quote!((#(#types,)*)), quote!((#(#values,)*))),
    }
}

/// Type and value of the condition that the key columns are these: the last one innermost.
fn key_filter(model: &Model) -> (TokenStream, TokenStream) {
    let table = &model.table;
    let alone = model.key.len() == 1;
    let mut filter = (quote!(::diesel_occ::Nothing), quote!(::diesel_occ::Nothing));
    for (place, index) in model.key.iter().enumerate().rev() {
        let field = &model.fields[*index];
        let column = &field.column;
        let ty = match &field.serialize_as {
            Some(ty) => quote!(#ty),
            None => as_type(field),
        };
        let part = syn::Index::from(place);
        let value = match alone {
            true => quote!(::core::clone::Clone::clone(key)),
            false => quote!(::core::clone::Clone::clone(&key.#part)),
        };
        let sql = quote!(<#table::#column as ::diesel::Expression>::SqlType);
        let as_expression = quote!(<#ty as ::diesel::expression::AsExpression<#sql>>);
        let first = place == 0;
        let (rest_type, rest) = filter;
        filter = (
            quote!(::diesel_occ::KeyIs<#table::#column, #as_expression::Expression, #rest_type, #first>),
            quote!(::diesel_occ::KeyIs::new(#as_expression::as_expression(#value), #rest)),
        );
    }
    filter
}

/// Refuses a model whose key is not the key of its table. A row is found by the table's columns in
/// the table's order: values in another order would find another row, if the types agree.
fn key_check(model: &Model) -> TokenStream {
    let table = &model.table;
    let columns = &model.key_columns;
    let key = match &columns[..] {
        [column] => quote!(#table::#column),
        _ => quote!((#(#table::#columns,)*)),
    };
    let message = format!(
        "the primary key of `{}` is not that of its table",
        model.name
    );
    let place = columns.first().map_or(model.name.span(), Ident::span);
    let check = quote_spanned!(Span::call_site().located_at(place)=> check::<Key>());
    quote! {
        const _: () = {
            #[diagnostic::on_unimplemented(
                message = #message,
                label = "other columns, or the same in another order",
                note = "`#[diesel(primary_key(..))]` repeats what stands in parentheses behind the \
                        name of the table in `table!`; without it the key is `id`"
            )]
            trait Is<TableKey> {}
            impl<Key> Is<Key> for Key {}
            const fn check<Key: Is<<#table::table as ::diesel::Table>::PrimaryKey>>() {}
            type Key = #key;
            #check
        };
    }
}

/// Type and value of what a save writes: one `column.eq(value)` for each field.
fn changes(model: &Model) -> (TokenStream, TokenStream) {
    let table = &model.table;
    let (types, values): (Vec<_>, Vec<_>) = model
        .changed()
        .map(|field| {
            let Field {
                name, column, ty, ..
            } = field;
            // A value that its column does not take is reported at the type of the field.
            let place = Span::call_site().located_at(ty.span());
            let (ty, value) = match &field.serialize_as {
                Some(ty) => (quote!(#ty), converted(field)),
                None => (
                    quote_spanned!(place=> &'changes #ty),
                    quote_spanned!(place=> &self.#name),
                ),
            };
            (
                quote_spanned!(place=> ::diesel::dsl::Eq<#table::#column, #ty>),
                quote_spanned!(place=> ::diesel::ExpressionMethods::eq(#table::#column, #value)),
            )
        })
        .unzip();
    if types.is_empty() {
        return (
            quote!(::diesel_occ::NoChanges<#table::table>),
            quote!(::diesel_occ::NoChanges::new()),
        );
    }
    (quote!((#(#types,)*)), quote!((#(#values,)*)))
}

fn soft_delete(model: &Model) -> TokenStream {
    let Some((place, when)) = model.soft_delete else {
        return quote!(::core::option::Option::None);
    };
    let (table, column) = (&model.table, &model.fields[place].column);
    let constructor = match when {
        DeletedWhen::NotNull => quote!(when_not_null),
        DeletedWhen::True => quote!(when_true),
    };
    quote! {
        ::core::option::Option::Some(::diesel_occ::SoftDelete::#constructor(
            <#table::#column as ::diesel::query_source::Column>::NAME
        ))
    }
}

fn as_type(field: &Field) -> TokenStream {
    let ty = field.ty;
    quote!(#ty)
}

fn cloned(field: &Ident) -> TokenStream {
    quote!(::core::clone::Clone::clone(&self.#field))
}

/// `serialize_as`: the value that is written is made from a clone of the field.
fn converted(field: &Field) -> TokenStream {
    let (ty, from, value) = (&field.serialize_as, field.ty, cloned(field.name));
    quote!(<#ty as ::core::convert::From<#from>>::from(#value))
}
