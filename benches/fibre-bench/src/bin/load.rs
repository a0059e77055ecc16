//! The load generator: what the command line asks for, as one line of JSON.
//!
//! `load ADDRESS --mode http --connections 100 --seconds 2` keeps a hundred
//! connections busy and prints requests per second, latencies and errors. It
//! is written so that one core of it can keep a server on another core busy.

use std::io::{self, Write as _};
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::time::Duration;

use anyhow::Context as _;
use clap::{Parser, ValueEnum};
use fibre_bench::load::{Disturbance, Exchange, HOLDING, Lifetime, Plan, Probe, Stalls, Summary};
use fibre_bench::measure::CpuClock;
use rustix::thread::{CpuSet, sched_setaffinity};

/// The command line.
#[derive(Parser)]
#[command(version, about = "Puts load on a server and prints one line of JSON")]
struct Arguments {
    /// HOST:PORT of the server.
    address: String,
    /// What the connections do.
    #[arg(long, value_enum, default_value_t = Mode::Http)]
    mode: Mode,
    /// Connections open at a time.
    #[arg(long, default_value_t = 100)]
    connections: usize,
    /// How long it counts; idle: how long connections are kept.
    #[arg(long, default_value = "1", value_parser = fibre_measure::duration)]
    seconds: Duration,
    /// How long the load runs before it counts.
    #[arg(long, default_value = "0", value_parser = fibre_measure::duration)]
    warm_up: Duration,
    /// Threads the connections are split among.
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// http: requests that one write sends; the next follow when all are answered.
    #[arg(long, default_value_t = 1)]
    pipeline: usize,
    /// http, echo: exchanges of each connection before it rests; `seconds` is then the longest that
    /// all of them may take.
    #[arg(long)]
    exchanges: Option<u64>,
    /// http: after its exchanges a connection is closed, and the next one opened.
    #[arg(long, requires = "exchanges")]
    reopen: bool,
    /// http: each connection also asks the server to compute for so many microseconds, at random
    /// times; that is not counted.
    #[arg(long, default_value_t = 0)]
    stall_us: u64,
    /// http: how often each connection does so, in a second.
    #[arg(long, default_value_t = 5.0)]
    stalls_per_second: f64,
    /// http: ask for this path; the first answer says how long all are.
    #[arg(long)]
    path: Option<String>,
    /// echo: bytes of a message.
    #[arg(long, default_value_t = 16)]
    size: usize,
    /// idle: print `holding` and keep the connections until standard input closes.
    #[arg(long)]
    hold: bool,
    /// Print also the CPU time for one request of the server with this process id.
    #[arg(long)]
    measure_pid: Option<u32>,
    /// Cores to run on, such as 1 or 2,3; else wherever the system allows.
    #[arg(long, value_delimiter = ',')]
    cores: Vec<usize>,
    /// probe: what disturbs it.
    #[arg(long, value_enum, default_value_t = Kind::Spin)]
    disturb: Kind,
    /// probe: how long that takes.
    #[arg(long, default_value_t = 1000)]
    disturb_ms: u64,
    /// probe: on how many connections it happens.
    #[arg(long, default_value_t = 1)]
    disturb_connections: usize,
}

/// What the connections do.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// Request after request on connections that stay open.
    Http,
    /// Messages that come back.
    Echo,
    /// One request for each connection.
    Short,
    /// One request, then nothing.
    Idle,
    /// One connection sends every millisecond while others disturb it.
    Probe,
}

/// What disturbs a probe.
#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    /// Nothing.
    None,
    /// A handler that burns CPU time.
    Spin,
    /// A handler that blocks its kernel thread.
    Block,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    arguments.pin().context("choosing the cores")?;
    fibre_measure::raise_file_limit()?;
    let summary = arguments.measure()?;
    println!("{}", serde_json::to_string(&summary)?);
    Ok(())
}

impl Arguments {
    /// Restricts this process to the cores that were named.
    fn pin(&self) -> io::Result<()> {
        if self.cores.is_empty() {
            return Ok(());
        }
        let mut set = CpuSet::new();
        self.cores.iter().for_each(|&core| set.set(core));
        Ok(sched_setaffinity(None, &set)?)
    }

    /// Does what was asked for.
    fn measure(&self) -> anyhow::Result<Summary> {
        let address = self.server()?;
        let server = self.measure_pid.map(CpuClock::of).transpose();
        let server = server.context("finding the clock of the server")?;
        if self.mode == Mode::Probe {
            return Ok(self.probe(address, server).run()?);
        }
        let plan = self.plan(address, server)?;
        if self.mode == Mode::Idle {
            return Ok(plan.hold(|| self.keep())?);
        }
        Ok(plan.run()?)
    }

    /// The server's address.
    fn server(&self) -> anyhow::Result<SocketAddr> {
        let mut addresses = self.address.to_socket_addrs()?;
        addresses.next().context("the address leads nowhere")
    }

    /// The closed loop that was asked for.
    fn plan(&self, address: SocketAddr, server: Option<CpuClock>) -> io::Result<Plan> {
        let exchange = match (self.mode, &self.path) {
            (Mode::Echo, _) => Exchange::echo(self.size.max(1)),
            (Mode::Http, Some(path)) => Exchange::file(address, path)?,
            (Mode::Http, None) => Exchange::http(address, self.pipeline.max(1)),
            (Mode::Short | Mode::Idle | Mode::Probe, _) => Exchange::http(address, 1),
        };
        Ok(Plan {
            address,
            connections: self.connections,
            threads: self.threads.clamp(1, self.connections.max(1)),
            exchange,
            lifetime: match (self.mode, self.exchanges) {
                (Mode::Short, _) => Lifetime::Exchange,
                (_, Some(exchanges)) if self.reopen => Lifetime::Reopened(exchanges),
                (_, exchanges) => exchanges.map_or(Lifetime::Run, Lifetime::Exchanges),
            },
            stalls: (self.stall_us > 0).then(|| Stalls {
                exchange: Exchange::spin(address, Duration::from_micros(self.stall_us)),
                mean: Duration::from_secs_f64(1.0 / self.stalls_per_second),
            }),
            warm_up: self.warm_up,
            length: self.seconds,
            server,
        })
    }

    /// The measurement of delay that was asked for.
    fn probe(&self, address: SocketAddr, server: Option<CpuClock>) -> Probe {
        let time = Duration::from_millis(self.disturb_ms);
        Probe {
            address,
            length: self.seconds,
            disturbance: match self.disturb {
                Kind::None => Disturbance::None,
                Kind::Spin => Disturbance::Spin(time),
                Kind::Block => Disturbance::Block(time),
            },
            disturbers: self.disturb_connections,
            server,
        }
    }

    /// Keeps idle connections as long as was asked for.
    fn keep(&self) -> io::Result<()> {
        if !self.hold {
            std::thread::sleep(self.seconds);
            return Ok(());
        }
        let mut out = io::stdout().lock();
        writeln!(out, "{HOLDING}")?;
        out.flush()?;
        io::copy(&mut io::stdin().lock(), &mut io::sink())?;
        Ok(())
    }
}
