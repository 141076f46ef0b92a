//! The workers as processes: this program again, once for each. The orders are dealt like cards before the start. A worker
//! gets a line of JSON with its work on standard input, says that it is ready, waits for a line that says go, and answers
//! in lines of JSON: how far it is, and at the end its sales.

use crate::connection;
use crate::failure::Failure;
use crate::sell::{Sales, Seller, Shift, Way};
use crate::workload::{Line, Order, Units};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The first argument of a worker. Not for people.
pub const WORKER: &str = "--internal-worker";

/// A worker says how far it is after so many orders.
const STEP: usize = 20;

/// Sells all orders; answers the sales of each worker, and the time from the moment when all of them were ready.
pub fn sell(shift: &Shift<'_>, done: &AtomicUsize) -> Result<(Vec<Sales>, Duration), Failure> {
    let mut hired = Vec::new();
    for first in 0..shift.workers {
        hired.push(Worker::hire(&work(shift, first))?);
    }
    for worker in &mut hired {
        worker.ready()?;
    }
    let started = Instant::now();
    for worker in &mut hired {
        worker.tell("go")?;
    }
    let sales: Vec<_> = std::thread::scope(|scope| {
        let waiting: Vec<_> = hired
            .iter_mut()
            .map(|worker| scope.spawn(|| worker.sales(done)))
            .collect();
        waiting.into_iter().map(|worker| worker.join()).collect()
    });
    let elapsed = started.elapsed();
    let sales: Result<_, _> = sales
        .into_iter()
        .map(|sales| sales.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        .collect();
    Ok((sales?, elapsed))
}

/// A process at work, from the outside.
struct Worker {
    child: Child,
    answers: Lines<BufReader<ChildStdout>>,
}

impl Worker {
    fn hire(work: &Value) -> Result<Self, Failure> {
        let itself = std::env::current_exe()
            .map_err(|error| Failure::broken("where this program is", &error))?;
        let mut child = Command::new(itself)
            .arg(WORKER)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| Failure::broken("starting a worker", &error))?;
        let Some(stdout) = child.stdout.take() else {
            return Err(Failure::Broken("a worker has no output".into()));
        };
        let answers = BufReader::new(stdout).lines();
        let mut worker = Worker { child, answers };
        worker.tell(&work.to_string())?;
        Ok(worker)
    }

    fn tell(&mut self, line: &str) -> Result<(), Failure> {
        let Some(stdin) = &mut self.child.stdin else {
            return Err(Failure::Broken("a worker has no input".into()));
        };
        writeln!(stdin, "{line}")
            .and_then(|()| stdin.flush())
            .map_err(|error| Failure::broken("a worker does not listen", &error))
    }

    fn ready(&mut self) -> Result<(), Failure> {
        let answer = self.answer()?;
        match answer.get("ready") {
            Some(_) => Ok(()),
            None => Err(unexpected(&answer)),
        }
    }

    fn sales(&mut self, done: &AtomicUsize) -> Result<Sales, Failure> {
        loop {
            let answer = self.answer()?;
            if let Some(step) = answer.get("done").and_then(Value::as_u64) {
                done.fetch_add(step as usize, Ordering::Relaxed);
            } else {
                return read_sales(&answer).ok_or_else(|| unexpected(&answer));
            }
        }
    }

    fn answer(&mut self) -> Result<Value, Failure> {
        let line = match self.answers.next() {
            Some(Ok(line)) => line,
            Some(Err(error)) => return Err(Failure::broken("reading from a worker", &error)),
            None => return Err(Failure::Broken("a worker has died".into())),
        };
        let answer: Value = serde_json::from_str(&line)
            .map_err(|error| Failure::broken("reading from a worker", &error))?;
        match answer.get("error").and_then(Value::as_str) {
            Some(error) => Err(Failure::Broken(error.to_owned())),
            None => Ok(answer),
        }
    }
}

impl Drop for Worker {
    /// Hangs up: a worker that still waits for its go gives up then, and one that is done has ended already. One that is
    /// selling finishes first.
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

fn unexpected(answer: &Value) -> Failure {
    Failure::Broken(format!("a worker said {answer}"))
}

/// The whole life of a worker, from the inside.
pub fn work_for_parent() -> Result<(), Failure> {
    let answer = live().unwrap_or_else(|failure| json!({ "error": failure.to_string() }));
    say(&answer)
}

fn live() -> Result<Value, Failure> {
    let mut lines = std::io::stdin().lines();
    let mut listen = || match lines.next() {
        Some(Ok(line)) => Ok(line),
        Some(Err(error)) => Err(Failure::broken("reading from the parent", &error)),
        None => Err(Failure::Broken("the parent has hung up".into())),
    };
    let work: Value = serde_json::from_str(&listen()?)
        .map_err(|error| Failure::broken("reading the work", &error))?;
    let (url, way, orders) =
        read_work(&work).ok_or_else(|| Failure::Broken("this is no work".into()))?;
    let mut seller = Seller::new(connection::open(url)?, way);
    say(&json!({ "ready": true }))?;
    listen()?;
    for hand in orders.chunks(STEP) {
        for order in hand {
            seller.sell(order)?;
        }
        say(&json!({ "done": hand.len() }))?;
    }
    Ok(sales(&seller.sales()))
}

fn say(answer: &Value) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{answer}")
        .and_then(|()| stdout.flush())
        .map_err(|error| Failure::broken("the parent does not listen", &error))
}

/// The work of one worker: of the orders, the ones that it is dealt.
fn work(shift: &Shift<'_>, first: usize) -> Value {
    let line = |line: &Line| json!([line.product, line.quantity]);
    let order = |order: &Order| order.lines().iter().map(line).collect::<Value>();
    let dealt = shift.orders.iter().skip(first).step_by(shift.workers);
    json!({
        "url": shift.url,
        "way": shift.way.name(),
        "orders": dealt.map(order).collect::<Value>(),
    })
}

fn read_work(work: &Value) -> Option<(&str, Way, Vec<Order>)> {
    let line = |line: &Value| {
        Some(Line {
            product: line.get(0)?.as_i64()?,
            quantity: i32::try_from(line.get(1)?.as_i64()?).ok()?,
        })
    };
    let order = |order: &Value| -> Option<Order> {
        let lines: Option<_> = order.as_array()?.iter().map(line).collect();
        Some(Order::new(lines?))
    };
    let orders: Option<_> = work.get("orders")?.as_array()?.iter().map(order).collect();
    let way = Way::named(work.get("way")?.as_str()?)?;
    Some((work.get("url")?.as_str()?, way, orders?))
}

fn sales(sales: &Sales) -> Value {
    let units = sales
        .units
        .iter()
        .map(|(product, units)| json!([product, units]));
    json!({
        "accepted": sales.accepted,
        "refused": sales.refused,
        "units": units.collect::<Value>(),
        "conflicts": sales.conflicts,
        "retries": sales.retries,
    })
}

fn read_sales(answer: &Value) -> Option<Sales> {
    let number = |name: &str| answer.get(name)?.as_u64();
    let mut units = Units::default();
    for entry in answer.get("units")?.as_array()? {
        units.add(entry.get(0)?.as_i64()?, entry.get(1)?.as_i64()?);
    }
    Some(Sales {
        accepted: number("accepted")?,
        refused: number("refused")?,
        units,
        conflicts: number("conflicts")?,
        retries: number("retries")?,
    })
}
