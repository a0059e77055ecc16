//! What a result must say about where it was measured.

use std::fmt;
use std::fs;
use std::process::Command;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

/// Machine, tools and source of a run.
#[derive(Serialize, Deserialize)]
pub struct Machine {
    cpu: String,
    cores: usize,
    kernel: String,
    rustc: String,
    /// Abbreviated commit, with `-dirty` when the tree differs from it.
    commit: String,
    date: String,
    /// Other load when the run started: the 1-minute average.
    load: String,
}

impl Machine {
    /// Looks at this machine now.
    pub fn observe() -> Self {
        Self {
            cpu: cpu_model(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            kernel: first_word("/proc/sys/kernel/osrelease"),
            rustc: output("rustc", &["--version"]),
            commit: output("git", &["describe", "--always", "--dirty", "--exclude=*"]),
            date: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
            load: first_word("/proc/loadavg"),
        }
    }

    /// Processor, cores and day alone, for the title of a plot.
    pub fn place_and_day(&self) -> String {
        let day = self.date.split('T').next().unwrap_or_default();
        format!("{}, {} cores · {day}", self.cpu, self.cores)
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, {} cores · Linux {} · {} · commit {} · {} · load {}",
            self.cpu, self.cores, self.kernel, self.rustc, self.commit, self.date, self.load
        )
    }
}

/// The processor's name as the kernel tells it.
fn cpu_model() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    text.lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map_or_else(unknown, |(_, model)| model.into())
}

/// The first word of a file under `/proc`.
fn first_word(path: &str) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace()
        .next()
        .map_or_else(unknown, Into::into)
}

/// What a program prints, on one line.
fn output(program: &str, arguments: &[&str]) -> String {
    match Command::new(program).args(arguments).output() {
        Ok(output) if output.status.success() => {
            String::from_utf8_lossy(&output.stdout).trim().into()
        }
        _ => unknown(),
    }
}

fn unknown() -> String {
    "unknown".into()
}
