//! `syscalls`: how often a server enters the kernel for one keep-alive request,
//! and for one connection that carries a single request.
//!
//! `strace -c -f` counts while 100 connections are kept busy. A traced server is
//! several times slower, so its batches are larger than in earnest; the calls a
//! request cannot do without stay. The counts of keep-alive requests include
//! opening those connections, a few hundredths of a call per request.

use std::cell::RefCell;

use super::turns::{self, Row};
use crate::plan::{Benchmark, Run};
use crate::process::strace::{self, Calls, Tracer};
use crate::process::{LoadCommand, Mode};
use crate::report::format::{self, figure};
use crate::report::{Better, Goal, Measurement, OURS, Read};
use crate::servers::{Duty, ServerProgram};

pub(crate) const SYSCALLS: Benchmark = Benchmark {
    name: "syscalls",
    about: "system calls per keep-alive request and per short connection, counted by strace",
    run,
};

/// Connections that are kept busy.
const CONNECTIONS: usize = 100;
/// Kinds of calls to print for each server.
const KINDS: usize = 6;
/// Length of a traced run.
const SECONDS: f64 = 1.0;

/// A load whose calls are counted.
struct Case {
    name: &'static str,
    mode: Mode,
    /// Calls per request ours may make.
    to_reach: f64,
}

/// Both loads.
const CASES: &[Case] = &[
    Case {
        name: "keep-alive request",
        mode: Mode::Http { pipeline: 1 },
        to_reach: 2.1,
    },
    Case {
        name: "short connection",
        mode: Mode::Short,
        to_reach: 6.0,
    },
];

/// The counts of one server.
struct Counts {
    calls: Vec<Calls>,
    requests: f64,
}

fn run(run: &mut Run) -> anyhow::Result<()> {
    if !strace::installed() {
        run.report
            .note("syscalls: strace is not installed (Debian: apt-get install strace)".into());
        return Ok(());
    }
    run.report
        .paragraph("One traced run each. Failed calls are mostly reads that came too early.");
    let header = ["case", "server", "of which", "calls", "failed", "to reach"];
    let mut table = format::table(&header, 3);
    for case in CASES {
        // What the calls were is told for the last run of each server.
        let kinds = RefCell::new(Vec::new());
        let rows = turns::take(run, case.name, 1, |run, server| {
            let Some(counts) = count(run, server, case)? else {
                return Ok(None);
            };
            kinds
                .borrow_mut()
                .push((server.name.clone(), counts.kinds()));
            Ok(Some([counts.per_request(), counts.failed_per_request()]))
        });
        let kinds = kinds.into_inner();
        for row in rows {
            let kinds = kinds.iter().rfind(|(server, _)| *server == row.server);
            let kinds = kinds.map_or("", |(_, kinds)| kinds);
            add(run, &mut table, case, row, kinds);
        }
    }
    run.report.table(&table);
    Ok(())
}

/// Traces one server under load.
fn count(run: &Run, program: &ServerProgram, case: &Case) -> anyhow::Result<Option<Counts>> {
    let Some(server) = run.start(program, Duty::answering(1))? else {
        return Ok(None);
    };
    let tracer = Tracer::attach(server.id())?;
    let load = LoadCommand::new(case.mode, CONNECTIONS, run.plan.seconds(SECONDS))
        .pinned_to(&run.cores.load(1))
        .run(&server.address)?;
    let calls = tracer.finish()?;
    anyhow::ensure!(load.errors.is_empty(), "{}", load.errors.join("; "));
    Ok(Some(Counts {
        calls,
        requests: load.requests,
    }))
}

/// Adds the counts of one server to table and report.
fn add(run: &mut Run, table: &mut comfy_table::Table, case: &Case, row: Row<2>, kinds: &str) {
    let [calls, failed] = row.readings;
    let measurement = Measurement {
        benchmark: SYSCALLS.name,
        case: case.name.into(),
        goal: (row.server == OURS).then_some(Goal::figure(case.to_reach)),
        subject: row.server,
        metric: "system calls",
        unit: "calls",
        better: Better::Lower,
        read: Read::Best,
        readings: calls,
    };
    table.add_row([
        case.name.into(),
        measurement.subject.clone(),
        kinds.into(),
        figure(measurement.figure()),
        figure(failed.minimum()),
        run.report.verdict_in_words(&measurement),
    ]);
    run.report.add(measurement);
}

impl Counts {
    /// Calls per request, failed ones included.
    fn per_request(&self) -> f64 {
        self.calls.iter().map(|kind| kind.calls as f64).sum::<f64>() / self.requests
    }

    /// Failed calls per request.
    fn failed_per_request(&self) -> f64 {
        let failed = self.calls.iter().map(|kind| kind.failed as f64);
        failed.sum::<f64>() / self.requests
    }

    /// The most frequent kinds with their counts per request.
    fn kinds(&self) -> String {
        let kind = |kind: &Calls| {
            let count = figure(kind.calls as f64 / self.requests);
            format!("{} {count}", kind.name)
        };
        let kinds: Vec<_> = self.calls.iter().take(KINDS).map(kind).collect();
        kinds.join(", ")
    }
}
