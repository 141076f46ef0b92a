//! The lost update, and three ways of not losing one: many workers take units from the same stock at once.
//!
//! ```text
//! cargo run --example decrement_stock
//! cargo run --example decrement_stock -- --processes
//! cargo run --example decrement_stock -- --demo --times 100 --json
//! cargo run --features postgres --example decrement_stock -- --database-url postgres://user:password@localhost/shop
//! ```
//!
//! What each way does is in `sell.rs`; `--help` lists the options and the exit codes.

mod connection;
mod csv_files;
mod database;
mod failure;
mod options;
mod processes;
mod progress;
mod report;
mod sell;
mod server_url;
mod table;
mod threads;
mod workload;

use database::Database;
use failure::Failure;
use options::{Options, Request};
use report::Report;
use sell::{Shift, Way};
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1).peekable();
    let done = if arguments
        .peek()
        .is_some_and(|first| first == processes::WORKER)
    {
        processes::work_for_parent()
    } else {
        options::parse(arguments).and_then(|request| match request {
            Request::Help => say(options::HELP.trim_end()),
            Request::Run(options) => run(&options),
        })
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("decrement_stock: {failure}");
            ExitCode::from(failure.exit_code())
        }
    }
}

fn run(options: &Options) -> Result<(), Failure> {
    let database = match &options.database_url {
        None => Database::temporary()?,
        Some(url) => Database::named(url)?,
    };
    let mut conn = database.prepare()?;
    if !options.json {
        say(&format!(
            "{}, {} {}, {}\n",
            options.workload.describe(),
            options.workers,
            if options.processes {
                "processes"
            } else {
                "threads"
            },
            database.describe(&mut conn),
        ))?;
        say(&report::head())?;
    }
    let mut reports = Vec::new();
    for &way in &options.ways {
        database::fill(&mut conn, &options.workload.products)?;
        let sell = if options.processes {
            processes::sell
        } else {
            threads::sell
        };
        let shift = Shift {
            url: database.url(),
            way,
            orders: &options.workload.orders,
            workers: options.workers,
        };
        let (sales, elapsed) =
            progress::watched(way.name(), shift.orders.len(), |done| sell(&shift, done))?;
        let left = database::left(&mut conn)?;
        let report = Report::new(
            way,
            conn.feature(),
            &options.workload,
            &sales,
            &left,
            elapsed,
        );
        say(&if options.json {
            report.json()
        } else {
            report.row()
        })?;
        reports.push(report);
    }
    if !options.json {
        say(&format!("\n{}", report::LEGEND))?;
    }
    verdict(&reports)
}

/// That a checked mode lost something is the worse news.
fn verdict(reports: &[Report]) -> Result<(), Failure> {
    let (unchecked, checked): (Vec<_>, Vec<_>) = reports
        .iter()
        .partition(|report| report.way == Way::Unchecked);
    if let Some(report) = checked.iter().find(|report| !report.is_exact()) {
        return Err(Failure::Lost(format!(
            "{} is a checked mode, and its count is wrong: {} units lost",
            report.way.name(),
            report.lost()
        )));
    }
    if unchecked.iter().any(|report| report.lost() == 0) {
        return Err(Failure::NothingShown(
            "unchecked lost nothing this time: give it more workers or more orders".into(),
        ));
    }
    Ok(())
}

fn say(line: &str) -> Result<(), Failure> {
    writeln!(std::io::stdout(), "{line}")
        .map_err(|error| Failure::broken("writing the result", &error))
}
