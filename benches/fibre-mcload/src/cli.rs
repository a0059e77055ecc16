//! The command line.

use std::fs;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use crate::compare::Compare;
use anyhow::Context as _;
use clap::{Args, Parser, Subcommand};
use fibre_mcload::Plan;
use fibre_mcload::distribution::{Distribution, ETC_GAP, ETC_KEY, ETC_VALUE};
use fibre_mcload::keys::Popularity;
use fibre_mcload::protocol::Dialect;
use fibre_mcload::storm::Storm;
use fibre_mcload::values::MOST;
use rustix::thread::{CpuSet, sched_setaffinity};

/// The command line.
#[derive(Parser)]
#[command(
    version,
    about = "Puts load on Memcached servers, checks every answer, and compares servers"
)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What can be done.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Puts load on a server
    Run(Run),
    /// Opens connections that do nothing, and says what each costs the server
    Idle(Idle),
    /// Starts servers in turn, measures them side by side, and writes tables and plots
    Compare(Compare),
}

impl Command {
    /// Does it.
    pub(crate) fn execute(&self) -> anyhow::Result<ExitCode> {
        fibre_measure::raise_file_limit()?;
        match self {
            Self::Run(run) => run.execute(),
            Self::Idle(idle) => idle.execute(),
            Self::Compare(compare) => compare.execute(),
        }
    }
}

/// Which server, and how its load is to run.
#[derive(Args)]
pub(crate) struct Target {
    /// HOST:PORT of the server
    server: String,
    /// Its process id [default: of whoever listens there on this machine]
    #[arg(long)]
    server_pid: Option<u32>,
    /// Print the report as one line of JSON
    #[arg(long)]
    json: bool,
    /// Write the report as JSON to a file, too
    #[arg(long)]
    output: Option<PathBuf>,
    /// Cores to run on, such as 1 or 2,3 [default: all]
    #[arg(long, value_delimiter = ',')]
    cores: Vec<usize>,
    /// Connections open at a time
    #[arg(long, short, default_value_t = 64)]
    connections: u32,
    /// Seconds that an answer may take before its connection is given up
    #[arg(long, default_value = "10", value_parser = fibre_measure::duration)]
    timeout: Duration,
}

/// Load.
#[derive(Args)]
pub(crate) struct Run {
    #[command(flatten)]
    target: Target,
    /// The dialect
    #[arg(long, value_enum, default_value_t = Dialect::Text)]
    protocol: Dialect,
    /// Requests under way on a connection, at most
    #[arg(long, short, default_value_t = 1)]
    pipeline: usize,
    /// Share of the requests that store
    #[arg(long, short, default_value_t = 0.1)]
    update: f64,
    /// Number of keys
    #[arg(long, default_value_t = 10_000)]
    keys: u32,
    /// Bytes of a key: N, fixed:N, uniform:A,B, exponential:MEAN, pareto:A,B,C, gev:A,B,C, etc-key
    #[arg(long, default_value = "30")]
    key_size: Distribution,
    /// Bytes of a value: as --key-size, or etc-value; at least 8
    #[arg(long, default_value = "200")]
    value_size: Distribution,
    /// Bytes of the longest value
    #[arg(long, default_value_t = MOST)]
    value_limit: usize,
    /// Sizes and times between requests as in Facebook's general-purpose pool (ETC)
    #[arg(long)]
    etc: bool,
    /// Ask for keys by Zipf's law with this exponent below 1 [default: all alike]
    #[arg(long, value_parser = exponent)]
    zipf: Option<f64>,
    /// Do not store all keys first; values of other runs are then wrong
    #[arg(long)]
    no_preload: bool,
    /// Requests per second of all connections, due whether or not earlier ones were answered
    /// [default: a closed loop]
    #[arg(long)]
    rate: Option<f64>,
    /// Shape of the times between requests: as --key-size, or etc-gap
    #[arg(long, default_value = "exponential:1")]
    gap: Distribution,
    /// Seconds before it counts
    #[arg(long, default_value = "1", value_parser = fibre_measure::duration)]
    warm_up: Duration,
    /// Seconds that it counts
    #[arg(long, short, default_value = "10", value_parser = fibre_measure::duration)]
    seconds: Duration,
    /// Requests, at most; without warm-up
    #[arg(long)]
    requests: Option<u64>,
    /// Kernel threads of the load
    #[arg(long, default_value_t = 1)]
    processors: usize,
    /// What all that is random follows from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Clients that misbehave: trickle, slow-reader, kill, flood, short; may be repeated
    #[arg(long, value_name = "KIND=CLIENTS")]
    storm: Vec<Storm>,
    /// Fail also when a connection was lost or a request not answered
    #[arg(long)]
    strict: bool,
}

/// Idle connections.
#[derive(Args)]
pub(crate) struct Idle {
    #[command(flatten)]
    target: Target,
}

impl Target {
    /// A plan with these values.
    fn plan(&self) -> anyhow::Result<Plan> {
        pin(&self.cores).context("choosing the cores")?;
        let mut plan = Plan::new(address(&self.server)?);
        plan.pid = self.server_pid;
        plan.connections = self.connections;
        plan.timeout = self.timeout;
        plan.progress = !self.json;
        Ok(plan)
    }

    /// Prints and writes a report.
    fn publish<T: serde::Serialize>(&self, report: &T, words: &str) -> anyhow::Result<()> {
        let json = serde_json::to_string(report)?;
        println!("{}", if self.json { &json } else { words });
        if let Some(path) = &self.output {
            fs::write(path, json).with_context(|| format!("writing {}", path.display()))?;
        }
        Ok(())
    }
}

impl Run {
    /// Puts the load on, and fails if an answer was wrong.
    fn execute(&self) -> anyhow::Result<ExitCode> {
        let report = self.plan()?.run()?;
        self.target.publish(&report, &report.to_string())?;
        let good = if self.strict {
            report.is_clean()
        } else {
            report.is_right()
        };
        Ok(if good {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        })
    }

    /// What was asked for.
    fn plan(&self) -> anyhow::Result<Plan> {
        let etc = |plain, etc| if self.etc { etc } else { plain };
        Ok(Plan {
            dialect: self.protocol,
            pipeline: self.pipeline,
            update: self.update,
            keys: self.keys,
            key_size: etc(self.key_size, ETC_KEY),
            value_size: etc(self.value_size, ETC_VALUE),
            value_limit: self.value_limit,
            popularity: self.zipf.map_or(Popularity::Uniform, Popularity::Zipf),
            preload: !self.no_preload,
            rate: self.rate,
            gap: etc(self.gap, ETC_GAP),
            warm_up: self.requests.map_or(self.warm_up, |_| Duration::ZERO),
            seconds: self.seconds,
            requests: self.requests,
            processors: self.processors,
            seed: self.seed,
            storms: self.storm.clone(),
            ..self.target.plan()?
        })
    }
}

impl Idle {
    /// Opens the connections.
    fn execute(&self) -> anyhow::Result<ExitCode> {
        let idle = self.target.plan()?.idle()?;
        let words = format!(
            "{} idle connections: {:.0} bytes each, and {:.0} of the kernel; {} threads; {:.0} µs of CPU time in a second",
            idle.connections,
            idle.bytes_per_connection,
            idle.kernel_bytes_per_connection,
            idle.threads,
            idle.idle_cpu_us_per_second,
        );
        self.target.publish(&idle, &words)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Restricts this process to cores, if there are any in the list.
fn pin(cores: &[usize]) -> io::Result<()> {
    if cores.is_empty() {
        return Ok(());
    }
    let mut set = CpuSet::new();
    cores.iter().for_each(|&core| set.set(core));
    Ok(sched_setaffinity(None, &set)?)
}

/// The first address of a server.
fn address(text: &str) -> anyhow::Result<SocketAddr> {
    let mut addresses = text.to_socket_addrs().context("HOST:PORT")?;
    addresses.next().context("the address leads nowhere")
}

/// Parses an exponent of Zipf's law.
fn exponent(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "not a number")?;
    if (0.0..1.0).contains(&number) {
        Ok(number)
    } else {
        Err("from 0 to less than 1".into())
    }
}
