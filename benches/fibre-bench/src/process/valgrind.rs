//! Counts of instructions and of what misses simulated caches, by valgrind.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Context as _;

use super::command;

/// Sizes of caches, which it does not simulate but would warn of if it looked for them itself.
const CACHES: [&str; 3] = ["--I1=32768,8,64", "--D1=32768,8,64", "--LL=8388608,16,64"];

/// Whether valgrind is installed.
pub(crate) fn installed() -> bool {
    command::installed("valgrind")
}

/// How many instructions a command executes in user space, in all its threads. It is run
/// once, and ends well within `limit`.
pub(crate) fn instructions(command: &Command, limit: Duration) -> anyhow::Result<f64> {
    let file = file("valgrind");
    let mut options = vec!["--cache-sim=no".to_owned()];
    options.extend(CACHES.map(str::to_owned));
    let mut valgrind = cachegrind(command, &options, &file);
    let ran = command::output_within(&mut valgrind, limit);
    let text = ran.and_then(|_| fs::read_to_string(&file).context("reading valgrind's counts"));
    remove(&file);
    total(&text?).context("valgrind wrote no total")
}

/// The command that runs this one under cachegrind, which writes its counts into a file.
fn cachegrind(command: &Command, options: &[String], file: &Path) -> Command {
    let mut valgrind = Command::new("valgrind");
    valgrind
        .args(["--quiet", "--tool=cachegrind"])
        .args(options)
        .arg(format!("--cachegrind-out-file={}", file.display()))
        .arg(command.get_program())
        .args(command.get_args());
    let variables = command.get_envs();
    valgrind.envs(variables.filter_map(|(name, value)| Some((name, value?))));
    valgrind
}

/// A file of this process for counts of this kind.
fn file(kind: &str) -> PathBuf {
    std::env::temp_dir().join(format!("fibre-bench-{kind}-{}", std::process::id()))
}

/// Two caches for data; each has so many bytes, ways, and bytes in a line.
#[derive(Clone, Copy)]
pub(crate) struct Caches {
    pub(crate) near: [usize; 3],
    pub(crate) far: [usize; 3],
}

/// What a program has executed, and what was in neither cache when it was touched.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Counts {
    pub(crate) instructions: f64,
    /// What was not in the near cache.
    pub(crate) near: f64,
    /// What was not in the far cache, either.
    pub(crate) far: f64,
    /// The first of these two by function.
    pub(crate) functions: BTreeMap<String, f64>,
}

impl Counts {
    /// What is left when those of another run are taken off, for each of so many operations.
    pub(crate) fn more_than(mut self, other: &Self, operations: f64) -> Self {
        let per_operation = |more: f64, less: f64| (more - less) / operations;
        for (name, count) in &mut self.functions {
            let before = other.functions.get(name).copied().unwrap_or(0.0);
            *count = per_operation(*count, before);
        }
        Self {
            instructions: per_operation(self.instructions, other.instructions),
            near: per_operation(self.near, other.near),
            far: per_operation(self.far, other.far),
            functions: self.functions,
        }
    }
}

/// A program that runs in simulated caches.
pub(crate) struct Simulation {
    /// Where valgrind writes what it has counted, when the program has ended.
    file: PathBuf,
}

impl Simulation {
    /// The command that runs this one in such caches.
    pub(crate) fn of(command: &Command, caches: Caches) -> (Self, Command) {
        let file = file("caches");
        let [near, far] = [caches.near, caches.far]
            .map(|numbers| numbers.map(|number| number.to_string()).join(","));
        let options = [
            "--cache-sim=yes".to_owned(),
            CACHES[0].to_owned(),
            format!("--D1={near}"),
            format!("--LL={far}"),
        ];
        let valgrind = cachegrind(command, &options, &file);
        (Self { file }, valgrind)
    }

    /// What was counted. The program has ended.
    pub(crate) fn counts(self) -> anyhow::Result<Counts> {
        let text = fs::read_to_string(&self.file).context("reading valgrind's counts");
        parse(&text?).context("valgrind did not count what it should")
    }
}

impl Drop for Simulation {
    fn drop(&mut self) {
        remove(&self.file);
    }
}

/// Removes a file of counts; where valgrind did not get so far there is none.
fn remove(file: &Path) {
    fs::remove_file(file).ok();
}

/// Reads a file of cachegrind's: the names of what is counted, then functions, each with the counts
/// of its lines.
fn parse(text: &str) -> Option<Counts> {
    let events = text.lines().find_map(|line| line.strip_prefix("events:"))?;
    let place = |name| events.split_whitespace().position(|event| event == name);
    let instructions = place("Ir")?;
    let near = [place("D1mr")?, place("D1mw")?];
    let far = [place("DLmr")?, place("DLmw")?];
    let mut counts = Counts::default();
    let mut function = String::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("fn=") {
            name.clone_into(&mut function);
        } else if line.starts_with(|first: char| first.is_ascii_digit()) {
            let numbers = line.split_whitespace().skip(1);
            let numbers: Vec<f64> = numbers.map_while(|number| number.parse().ok()).collect();
            let number = |place: usize| numbers.get(place).copied().unwrap_or(0.0);
            let missed = near.map(number).iter().sum::<f64>();
            counts.instructions += number(instructions);
            counts.near += missed;
            counts.far += far.map(number).iter().sum::<f64>();
            *counts.functions.entry(function.clone()).or_default() += missed;
        }
    }
    Some(counts)
}

/// The total in a file of cachegrind's.
fn total(text: &str) -> Option<f64> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("summary:"))?;
    line.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_found() {
        assert_eq!(total("fn=main\n3 17\nsummary: 4711\n"), Some(4711.0));
        assert_eq!(total("fn=main\n3 17\n"), None);
    }

    /// A file with two lines of one function, and one of the other.
    const FILE: &str = "\
desc: D1 cache: 32768 B
cmd: program
events: Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw
fl=a.rs
fn=one
10 100 0 0 50 4 1 20 2 0
11 7 0 0 3 1 1 1 0 0
fn=other
3 1 0 0 1 0 0 1 1 1
summary: 108 0 0 54 5 2 22 3 1
";

    #[test]
    fn misses_are_found_by_function() {
        let counts = parse(FILE).unwrap();
        let of = |name: &str| counts.functions[name];
        assert_eq!(
            (counts.instructions, counts.near, counts.far),
            (108.0, 8.0, 3.0)
        );
        assert_eq!((of("one"), of("other")), (7.0, 1.0));
        assert_eq!(parse("events: Ir\nfn=one\n1 2\n"), None);
    }

    #[test]
    fn what_it_takes_to_start_cancels() {
        let (mut more, less) = (parse(FILE).unwrap(), parse(FILE).unwrap());
        more.near += 6.0;
        *more.functions.get_mut("one").unwrap() += 6.0;
        let counts = more.more_than(&less, 2.0);
        assert_eq!(
            (counts.instructions, counts.near, counts.far),
            (0.0, 3.0, 0.0)
        );
        assert_eq!(
            (counts.functions["one"], counts.functions["other"]),
            (3.0, 0.0)
        );
    }
}
