//! Reads the two files of a shop, in the columns of a well-known sample shop; others are passed over. Everything that is
//! wrong with them is found here, and named by file and line.

use crate::failure::Failure;
use crate::workload::{Line, Order, Stocked};
use csv::{Reader, ReaderBuilder, StringRecord, Trim};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Display;
use std::path::Path;
use std::str::FromStr;

/// A file's text, and what to call it in a message.
#[derive(Debug)]
pub struct Input {
    pub name: String,
    pub text: Vec<u8>,
}

impl Input {
    pub fn from_file(path: &Path) -> Result<Self, Failure> {
        let name = path.display().to_string();
        match std::fs::read(path) {
            Ok(text) => Ok(Input { name, text }),
            Err(error) => Err(Failure::bad_input(format_args!("{name}: {error}"))),
        }
    }
}

/// The products, with `unitsInStock` multiplied.
pub fn products(input: Input, times: i32) -> Result<Vec<Stocked>, Failure> {
    let mut table = Table::open(&input, ["productID", "productName", "unitsInStock"])?;
    let mut products = Vec::new();
    let mut places = HashMap::new();
    while let Some(row) = table.next()? {
        let [id, name, stock] = row.fields;
        let id = row.number("productID", id)?;
        if let Some(first) = places.insert(id, row.byte) {
            let first = input.line(first);
            return Err(row.wrong(format_args!("product {id} is already in line {first}")));
        }
        let stock: i32 = row.number("unitsInStock", stock)?;
        if stock < 0 {
            return Err(row.wrong(format_args!("unitsInStock is {stock}, less than nothing")));
        }
        let Some(stock) = stock.checked_mul(times) else {
            return Err(row.wrong(format_args!(
                "unitsInStock {stock} times {times} is more than {}",
                i32::MAX
            )));
        };
        let name = name.to_owned();
        products.push(Stocked { id, name, stock });
    }
    if products.is_empty() {
        return Err(input.wrong("no products in it"));
    }
    Ok(products)
}

/// The orders, in the sequence of their first lines. A product that an order names twice counts once, with the sum.
pub fn orders(input: Input, products: &[Stocked]) -> Result<Vec<Order>, Failure> {
    let known: HashSet<i64> = products.iter().map(|product| product.id).collect();
    let mut table = Table::open(&input, ["orderID", "productID", "quantity"])?;
    let mut places = HashMap::new();
    let mut orders: Vec<BTreeMap<i64, i32>> = Vec::new();
    while let Some(row) = table.next()? {
        let [order, product, quantity] = row.fields;
        let order: i64 = row.number("orderID", order)?;
        let product = row.number("productID", product)?;
        let quantity: i32 = row.number("quantity", quantity)?;
        if !known.contains(&product) {
            return Err(row.wrong(format_args!("product {product} is not among the products")));
        }
        if quantity <= 0 {
            return Err(row.wrong(format_args!("quantity is {quantity}, and must be positive")));
        }
        let place = *places.entry(order).or_insert(orders.len());
        if place == orders.len() {
            orders.push(BTreeMap::new());
        }
        let sum = orders[place].entry(product).or_default();
        *sum = sum.checked_add(quantity).ok_or_else(|| {
            row.wrong(format_args!(
                "order {order} takes more than {} of product {product}",
                i32::MAX
            ))
        })?;
    }
    if orders.is_empty() {
        return Err(input.wrong("no orders in it"));
    }
    let order = |quantities: BTreeMap<i64, i32>| {
        let lines = quantities.into_iter();
        Order::new(
            lines
                .map(|(product, quantity)| Line { product, quantity })
                .collect(),
        )
    };
    Ok(orders.into_iter().map(order).collect())
}

impl Input {
    fn wrong(&self, what: impl Display) -> Failure {
        Failure::bad_input(format_args!("{}: {what}", self.name))
    }

    fn wrong_at(&self, byte: u64, what: impl Display) -> Failure {
        self.wrong(format_args!("line {}: {what}", self.line(byte)))
    }

    /// The line of the record that was read from this place on. The reader's own count stops before the empty lines that
    /// it passes over.
    fn line(&self, byte: u64) -> usize {
        let byte = usize::try_from(byte).map_or(self.text.len(), |byte| byte.min(self.text.len()));
        let (before, after) = self.text.split_at(byte);
        let empty = after
            .iter()
            .take_while(|byte| matches!(byte, b'\r' | b'\n'));
        1 + before
            .iter()
            .chain(empty)
            .filter(|byte| **byte == b'\n')
            .count()
    }
}

/// The rows of a file, cut down to the columns that are needed.
struct Table<'i, const N: usize> {
    input: &'i Input,
    reader: Reader<&'i [u8]>,
    record: StringRecord,
    columns: [usize; N],
}

struct Row<'t, const N: usize> {
    input: &'t Input,
    byte: u64,
    fields: [&'t str; N],
}

impl<'i, const N: usize> Table<'i, N> {
    fn open(input: &'i Input, names: [&str; N]) -> Result<Self, Failure> {
        let mut reader = ReaderBuilder::new()
            .trim(Trim::All)
            .from_reader(input.text.as_slice());
        let header = reader.headers().map_err(|error| broken(input, &error))?;
        let mut columns = [0; N];
        for (column, name) in columns.iter_mut().zip(names) {
            let mut places = (0..header.len()).filter(|place| &header[*place] == name);
            *column = match (places.next(), places.next()) {
                (Some(place), None) => place,
                (None, _) => {
                    return Err(input.wrong_at(0, format_args!("there is no column {name}")));
                }
                (Some(_), Some(_)) => {
                    return Err(input.wrong_at(0, format_args!("there are two columns {name}")));
                }
            };
        }
        Ok(Table {
            input,
            reader,
            record: StringRecord::new(),
            columns,
        })
    }

    fn next(&mut self) -> Result<Option<Row<'_, N>>, Failure> {
        match self.reader.read_record(&mut self.record) {
            Ok(true) => {}
            Ok(false) => return Ok(None),
            Err(error) => return Err(broken(self.input, &error)),
        }
        let record = &self.record;
        Ok(Some(Row {
            input: self.input,
            byte: record.position().map_or(0, csv::Position::byte),
            // Every record is as long as the header, or it would have been an error.
            fields: self.columns.map(|column| &record[column]),
        }))
    }
}

impl<const N: usize> Row<'_, N> {
    fn number<T: FromStr<Err: Display>>(&self, column: &str, text: &str) -> Result<T, Failure> {
        text.parse()
            .map_err(|error| self.wrong(format_args!("{column} is {text:?}: {error}")))
    }

    fn wrong(&self, what: impl Display) -> Failure {
        self.input.wrong_at(self.byte, what)
    }
}

/// What the reader itself refuses: a line of another length, text that is not UTF-8.
fn broken(input: &Input, error: &csv::Error) -> Failure {
    let byte = error.position().map_or(0, csv::Position::byte);
    match error.kind() {
        csv::ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => input.wrong_at(
            byte,
            format_args!("{len} fields where the header has {expected_len}"),
        ),
        csv::ErrorKind::Utf8 { err, .. } => input.wrong_at(byte, err),
        _ => input.wrong(error),
    }
}
