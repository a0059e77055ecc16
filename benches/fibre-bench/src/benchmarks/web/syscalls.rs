//! `syscalls`: how often a server enters the kernel for one keep-alive request,
//! and for one connection that carries a single request, and for what.

use std::cell::RefCell;

use super::calls::Counts;
use super::serve::{Load, Setting};
use super::turns::{self, Row};
use crate::plan::{Benchmark, Run};
use crate::process::strace;
use crate::report::format::{self, figure};
use crate::report::{Better, Goal, Measurement, OURS, Read};

pub(crate) const SYSCALLS: Benchmark = Benchmark {
    name: "syscalls",
    about: "system calls per keep-alive request and per short connection, counted by strace",
    run,
};

/// Connections that are kept busy.
const CONNECTIONS: usize = 100;
/// Length of a traced run.
const SECONDS: f64 = 0.5;

/// A load with calls that are counted.
struct Case {
    name: &'static str,
    load: Load,
    /// Calls per request ours may make.
    to_reach: f64,
}

/// Both loads.
const CASES: &[Case] = &[
    Case {
        name: "keep-alive request",
        load: Load::Requests { pipeline: 1 },
        to_reach: 2.1,
    },
    Case {
        name: "short connection",
        load: Load::Short,
        to_reach: 6.0,
    },
];

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
        let setting = Setting {
            load: case.load,
            connections: CONNECTIONS,
            processors: 1,
            seconds: run.plan.seconds(SECONDS),
        };
        let servers = run.servers.clone();
        let repetitions = run.plan.repetitions(1);
        // What the calls were is told for the last run of each server.
        let kinds = RefCell::new(Vec::new());
        let rows = turns::take(run, (case.name, &servers), repetitions, |run, server| {
            let Some(counts) = Counts::of(run, server, &setting)? else {
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
