//! `fibre-top`: what the fibres and processors of a process do, while it runs, and when it hangs.
//!
//! Nothing has to be built into that process or switched on in it: each that uses fibre has a page,
//! and writes nothing of it until somebody reads it. A kernel thread of the process writes, so it
//! does so when every processor hangs. Modules, lowest first:
//!
//! | module | what it is |
//! |---|---|
//! | `source` | the page of a process: finding it, and reading from it |
//! | `snapshot` | what the process says there |
//! | `view` | what is shown: the last snapshot, and rates |
//! | `plain` | that as text |
//! | `screen` | that on a terminal |

mod plain;
mod screen;
mod snapshot;
mod source;
mod view;

use anyhow::{Context, Result, bail};
use clap::Parser;
use snapshot::Snapshot;
use source::Source;
use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use view::{Before, View};

/// Shows what the fibres and processors of a process do, also when it hangs.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100)]
struct Arguments {
    /// The process; without one, those are listed that can be looked at.
    process: Option<u32>,
    /// Print one view as text, and end.
    #[arg(long)]
    once: bool,
    /// Print views as JSON, one in a line; with --once one.
    #[arg(long)]
    json: bool,
    /// How long the process may take to answer and to read the names of its functions, as 500ms or
    /// 30s.
    #[arg(long, default_value = "30s", value_parser = humantime::parse_duration)]
    patience: Duration,
}

/// The time that `--once` counts over, at least.
const INTERVAL_US: u64 = 500_000;

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fibre-top: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Does what was asked for.
fn run(arguments: &Arguments) -> Result<()> {
    let Some(process) = arguments.process else {
        return list();
    };
    let words = || format!("process {process}");
    let source = Source::of(process).with_context(words)?;
    let name = source::name(process);
    let patience = arguments.patience;
    if arguments.once {
        let view = once(source, &name, patience).with_context(words)?;
        return print(&view, arguments.json);
    }
    if arguments.json {
        return follow(source, &name, patience).with_context(words);
    }
    match screen::run(source, name)? {
        Some(why) => bail!("process {process}: {why}"),
        None => Ok(()),
    }
}

/// Lists the processes that can be looked at.
fn list() -> Result<()> {
    let all = source::all();
    if all.is_empty() {
        bail!("there is no process that uses fibre, or that you may look at");
    }
    for process in all {
        say(&format!("{process} {}\n", source::name(process)))?;
    }
    Ok(())
}

/// The next snapshot.
fn next(source: &mut Source, patience: Duration) -> Result<Snapshot> {
    let text = source.next(patience)?;
    serde_json::from_slice(&text).context("what it says cannot be read")
}

/// One view, with a look at the fibres, over some time. A process that has not read the names of
/// its functions when `patience` ends, as the machine is busy, is shown without them.
fn once(mut source: Source, name: &str, patience: Duration) -> Result<View> {
    let begun = Instant::now();
    let left = || patience.saturating_sub(begun.elapsed());
    let first = next(&mut source, patience)?;
    let mut unnamed = None;
    loop {
        let now = match (next(&mut source, left()), unnamed.take()) {
            (Ok(now), _) => now,
            (Err(_), Some(before)) => return Ok(View::new(name, &first, before)),
            (Err(error), None) => return Err(error),
        };
        let is_late = now.at_us >= first.at_us + INTERVAL_US;
        match &now.look {
            Some(look) if look.unnamed => unnamed = Some(now),
            Some(_) if is_late => return Ok(View::new(name, &first, now)),
            _ => {}
        }
    }
}

/// Prints a view again and again, as long as the process is there.
fn follow(mut source: Source, name: &str, patience: Duration) -> Result<()> {
    let mut before = Before::default();
    before.of(&next(&mut source, patience)?);
    loop {
        let now = next(&mut source, patience)?;
        print(&View::new(name, before.of(&now), now), true)?;
    }
}

/// Prints a view.
fn print(view: &View, json: bool) -> Result<()> {
    if json {
        return say(&(serde_json::to_string(view)? + "\n"));
    }
    say(&plain::text(view))
}

/// Writes to standard output; whoever has read enough of it is no error.
fn say(text: &str) -> Result<()> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => std::process::exit(0),
        other => Ok(other?),
    }
}
