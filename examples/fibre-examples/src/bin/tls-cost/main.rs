//! What TLS handshakes and requests cost the server `https`, by fibres and by threads.
//!
//! ```sh
//! cargo build --release -p fibre-examples
//! cargo run --release -p fibre-examples --bin tls-cost
//! ```
//!
//! It starts `https`, which lies beside it, once with fibres and once with `--threads`, in turns,
//! and asks it in two ways: a connection with a handshake for each request, and one connection for
//! many requests. The clients are fibres of one processor, and the same each time. What is told is
//! the median of the rounds; the CPU time is the server's alone, so that neither the clients' nor
//! who else is busy on the machine counts.
//!
//! | file | its one idea |
//! |---|---|
//! | `load` | many clients that ask for a while |
//! | `subject` | the server as a process, and its CPU time |

mod load;
mod subject;

use std::io;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use fibre::Cluster;
use fibre_examples::options::{at_least_one, seconds};

use crate::load::{Load, Manner};
use crate::subject::Subject;

/// Compares a fibre per TLS connection with a thread per TLS connection.
#[derive(Parser)]
#[command(version, name = "tls-cost")]
struct Options {
    /// Connections at the same time
    #[arg(long, default_value_t = 100, value_parser = at_least_one)]
    connections: usize,

    /// Seconds of each measurement
    #[arg(long, default_value = "2", value_parser = seconds)]
    seconds: Duration,

    /// Rounds; the median counts
    #[arg(long, default_value_t = 3, value_parser = at_least_one)]
    rounds: usize,

    /// Processors of the server with fibres
    #[arg(long, default_value_t = 1, value_parser = at_least_one)]
    processors: usize,
}

/// What one measurement has shown.
#[derive(Clone, Copy)]
struct Figures {
    /// Answers in a second.
    per_second: f64,
    /// The server's CPU time for an answer, in microseconds.
    cost: f64,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tls-cost: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Measures all rounds and prints a table.
fn run(options: &Options) -> io::Result<()> {
    let clients = Cluster::builder().processors(1).name("clients").build()?;
    let kinds = [
        ("a handshake and a request", Manner::Handshakes),
        ("a request", Manner::Requests),
    ];
    println!(
        "{} connections, median of {} rounds\n",
        options.connections, options.rounds
    );
    println!("| | by | per second | CPU time each |\n|---|---|---:|---:|");
    for (title, manner) in kinds {
        let mut figures = [Vec::new(), Vec::new()];
        for _ in 0..options.rounds {
            for (threads, figures) in [false, true].into_iter().zip(&mut figures) {
                figures.push(measure(options, &clients, manner, threads)?);
            }
        }
        for (who, figures) in ["fibres", "threads"].into_iter().zip(figures) {
            let per_second = median(figures.iter().map(|figures| figures.per_second));
            let cost = median(figures.iter().map(|figures| figures.cost));
            println!("| {title} | {who} | {per_second:.0} | {cost:.1} µs |");
        }
    }
    clients.stop();
    Ok(())
}

/// Starts a server, has it asked, and stops it.
fn measure(
    options: &Options,
    clients: &Cluster,
    manner: Manner,
    threads: bool,
) -> io::Result<Figures> {
    let subject = Subject::start(threads, options.processors)?;
    let load = Load::new(subject.address(), &subject.certificate()?, manner)?;
    let before = subject.processor_time()?;
    let answers = load.run(clients, options.connections, options.seconds)?;
    let used = subject.processor_time()? - before;
    subject.stop()?;
    Ok(Figures {
        per_second: answers as f64 / options.seconds.as_secs_f64(),
        cost: used.as_secs_f64() * 1e6 / answers as f64,
    })
}

/// The middle one.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
