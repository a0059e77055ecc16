//! Commands as they are run, judged and printed.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::Duration;

use anyhow::{Result, bail};

/// The exit code of `timeout` when the time was up.
const TIMED_OUT: i32 = 124;

/// The same command under `timeout` if there is a budget.
pub(crate) fn under_budget(command: &Command, left: Option<Duration>) -> Command {
    let mut limited = match left {
        Some(left) => {
            let mut limited = Command::new("timeout");
            limited.args(["--kill-after=10", &left.as_secs().max(1).to_string()]);
            limited.arg(command.get_program());
            limited
        }
        None => Command::new(command.get_program()),
    };
    limited.args(command.get_args());
    surround(&mut limited, command);
    limited
}

/// Gives a command the folder and the environment of another one.
pub(crate) fn surround(command: &mut Command, by: &Command) {
    if let Some(folder) = by.get_current_dir() {
        command.current_dir(folder);
    }
    for (name, value) in by.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
}

/// An error unless the command succeeded.
pub(crate) fn judge(status: ExitStatus) -> Result<()> {
    match status.code() {
        Some(0) => Ok(()),
        Some(TIMED_OUT) => bail!("the time budget was used up (exit code {TIMED_OUT})"),
        _ => bail!("the command failed: {status}"),
    }
}

/// Prints the command as one would type it.
pub(crate) fn print_command(command: &Command) {
    println!("$ {}", command_line(command));
}

/// The added environment, the program's name and its arguments, quoted for a shell.
fn command_line(command: &Command) -> String {
    let mut words: Vec<String> = command
        .get_envs()
        .filter_map(|(name, value)| Some((name, value?)))
        .map(|(name, value)| format!("{}={}", name.display(), quoted(value)))
        .collect();
    let program = Path::new(command.get_program());
    words.push(quoted(program.file_name().unwrap_or(program.as_os_str())));
    words.extend(command.get_args().map(quoted));
    words.join(" ")
}

/// The word itself, or in single quotes if a shell would read it otherwise.
fn quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:,+%@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.into_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// What to say when a program cannot be started.
pub(crate) fn cannot_start(command: &Command) -> String {
    format!("cannot start {}", command.get_program().display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printed_command_can_be_typed_again() {
        let mut command = Command::new("/usr/bin/cargo");
        command
            .env("RUSTFLAGS", "--cfg loom")
            .args(["test", "--test", "loom_*"]);
        assert_eq!(
            command_line(&command),
            "RUSTFLAGS='--cfg loom' cargo test --test 'loom_*'"
        );
    }
}
