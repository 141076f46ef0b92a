//! The command line: what may be said, what goes together, and what is meant when nothing is said.

use crate::csv_files::Input;
use crate::failure::Failure;
use crate::sell::Way;
use crate::workload::Workload;
use lexopt::{Arg, Parser, ValueExt};
use std::ffi::OsString;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::PathBuf;

pub const HELP: &str = "\
Sells a stock by many workers at once, the same orders in several ways, and counts the updates that were lost.

Usage: cargo run --example decrement_stock -- [OPTIONS]

How:
  --mode MODE           unchecked (the bug), optimistic, pessimistic, guarded, or all of them [default: all]
  --workers N           how many sell at once [default: 8]
  --processes           workers are processes, not threads
  --database-url URL    gets a table of the example's own, for one run at a time
                        [default: an SQLite file in a temporary folder]
      shop.db, sqlite://shop.db            an SQLite file; gets a write-ahead log too
      postgres://user:password@host/shop   PostgreSQL: cargo run --features postgres --example ..
      mysql://user:password@host/shop      MySQL, MariaDB: cargo run --features mysql --example ..
What:
  --stock N             units of one product [default: 2000]
  --orders N            orders of one unit of it [default: 2400]
or
  --products FILE       CSV with the columns productID, productName, unitsInStock
  --order-lines FILE    CSV with the columns orderID, productID, quantity
  --demo                the small files of the repository in their place
  --times N             multiplies every stock [default: 1]
Output:
  --json                a line of JSON for each mode, in place of the table
  -h, --help            this text

Exit: 0 as it should be, 1 a checked mode lost an update, 2 bad input, 3 unchecked lost nothing, 4 the run broke off.
";

/// What the caller wants.
pub enum Request {
    Help,
    Run(Options),
}

/// A run.
pub struct Options {
    pub ways: Vec<Way>,
    pub workers: usize,
    pub processes: bool,
    pub database_url: Option<String>,
    pub json: bool,
    pub workload: Workload,
}

/// What was said of the orders.
#[derive(Default)]
struct Said {
    stock: Option<i32>,
    orders: Option<usize>,
    products: Option<PathBuf>,
    order_lines: Option<PathBuf>,
    demo: bool,
    times: Option<i32>,
}

pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Request, Failure> {
    let arguments: Vec<_> = arguments.into_iter().collect();
    no_url_elsewhere(&arguments)?;
    let mut parser = Parser::from_args(arguments);
    let mut said = Said::default();
    let mut ways = Way::ALL.to_vec();
    let (mut workers, mut processes, mut json) = (8, false, false);
    let mut database_url = None;
    while let Some(argument) = parser.next().map_err(Failure::bad_input)? {
        match argument {
            Arg::Long("mode") => ways = modes(&text(&mut parser)?)?,
            Arg::Long("workers") => workers = number(&mut parser, "--workers", 1..=512)?,
            Arg::Long("processes") => processes = true,
            Arg::Long("database-url") => database_url = Some(url(&mut parser)?),
            Arg::Long("stock") => said.stock = Some(number(&mut parser, "--stock", 0..=i32::MAX)?),
            Arg::Long("orders") => {
                said.orders = Some(number(&mut parser, "--orders", 1..=10_000_000)?);
            }
            Arg::Long("products") => said.products = Some(path(&mut parser)?),
            Arg::Long("order-lines") => said.order_lines = Some(path(&mut parser)?),
            Arg::Long("demo") => said.demo = true,
            Arg::Long("times") => said.times = Some(number(&mut parser, "--times", 1..=i32::MAX)?),
            Arg::Long("json") => json = true,
            Arg::Short('h') | Arg::Long("help") => return Ok(Request::Help),
            other => return Err(Failure::bad_input(other.unexpected())),
        }
    }
    Ok(Request::Run(Options {
        ways,
        workers,
        processes,
        database_url,
        json,
        workload: said.workload()?,
    }))
}

impl Said {
    fn workload(self) -> Result<Workload, Failure> {
        let files = self.products.is_some() || self.order_lines.is_some();
        if self.demo && files {
            return Err(Failure::bad_input("--demo brings its own files"));
        }
        if !self.demo && !files {
            if self.times.is_some() {
                return Err(Failure::bad_input("--times is for files, or for --demo"));
            }
            return Ok(Workload::hot(
                self.stock.unwrap_or(2_000),
                self.orders.unwrap_or(2_400),
            ));
        }
        if self.stock.is_some() || self.orders.is_some() {
            return Err(Failure::bad_input(
                "--stock and --orders do not go with files",
            ));
        }
        let (products, order_lines) = match (self.products, self.order_lines) {
            (None, None) => demo(),
            (Some(products), Some(order_lines)) => (
                Input::from_file(&products)?,
                Input::from_file(&order_lines)?,
            ),
            (Some(_), None) => return Err(Failure::bad_input("--products needs --order-lines")),
            (None, Some(_)) => return Err(Failure::bad_input("--order-lines needs --products")),
        };
        Workload::from_files(products, order_lines, self.times.unwrap_or(1))
    }
}

/// The files of the repository, in the program: it finds them wherever it is run.
fn demo() -> (Input, Input) {
    let file = |name: &str, text: &str| Input {
        name: format!("examples/data/{name}"),
        text: text.into(),
    };
    (
        file("products.csv", include_str!("../data/products.csv")),
        file("order-lines.csv", include_str!("../data/order-lines.csv")),
    )
}

fn modes(name: &str) -> Result<Vec<Way>, Failure> {
    match (name, Way::named(name)) {
        ("all", _) => Ok(Way::ALL.to_vec()),
        (_, Some(way)) => Ok(vec![way]),
        ("adaptive", None) => Err(Failure::bad_input(
            "--mode adaptive comes with a later version; today: unchecked, optimistic, pessimistic, guarded, all",
        )),
        (other, None) => Err(Failure::bad_input(format_args!(
            "--mode {other}: there are unchecked, optimistic, pessimistic, guarded and all"
        ))),
    }
}

/// A URL in another place is a slip, and the message about it would repeat its password.
fn no_url_elsewhere(arguments: &[OsString]) -> Result<(), Failure> {
    let mut expected = false;
    for argument in arguments {
        let text = argument.to_string_lossy();
        if text.contains("://") && !expected && !text.starts_with("--database-url=") {
            return Err(Failure::bad_input("a URL goes behind --database-url"));
        }
        expected = text == "--database-url";
    }
    Ok(())
}

fn url(parser: &mut Parser) -> Result<String, Failure> {
    let value = parser.value().map_err(Failure::bad_input)?;
    value
        .into_string()
        .map_err(|_| Failure::bad_input("--database-url: that is not UTF-8"))
}

fn text(parser: &mut Parser) -> Result<String, Failure> {
    let value = parser.value().map_err(Failure::bad_input)?;
    value.string().map_err(Failure::bad_input)
}

fn path(parser: &mut Parser) -> Result<PathBuf, Failure> {
    parser
        .value()
        .map(PathBuf::from)
        .map_err(Failure::bad_input)
}

fn number<T>(parser: &mut Parser, name: &str, range: RangeInclusive<T>) -> Result<T, Failure>
where
    T: std::str::FromStr<Err: Display> + PartialOrd + Display,
{
    let text = text(parser)?;
    match text.parse() {
        Ok(number) if range.contains(&number) => Ok(number),
        Ok(_) => Err(Failure::bad_input(format_args!(
            "{name} {text}: it must be from {} to {}",
            range.start(),
            range.end()
        ))),
        Err(error) => Err(Failure::bad_input(format_args!("{name} {text}: {error}"))),
    }
}
