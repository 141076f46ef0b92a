//! Eight workers at once: threads, or processes that this program starts of itself. A process says that it is ready, waits
//! for a line on its standard input, and ends with its tally as four numbers.

use crate::selling::Tally;
use crate::worker::{Order, work};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Barrier;
use std::time::Duration;

pub const WORKERS: usize = 8;

/// The first argument of a process that is a worker.
pub const WORKER: &str = "--worker";

const READY: &str = "ready\n";

pub fn threads(order: &Order) -> Vec<Tally> {
    let barrier = Barrier::new(WORKERS);
    let start = || {
        barrier.wait();
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS)
            .map(|_| scope.spawn(|| work(order, start)))
            .collect();
        workers
            .into_iter()
            .map(|worker| worker.join().expect("a worker"))
            .collect()
    })
}

pub fn processes(order: &Order) -> Vec<Tally> {
    let mut workers: Vec<_> = (0..WORKERS).map(|_| Worker::spawn(order)).collect();
    for worker in &mut workers {
        assert_eq!(worker.line(), READY);
    }
    for worker in &mut workers {
        worker.go();
    }
    workers.iter_mut().map(Worker::tally).collect()
}

/// A process; killed when it is dropped before its end.
struct Worker {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Worker {
    fn spawn(order: &Order) -> Self {
        let program = std::env::current_exe().expect("the path of this program");
        let mut child = Command::new(program)
            .arg(WORKER)
            .args(order.to_args())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a process");
        let output = child.stdout.take().expect("its output");
        Worker {
            child,
            output: BufReader::new(output),
        }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("its output");
        line
    }

    fn go(&mut self) {
        let mut input = self.child.stdin.take().expect("its input");
        input.write_all(b"go\n").expect("its input");
    }

    fn tally(&mut self) -> Tally {
        let line = self.line();
        self.child.wait().expect("its end");
        let numbers: Vec<u64> = line
            .split_whitespace()
            .map(|number| number.parse().expect("a number"))
            .collect();
        let [accepted, conflicts, exhausted, micros] = numbers[..] else {
            panic!("a worker said {line:?}")
        };
        Tally {
            accepted,
            conflicts,
            exhausted,
            time: Duration::from_micros(micros),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Nothing to do for one that has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The life of a process that is a worker.
pub fn be_a_worker(args: &[String]) {
    let order = Order::from_args(args);
    let tally = work(&order, || {
        print!("{READY}");
        std::io::stdout().flush().expect("the output");
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).expect("the input");
    });
    let Tally {
        accepted,
        conflicts,
        exhausted,
        time,
    } = tally;
    let micros = time.as_micros();
    println!("{accepted} {conflicts} {exhausted} {micros}");
}
