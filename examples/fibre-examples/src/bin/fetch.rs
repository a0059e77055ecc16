//! Gets many addresses at the same time by ureq, a blocking HTTP(S) client: one agent with one pool
//! of connections for all fibres, and a fibre for each address.
//!
//! ```sh
//! cargo run --release -p fibre-examples --bin fetch -- https://example.org/
//! cargo run --release -p fibre-examples --bin fetch -- \
//!     --repeat 1000 --jobs 50 http://127.0.0.1:8080/
//! ```
//!
//! It prints a line for each address that failed, and at the end how many did not. How ureq comes
//! to our streams is told in the crate `fibre-ureq`.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use clap::Parser;
use fibre::sync::Semaphore;
use fibre_examples::exit_code;
use fibre_examples::options::{at_least_one, seconds};
use ureq::Agent;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

/// Gets addresses, each in a fibre of its own.
#[derive(Parser)]
#[command(version, name = "fetch")]
struct Options {
    /// What to get: http://… or https://…
    #[arg(required = true)]
    addresses: Vec<String>,

    /// How often to get each
    #[arg(long, default_value_t = 1, value_parser = at_least_one)]
    repeat: usize,

    /// How many to get at the same time
    #[arg(long, default_value_t = 16, value_parser = at_least_one)]
    jobs: usize,

    /// A certificate in PEM to trust, instead of the usual authorities
    #[arg(long)]
    ca: Option<PathBuf>,

    /// Seconds that each may take in all
    #[arg(long, default_value = "30", value_parser = seconds)]
    timeout: Duration,
}

/// What has been got.
#[derive(Default)]
struct Tally {
    /// Answers.
    answers: AtomicUsize,
    /// Bytes of their bodies.
    bytes: AtomicUsize,
}

fn main() -> ExitCode {
    exit_code("fetch", run(&Options::parse()))
}

/// Gets all, and returns how many could not be got.
fn run(options: &Options) -> io::Result<usize> {
    let agent = agent(options)?;
    let tally = Tally::default();
    let jobs = Semaphore::new(options.jobs);
    let started = Instant::now();
    fibre::scope(|scope| {
        for _ in 0..options.repeat {
            for address in &options.addresses {
                // The permit comes before the fibre, so that there are never more of them.
                let permit = jobs.permit();
                let (agent, tally) = (&agent, &tally);
                scope.spawn(move || {
                    get(agent, address, tally);
                    drop(permit);
                });
            }
        }
    });
    let answers = tally.answers.into_inner();
    println!(
        "{answers} answers, {} bytes, in {:.3} s",
        tally.bytes.into_inner(),
        started.elapsed().as_secs_f64()
    );
    Ok(options.repeat * options.addresses.len() - answers)
}

/// Gets one and says so if it fails.
fn get(agent: &Agent, address: &str, tally: &Tally) {
    let got = agent
        .get(address)
        .call()
        .and_then(|mut answer| answer.body_mut().read_to_vec());
    match got {
        Ok(body) => {
            tally.answers.fetch_add(1, Ordering::Relaxed);
            tally.bytes.fetch_add(body.len(), Ordering::Relaxed);
        }
        Err(error) => eprintln!("{address}: {error}"),
    }
}

/// The agent as the options want it.
fn agent(options: &Options) -> io::Result<Agent> {
    let mut config = Agent::config_builder()
        .timeout_global(Some(options.timeout))
        .max_idle_connections_per_host(options.jobs)
        .max_idle_connections(options.jobs);
    if let Some(path) = &options.ca {
        let certificate = Certificate::from_pem(&fs::read(path)?).map_err(io::Error::other)?;
        let trusted = RootCerts::from(vec![certificate]);
        config = config.tls_config(TlsConfig::builder().root_certs(trusted).build());
    }
    Ok(fibre_ureq::agent(config.build()))
}
