//! One test a rule, on the sentence or on the part of the impl that the rule decides.

use syn::parse_str;

use crate::model::Model;

#[track_caller]
fn refused(input: &str, parts: &[&str]) {
    let input = parse_str(input).unwrap();
    let found: Vec<String> = match Model::check(&input) {
        Ok(_) => Vec::new(),
        Err(errors) => errors.into_iter().map(|error| error.to_string()).collect(),
    };
    assert_eq!(found.len(), parts.len(), "{found:#?}");
    for (sentence, part) in found.iter().zip(parts) {
        assert!(sentence.contains(part), "{sentence}");
    }
}

#[track_caller]
fn expands(input: &str, parts: &[&str]) {
    let text = crate::versioned(&parse_str(input).unwrap()).to_string();
    let text = text.replace(char::is_whitespace, "");
    for part in parts {
        let part = part.replace(char::is_whitespace, "");
        assert!(text.contains(&part), "{part}\nis not in\n{text}");
    }
}

#[test]
fn table_key_and_version_have_defaults() {
    expands(
        "struct ProductItem { id: i64, name: String, version: i32 }",
        &[
            "type Table = product_items::table;",
            "type Key = i64;",
            "type Version = i32;",
            "type Columns = (product_items::id, product_items::name, product_items::version,);",
            "= (::diesel::dsl::Eq<product_items::name, &'changes String>,)",
            "const TABLE: &'static str = \"product_items\";",
        ],
    );
}

#[test]
fn composite_key_keeps_the_order_of_primary_key() {
    expands(
        "#[diesel(table_name = schema::lines, primary_key(order_id, number))]
         struct Line { number: i32, order_id: i64, version: i64 }",
        &[
            "type Key = (i64, i32,);",
            "type Key = (schema::lines::order_id, schema::lines::number,);",
            "type Changes<'changes> = ::diesel_occ::NoChanges<schema::lines::table>",
            "const TABLE: &'static str = \"lines\";",
        ],
    );
}

#[test]
fn version_is_found_by_its_column() {
    let version = "fn version(&self) -> &Self::Version { &self.revision }";
    let column = "type VersionColumn = rows::lock_version;";
    expands(
        "#[diesel(table_name = rows)] #[versioned(column = lock_version)]
         struct Row { id: i64, #[diesel(column_name = \"lock_version\")] revision: i64 }",
        &[version, column],
    );
    expands(
        "#[diesel(table_name = rows)]
         struct Row {
             id: i64,
             version: String,
             #[versioned] #[diesel(column_name = lock_version)] revision: i64,
         }",
        &[version, column],
    );
}

#[test]
fn keywords_are_columns() {
    expands(
        "#[diesel(table_name = r#type)]
         struct Row { id: i64, r#match: i32, #[diesel(column_name = \"use\")] used: i32, version: i64 }",
        &[
            "::diesel::dsl::Eq<r#type::r#match, &'changes i32>",
            "::diesel::dsl::Eq<r#type::r#use, &'changes i32>",
            "const TABLE: &'static str = \"type\";",
        ],
    );
}

#[test]
fn diesel_options_of_others_are_passed_over() {
    expands(
        "#[diesel(belongs_to(User, foreign_key = owner), check_for_backend(diesel::sqlite::Sqlite))]
         #[diesel(table_name = rows, treat_none_as_null = true, base_query_type = OrderBy<A, B>)]
         struct Row {
             id: i64,
             #[diesel(select_expression_type = Pair<A, B>, column_name = title, skip_insertion)]
             name: String,
             version: i64,
         }",
        &["(::diesel::dsl::Eq<rows::title, &'changes String>,)"],
    );
}

#[test]
fn serialize_as_goes_into_key_and_changes() {
    expands(
        "#[diesel(table_name = rows)]
         struct Row {
             #[diesel(serialize_as = i64)] id: RowId,
             #[diesel(serialize_as = i32)] stock: Stock,
             version: i64,
         }",
        &[
            "type Key = i64;",
            "(::diesel::dsl::Eq<rows::stock, i32>,)",
            "::diesel::ExpressionMethods::eq(rows::stock, <i32 as ::core::convert::From<Stock>>
                ::from(::core::clone::Clone::clone(&self.stock)))",
        ],
    );
}

#[test]
fn soft_delete_and_skip_update_are_not_written() {
    expands(
        "#[diesel(table_name = rows)] #[versioned(soft_delete = removed_at)]
         struct Row {
             id: i64,
             name: String,
             #[diesel(skip_update)] made_at: String,
             #[diesel(column_name = removed_at)] gone: Option<String>,
             version: i64,
         }",
        &[
            "type Changes<'changes> = (::diesel::dsl::Eq<rows::name, &'changes String>,)",
            "::diesel_occ::SoftDelete::when_not_null(
                <rows::removed_at as ::diesel::query_source::Column>::NAME)",
        ],
    );
}

#[test]
fn generics_and_bounds_are_repeated() {
    expands(
        "struct Row<'a, T: Clone> where T: Send { id: i64, name: &'a str, data: T, version: i64 }",
        &["impl<'a, T: Clone> ::diesel_occ::Versioned for Row<'a, T> where T: Send"],
    );
}

#[test]
fn a_refused_model_still_expands_to_an_impl() {
    expands(
        "enum Row { A }",
        &[
            "::core::compile_error!",
            "impl ::diesel_occ::Versioned for Row",
        ],
    );
}

#[test]
fn every_fault_is_reported_at_once() {
    refused(
        "#[versioned(colum = version, soft_delete = gone)]
         struct Row { name: String, version: String }",
        &[
            "no option `colum`",
            "no field for `id`",
            "`String` cannot be",
            "the soft delete `gone` is no column",
        ],
    );
}

#[test]
fn one_version_and_no_more() {
    refused(
        "struct Row { id: i64, #[versioned] a: i64, #[versioned] b: i64, #[versioned] c: i64 }",
        &["a second version", "a second version"],
    );
    refused(
        "#[versioned(column = a)] struct Row { id: i64, a: i64, #[versioned] b: i64 }",
        &["a second version"],
    );
    refused("struct Row { id: i64 }", &["has no version"]);
    refused(
        "#[versioned(column = rev)] struct Row { id: i64, version: i64 }",
        &["the version `rev` is no column of `Row`"],
    );
}

#[test]
fn version_stays_out_of_the_key_and_of_serialize_as() {
    refused(
        "#[diesel(primary_key(id, version))] struct Row { id: i64, version: i64 }",
        &["part of the primary key"],
    );
    refused(
        "struct Row { id: i64, #[diesel(serialize_as = i64)] version: Rev }",
        &["through `serialize_as`"],
    );
}

#[test]
fn embed_is_the_only_fault_of_what_it_hides() {
    refused(
        "struct Row { #[diesel(embed)] key: Key, #[diesel(embed)] audit: Audit }",
        &["`embed` hides columns", "`embed` hides columns"],
    );
}

#[test]
fn options_are_given_once_and_where_they_belong() {
    refused(
        "#[versioned(column = version, column = version)]
         #[diesel(table_name = a)] #[diesel(table_name = b)]
         struct Row { id: i64, #[versioned] #[versioned] version: i64 }",
        &[
            "`column` is given twice",
            "`table_name` is given twice",
            "`versioned` is given twice",
        ],
    );
    refused(
        "#[versioned] struct Row { id: i64, #[versioned(column = x)] version: i64 }",
        &["on a struct `versioned` needs an option", "stands alone"],
    );
}

#[test]
fn a_column_has_one_field_and_a_name() {
    refused(
        "struct Row { id: i64, a: i32, #[diesel(column_name = a)] b: i32, version: i64 }",
        &["two fields have the column `a`"],
    );
    refused(
        "struct Row { id: i64, #[diesel(column_name = \"a b\")] b: i32, version: i64 }",
        &["named by an identifier"],
    );
    refused(
        "#[diesel(primary_key(id, id))] struct Row { id: i64, version: i64 }",
        &["named twice"],
    );
    refused(
        "#[diesel(primary_key())] struct Row { id: i64, version: i64 }",
        &["`primary_key` names no column"],
    );
}

#[test]
fn soft_delete_is_a_column_of_its_own_that_can_say_so() {
    refused(
        "#[versioned(soft_delete = version)] struct Row { id: i64, version: i64 }",
        &["it is the version or a key column"],
    );
    refused(
        "#[versioned(soft_delete = at)] struct Row { id: i64, at: NaiveDateTime, version: i64 }",
        &["`NaiveDateTime` cannot mark a deleted row"],
    );
}
