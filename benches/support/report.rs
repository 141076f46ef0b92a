//! Lines and bars: a bar that is missed is printed and listed again at the end, and decides nothing.

use std::ops::RangeInclusive;
use std::process::Command;

/// Where a figure is to be: `0.0..=0.6` is at most 0.6, `0.5..=f64::INFINITY` at least 0.5.
pub type Bar = RangeInclusive<f64>;

fn shown(bar: &Bar) -> String {
    match (*bar.start(), *bar.end()) {
        (least, f64::INFINITY) => format!(">={least:.2}"),
        (least, most) if least == most => most.to_string(),
        (_, most) => format!("<={most:.2}"),
    }
}

pub struct Report {
    scale: Scale,
    bars: usize,
    missed: Vec<String>,
}

impl Report {
    pub fn new(scale: Scale) -> Self {
        Report {
            scale,
            bars: 0,
            missed: Vec::new(),
        }
    }

    /// Prints a line about a figure. A smoke test has no bars.
    pub fn line(&mut self, text: &str, figure: f64, bar: Option<Bar>) {
        let Some(bar) = bar.filter(|_| self.scale != Scale::Smoke) else {
            println!("{text} no bar");
            return;
        };
        self.bars += 1;
        let is_met = bar.contains(&figure);
        let verdict = if is_met { "ok" } else { "MISSED" };
        let line = format!("{text} bar {} {verdict}", shown(&bar));
        println!("{line}");
        if !is_met {
            self.missed.push(line);
        }
    }

    pub fn end(self) {
        println!("\n{} bars, {} missed", self.bars, self.missed.len());
        for line in self.missed {
            println!("  {line}");
        }
    }
}

/// `0.33 [0.31..0.36 of 15]`: median, range and number.
pub fn spread(values: &[f64]) -> String {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (median, number) = (median(values), values.len());
    format!("{median:.2} [{least:.2}..{most:.2} of {number}]")
}

pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 {
        sorted[middle]
    } else {
        f64::midpoint(sorted[middle - 1], sorted[middle])
    }
}

/// What the figures depend on.
pub fn print_machine(servers: &str) {
    let rustc = Command::new("rustc").arg("--version").output();
    let rustc = rustc.map_or_else(
        |_| "rustc unknown".to_owned(),
        |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
    );
    let cpus = std::thread::available_parallelism().map_or(0, usize::from);
    println!("{servers}, {rustc}, {cpus} CPUs");
}

/// How much a benchmark does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    Full,
    /// `--quick`: less than 20 seconds.
    Quick,
    /// Without `--bench`, as `cargo test --benches` starts it: that it works at all.
    Smoke,
}

impl Scale {
    /// The scale, and the arguments that are not about it.
    pub fn from_args() -> (Scale, Vec<String>) {
        let mut scale = Scale::Smoke;
        let mut rest = Vec::new();
        for arg in std::env::args().skip(1) {
            match arg.as_str() {
                "--bench" if scale == Scale::Smoke => scale = Scale::Full,
                "--bench" => {}
                "--quick" => scale = Scale::Quick,
                _ => rest.push(arg),
            }
        }
        (scale, rest)
    }
}
