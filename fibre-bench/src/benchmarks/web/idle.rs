//! `idle`: what a connection on which nothing happens keeps in memory.
//!
//! The server's resident set with the connections open, less that before, over
//! their number. Each has carried one request, so stacks and buffers that a
//! connection needs have been touched. The kernel's socket buffers are not part
//! of it.

use fibre_bench::measure::resident;

use super::turns;
use crate::plan::{Benchmark, Run};
use crate::process::Held;
use crate::report::format::{self, figure};
use crate::report::{Better, Goal, Measurement, OURS, Read};
use crate::servers::{Duty, ServerProgram};

pub(crate) const IDLE: Benchmark = Benchmark {
    name: "idle",
    about: "resident memory of an idle connection",
    run,
};

/// Connections that are held.
const CONNECTIONS: usize = 10_000;
/// Bytes ours may keep for each.
const TO_REACH: Goal = Goal::scaled(
    6000.0,
    &[("tokio", 2888.0), ("may", 10_557.0), ("thread", 11_854.0)],
);
/// Repetitions unless asked for another number.
const REPETITIONS: usize = 3;

fn run(run: &mut Run) -> anyhow::Result<()> {
    for connections in run.plan.connections(&[CONNECTIONS]) {
        at(run, connections);
    }
    Ok(())
}

/// All servers with so many connections.
fn at(run: &mut Run, connections: usize) {
    let rows = turns::take(run, IDLE.name, REPETITIONS, |run, server| {
        measure(run, server, connections)
    });
    let header = [
        "server",
        "bytes per connection: minimum",
        "median",
        "to reach",
    ];
    let mut table = format::table(&header, 1);
    for row in rows {
        let [readings] = row.readings;
        let measurement = Measurement {
            benchmark: IDLE.name,
            case: format!("{connections} connections"),
            goal: (row.server == OURS).then_some(TO_REACH),
            subject: row.server,
            metric: "resident",
            unit: "bytes per connection",
            better: Better::Lower,
            read: Read::Median,
            readings,
        };
        run.report.add(measurement.clone());
        table.add_row([
            measurement.subject.clone(),
            figure(measurement.readings.minimum()),
            figure(measurement.figure()),
            run.report.verdict_in_words(&measurement),
        ]);
    }
    run.report.table(&table);
}

/// One repetition.
fn measure(
    run: &Run,
    program: &ServerProgram,
    connections: usize,
) -> anyhow::Result<Option<[f64; 1]>> {
    let Some(server) = run.start(program, Duty::answering(1))? else {
        return Ok(None);
    };
    let before = resident(server.id())?;
    let held = Held::open(&server.address, connections, &run.cores.load(1))?;
    let with = resident(server.id())?;
    held.close()?;
    Ok(Some([(with as f64 - before as f64) / connections as f64]))
}
