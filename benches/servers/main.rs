//! PostgreSQL and MariaDB: ours beside hand-written Diesel and the servers' own C libraries, in one run.
//!
//!     tests/with-servers --durable cargo bench -p diesel_occ_server_benches --bench servers [-- --quick] [SIDE]..
//!
//! Figures are microseconds an operation or sales a second, and what decides is their ratio in one run. Where a server does
//! not wait for the disk, figures of committed work have no bar. With sides of the hot row only those are run. A bar that is missed is printed, and decides nothing.

#[path = "../contention/figures.rs"]
mod figures;
#[path = "../contention/fleet.rs"]
mod fleet;
#[path = "../statements/measure.rs"]
mod measure;
#[path = "../support/product.rs"]
mod product;
#[path = "../support/report.rs"]
mod report;
#[path = "../contention/selling.rs"]
mod selling;

mod floor;
mod hot;
mod libmariadb;
mod libpq;
mod server;
mod sides;
mod statements;
mod worker;

use report::{Report, Scale};
use server::Server;
use worker::Side;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|arg| arg == fleet::WORKER) {
        return fleet::be_a_worker(&args[1..]);
    }
    let (scale, rest) = Scale::from_args();
    let named: Option<Vec<Side>> = rest.iter().map(|name| Side::named(name)).collect();
    let Some(mut sides) = named else {
        let all = Side::ALL.map(Side::name).join(" ");
        eprintln!("{rest:?}: there are --quick, and the sides {all}");
        std::process::exit(2);
    };
    let everything = sides.is_empty();
    if everything {
        sides = Side::ALL.to_vec();
    }
    let mut report = Report::new(scale);
    for server in Server::ALL {
        let (name, variable) = (server.name(), server.variable());
        let Some(place) = server.place() else {
            println!("left out: {name}, since {variable} is not set");
            continue;
        };
        let (settings, durable) = place.settings();
        report::print_machine(&settings);
        if !durable {
            println!("not durable: figures of committed work mean nothing");
        }
        if everything {
            statements::run(&place, scale, durable, &mut report);
        }
        hot::run(&place, &sides, scale, durable, &mut report);
        println!();
    }
    report.end();
}
