//! Counts of instructions, by valgrind.

use std::fs;
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
    let file = format!("fibre-bench-valgrind-{}", std::process::id());
    let file = std::env::temp_dir().join(file);
    let mut valgrind = Command::new("valgrind");
    valgrind
        .args(["--quiet", "--tool=cachegrind", "--cache-sim=no"])
        .args(CACHES)
        .arg(format!("--cachegrind-out-file={}", file.display()))
        .arg(command.get_program())
        .args(command.get_args());
    let variables = command.get_envs();
    valgrind.envs(variables.filter_map(|(name, value)| Some((name, value?))));
    let ran = command::output_within(&mut valgrind, limit);
    let text = ran.and_then(|_| fs::read_to_string(&file).context("reading valgrind's counts"));
    // Where valgrind did not get so far there is none.
    fs::remove_file(&file).ok();
    total(&text?).context("valgrind wrote no total")
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
}
