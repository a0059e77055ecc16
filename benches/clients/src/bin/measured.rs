//! The process that is measured: one kind of client, or a server, on threads or fibres.
//!
//! It prints one line of JSON, the [`Reading`]. A client that fails and an answer that is wrong end
//! it as failed.

use std::io::{self, Read, Write};
use std::thread;

use anyhow::Result;
use clap::Parser;
use fibre_clients::load::{Kind, Plan, Reading};
use fibre_clients::serving::Serving;
use fibre_clients::way::Way;
use fibre_libc as _;
use fibre_measure::{Stopwatch, raise_file_limit};

/// What is measured.
#[derive(Parser)]
#[command(version)]
enum Options {
    /// Clients of a server
    Clients {
        /// Which ones
        #[arg(long)]
        kind: Kind,
        /// How many
        #[command(flatten)]
        plan: Plan,
    },
    /// A server of the crate `tiny_http`, until standard input ends
    Serve {
        /// On what its workers run
        #[arg(long)]
        way: Way,
        /// Processors of the fibres' cluster
        #[arg(long, default_value_t = 1)]
        processors: usize,
        /// Workers
        #[arg(long, default_value_t = 100)]
        workers: usize,
    },
}

impl Options {
    /// On what it all runs.
    fn way(&self) -> Way {
        match self {
            Self::Clients { plan, .. } => plan.way,
            Self::Serve { way, .. } => *way,
        }
    }
}

fn main() -> Result<()> {
    let options = Options::parse();
    if options.way() == Way::Names {
        // SAFETY: no fibre of this program holds what belongs to its kernel thread over a call that
        // blocks; the clients are what is tested.
        unsafe { fibre_libc::install() };
    }
    raise_file_limit()?;
    let reading = match options {
        Options::Clients { kind, plan } => kind.run(&plan)?,
        Options::Serve {
            way,
            processors,
            workers,
        } => serve(way, processors, workers)?,
    };
    println!("{}", serde_json::to_string(&reading)?);
    Ok(())
}

/// Serves until standard input ends. The reading has what the server has cost, from its start.
fn serve(way: Way, processors: usize, workers: usize) -> Result<Reading> {
    let stopwatch = Stopwatch::start()?;
    let serving = Serving::bind()?;
    println!("http://{}", serving.address()?);
    io::stdout().flush()?;
    thread::scope(|scope| {
        let running = scope.spawn(|| serving.run(way, processors, workers));
        io::stdin().read_to_end(&mut Vec::new())?;
        serving.stop(workers);
        running
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })?;
    let sample = stopwatch.stop(1)?;
    Ok(Reading {
        wall_s: sample.wall_ns / 1e9,
        cpu_s: sample.cpu_ns / 1e9,
        answers: 0,
    })
}
