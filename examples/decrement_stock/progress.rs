//! A bar on the terminal while the workers are at it; nothing at all where standard error is not one.

use std::io::{IsTerminal, Write, stderr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

const WIDTH: usize = 32;

/// Does the work, which counts what is done, and shows the count ten times a second.
pub fn watched<T>(label: &str, total: usize, work: impl FnOnce(&AtomicUsize) -> T) -> T {
    let done = AtomicUsize::new(0);
    if !stderr().is_terminal() {
        return work(&done);
    }
    let (working, over) = channel::<()>();
    std::thread::scope(|scope| {
        // Owned here, so that a panic of the work drops it too and the painter goes home.
        let working = working;
        scope.spawn(|| {
            let over = over;
            while over.recv_timeout(Duration::from_millis(100)) == Err(RecvTimeoutError::Timeout) {
                paint(&bar(label, done.load(Ordering::Relaxed), total));
            }
            paint("");
        });
        let result = work(&done);
        drop(working);
        result
    })
}

fn bar(label: &str, done: usize, total: usize) -> String {
    let filled = WIDTH * done.min(total) / total.max(1);
    let (filled, empty) = ("#".repeat(filled), "-".repeat(WIDTH - filled));
    format!("{label:<12}[{filled}{empty}] {done}/{total}")
}

/// A bar that cannot be painted is no reason to stop.
fn paint(line: &str) {
    let mut stderr = stderr().lock();
    let _ = write!(stderr, "\r\x1b[2K{line}");
    let _ = stderr.flush();
}
