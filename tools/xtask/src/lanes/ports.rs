//! `ports`: what keeps the lower crates from being compiled for another system, by file.
//!
//! There is no such port, so errors are what is asked for, and none of them fails the lane. The
//! compiler stops at the lowest crate that has some: the list grows when that one compiles. It is
//! for whoever begins a port, beside the page docs/PORTS.md, and not in CI.

use std::collections::BTreeMap;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde_json::Value;

use crate::commands::{cannot_start, print_command};
use crate::steps::Steps;
use crate::workspace::cargo;

/// The crates that a port begins with.
const CRATES: [&str; 3] = ["fibre-core", "fibre-sync", "fibre-io"];

/// The other system.
#[derive(Args)]
pub(crate) struct Options {
    /// The target; `rustup target add` gets its standard library
    #[arg(long, default_value = "x86_64-unknown-freebsd")]
    target: String,
}

/// Runs the lane.
pub(crate) fn run(steps: &mut Steps, options: &Options) -> Result<()> {
    let target = &options.target;
    steps.check(&format!("ports: {target}"), || {
        let mut check = cargo(["check", "--keep-going", "--message-format=json"]);
        check.args(["--target", target]);
        for name in CRATES {
            check.args(["--package", name]);
        }
        print_command(&check);
        let said = check.stderr(Stdio::inherit()).output();
        let said = said.with_context(|| cannot_start(&check))?;
        let errors = errors(&String::from_utf8_lossy(&said.stdout));
        let known = said.status.success() || !errors.is_empty();
        ensure!(known, "cargo fails by itself: is the target there?");
        for (file, count) in &errors {
            println!("| `{file}` | {count} |");
        }
        let count: usize = errors.values().sum();
        Ok(format!("{count} errors in {} files", errors.len()))
    })
}

/// How many errors of the compiler there are in each file.
fn errors(messages: &str) -> BTreeMap<String, usize> {
    let mut errors = BTreeMap::new();
    let messages = messages
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    for message in messages {
        let message: Value = message;
        let message = &message["message"];
        let mut spans = message["spans"].as_array().into_iter().flatten();
        let place = spans.find(|span| span["is_primary"] == true);
        if let (Some("error"), Some(span)) = (message["level"].as_str(), place) {
            let file = span["file_name"].as_str().unwrap_or_default();
            *errors.entry(file.to_owned()).or_default() += 1;
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_counted_by_file() {
        let message = |level: &str, file: &str| {
            let elsewhere = serde_json::json!({"file_name": "other.rs", "is_primary": false});
            let place = serde_json::json!({"file_name": file, "is_primary": true});
            let message = serde_json::json!({"level": level, "spans": [elsewhere, place]});
            serde_json::json!({"reason": "compiler-message", "message": message}).to_string()
        };
        let text = [
            message("error", "a.rs"),
            message("warning", "a.rs"),
            message("error", "b.rs"),
            message("error", "a.rs"),
            "{\"reason\":\"build-finished\",\"success\":false}".to_owned(),
        ]
        .join("\n");
        let found: Vec<_> = errors(&text).into_iter().collect();
        assert_eq!(found, [("a.rs".to_owned(), 2), ("b.rs".to_owned(), 1)]);
    }
}
