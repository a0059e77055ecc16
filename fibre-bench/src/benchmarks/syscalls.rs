//! `syscalls`: how often a server enters the kernel for one keep-alive request.
//!
//! `strace -c -f` counts while wrk keeps 100 connections busy. The counts
//! include opening and closing those connections, a few hundredths of a call
//! per request.

use anyhow::Context as _;

use crate::measure::Series;
use crate::plan::{self, Benchmark, Plan};
use crate::process::strace::{self, Calls, Tracer};
use crate::process::{self, Cores, Server, ServerCommand, wrk};
use crate::report::{self, Measurement, Report};

pub(crate) const BENCHMARK: Benchmark = Benchmark {
    name: "syscalls",
    about: "system calls per keep-alive HTTP request at 100 connections, counted by strace",
    run,
};

/// Connections wrk keeps open.
const CONNECTIONS: usize = 100;
/// Kinds of calls to print for each server.
const KINDS: usize = 5;
/// Who has to reach a figure.
const OURS: &str = "fibre";
/// Calls per request ours may make.
const TO_REACH: f64 = 2.1;

/// The counts of one server.
struct Counts {
    name: String,
    calls: Vec<Calls>,
    requests: f64,
}

fn run(plan: &Plan, report: &mut Report) -> anyhow::Result<()> {
    wrk::require()?;
    strace::require()?;
    process::prepare_servers()?;
    let cores = Cores::choose()?;
    let servers = plan.servers();
    let bar = plan::progress(servers.len());
    let mut rows = Vec::new();
    for (name, command) in servers {
        bar.set_message(name.clone());
        let counts = count(
            &name,
            &command,
            plan.seconds(if plan.quick { 1.0 } else { 2.0 }),
            cores,
            report,
        )
        .with_context(|| format!("server {name}"))?;
        rows.push(counts);
        bar.inc(1);
    }
    bar.finish_and_clear();
    print(&rows);
    for row in rows {
        let mut readings = Series::default();
        readings.push(row.per_request());
        report.add(Measurement {
            benchmark: BENCHMARK.name,
            case: format!("{CONNECTIONS} connections"),
            to_reach: (row.name == OURS).then_some(TO_REACH),
            subject: row.name,
            metric: "system calls per request",
            unit: "calls",
            readings,
        });
    }
    Ok(())
}

/// Traces one server under load.
fn count(
    name: &str,
    command: &ServerCommand,
    seconds: f64,
    cores: Cores,
    report: &mut Report,
) -> anyhow::Result<Counts> {
    let server = Server::start(command, cores.measured)?;
    let tracer = Tracer::attach(server.id())?;
    let load = wrk::run(&server.address, CONNECTIONS, seconds, cores.load)?;
    let calls = tracer.finish()?;
    for error in load.errors {
        report.fault(format!("{name}, traced: {error}"));
    }
    Ok(Counts {
        name: name.into(),
        calls,
        requests: load.requests,
    })
}

impl Counts {
    /// Calls per request, failed ones included.
    fn per_request(&self) -> f64 {
        self.calls.iter().map(|kind| kind.calls as f64).sum::<f64>() / self.requests
    }

    /// Failed calls per request.
    fn failed_per_request(&self) -> f64 {
        self.calls
            .iter()
            .map(|kind| kind.failed as f64)
            .sum::<f64>()
            / self.requests
    }

    /// The most frequent kinds with their counts per request.
    fn kinds(&self) -> String {
        let kind = |kind: &Calls| {
            format!(
                "{} {}",
                kind.name,
                report::figure(kind.calls as f64 / self.requests)
            )
        };
        let kinds: Vec<_> = self.calls.iter().take(KINDS).map(kind).collect();
        kinds.join(", ")
    }
}

fn print(rows: &[Counts]) {
    println!("One traced run each; calls per request:\n");
    let header = ["server", "of which", "total", "failed", "to reach"];
    let mut table = report::table(&header, 2);
    for row in rows {
        table.add_row([
            row.name.clone(),
            row.kinds(),
            report::figure(row.per_request()),
            report::figure(row.failed_per_request()),
            report::target(row.per_request(), (row.name == OURS).then_some(TO_REACH)),
        ]);
    }
    println!("{table}\n");
}
