//! `fibre-trace`: reads the event traces that programs write with `FIBRE_TRACE`, on any machine.
//!
//! It knows the files only, and nothing of the crates that write them. Modules, lowest first; each
//! imports only from those above it in this list:
//!
//! | module | what it is |
//! |---|---|
//! | `file` | the form of a file |
//! | `event` | the events in it |
//! | `awaited` | what fibres wait for, in words |
//! | `history` | the events of all processors put together: runs, waits, wake-ups |
//! | `statistics` | percentiles, and times in words |
//! | `summary` | the history for people |
//! | `perfetto` | the history for Perfetto |
//! | `picture` | a short time of the history as a picture |
//! | `cli` | the command line |

#![deny(unreachable_pub, unnameable_types)]

mod awaited;
mod cli;
mod event;
mod file;
mod history;
mod perfetto;
mod picture;
mod statistics;
mod summary;

use clap::Parser as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    match cli::Cli::parse().execute() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fibre-trace: {error:#}");
            ExitCode::FAILURE
        }
    }
}
