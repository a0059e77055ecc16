//! `idle`: what an idle connection keeps in memory, and what it costs over time.
//!
//! The server's memory with the connections open, less that before, over their
//! number. Each has carried one request, so stacks and buffers that a connection
//! needs have been touched. Where a process may not open as many files, several
//! server processes have a share each and are added up. The load holds its ends
//! in as many processes of its own.

use std::thread;
use std::time::Duration;

use fibre_bench::measure::{Memory, Threads, kernel_memory};

use super::turns::{self, Row};
use crate::plan::{Benchmark, Run};
use crate::process::{Held, Server, programs};
use crate::report::format::{self, figure};
use crate::report::{Better, Goal, Measurement, OURS, Read};
use crate::servers::{Duty, ServerProgram};

pub(crate) const IDLE: Benchmark = Benchmark {
    name: "idle",
    about: "memory of an idle connection, up to 100,000 of them, and the CPU time they take at rest",
    run,
};

/// Connections of the case with the usual buffers, which is the older one.
const USUAL: usize = 10_000;
/// Connections of the case with small buffers.
const MANY: usize = 100_000;
/// Bytes ours may keep for each.
const TO_REACH: Goal = Goal::scaled(
    6000.0,
    &[("tokio", 2888.0), ("may", 10_557.0), ("thread", 11_854.0)],
);
/// Seconds without any event, with many connections and with fewer.
const SECONDS: f64 = 5.0;
const BRIEF_SECONDS: f64 = 1.0;
/// What is let pass before, for work that is put off.
const SETTLING: f64 = 0.5;

/// What is read, with its unit; the goals stand in [`goal`].
const METRICS: [(&str, &str); 6] = [
    ("resident", "bytes per connection"),
    ("in the largest mapping", "bytes per connection"),
    ("page tables", "bytes per connection"),
    ("kernel", "bytes per connection"),
    ("CPU time at rest", "ms"),
    ("switches at rest", "count"),
];

/// What ours has to reach.
fn goal(metric: &str) -> Option<Goal> {
    match metric {
        "resident" => Some(TO_REACH),
        "CPU time at rest" | "switches at rest" => Some(Goal::figure(0.0)),
        _ => None,
    }
}

/// A number of connections, and whether their buffers are small.
#[derive(Clone, Copy)]
struct Case {
    connections: usize,
    small_buffer: bool,
    /// Seconds without any event.
    rest: f64,
}

fn run(run: &mut Run) -> anyhow::Result<()> {
    run.report.paragraph(&format!(
        "Every server offers 4 KiB or 1 KiB to each read. Resident is what the server process has in RAM; the largest mapping \
         of ours are the stacks, of tokio and Go the heap. Page tables are those of the server. The kernel's share is the \
         growth of its slabs and stacks, for both ends of each connection, and of the whole machine: an estimate. CPU time \
         and context switches of the server processes are those of {BRIEF_SECONDS} s and {SECONDS} s at rest. `thread` and `may` have as many \
         connections as the kernel's limits of threads and mappings let them have."
    ));
    if run.plan.connections.is_empty() && !run.plan.is_quick() {
        let case = Case {
            connections: USUAL,
            small_buffer: false,
            rest: run.plan.seconds(BRIEF_SECONDS),
        };
        case.compare(run);
    }
    for connections in run.plan.connections(&[MANY]) {
        let case = Case {
            connections,
            small_buffer: true,
            rest: run.plan.seconds(SECONDS),
        };
        case.compare(run);
    }
    Ok(())
}

impl Case {
    /// What measurements call it.
    fn name(self) -> String {
        let buffer = if self.small_buffer { 1 } else { 4 };
        format!("{} connections, buffers of {buffer} KiB", self.connections)
    }

    /// How many connections a server gets: it may be unable to have so many.
    fn connections(self, server: &ServerProgram) -> usize {
        self.connections.min(server.most_connections())
    }

    /// All servers, one after the other; memory does not vary.
    fn compare(self, run: &mut Run) {
        let servers = run.servers.clone();
        let repetitions = run.plan.repetitions(1);
        let rows = turns::take(run, (&self.name(), &servers), repetitions, |run, server| {
            self.measure(run, server)
        });
        let mut header = vec!["server", "connections"];
        header.extend(METRICS.map(|(name, _)| name));
        header.push("to reach");
        let mut table = format::table(&header, 1);
        for row in rows {
            table.add_row(self.add(row, run));
        }
        run.report.paragraph(&format!("**{}**", self.name()));
        run.report.table(&table);
    }

    /// Hands the readings of a server to the report; returns its row of the table.
    fn add(self, row: Row<{ METRICS.len() }>, run: &mut Run) -> Vec<String> {
        let program = run.servers.iter().find(|one| one.name == row.server);
        let connections = program.map_or(self.connections, |one| self.connections(one));
        let mut cells = vec![row.server.clone(), figure(connections as f64)];
        let mut verdict = String::new();
        for ((metric, unit), readings) in METRICS.into_iter().zip(row.readings) {
            let measurement = Measurement {
                benchmark: IDLE.name,
                case: self.name(),
                goal: goal(metric).filter(|_| row.server == OURS),
                subject: row.server.clone(),
                metric,
                unit,
                better: Better::Lower,
                read: Read::Median,
                readings,
            };
            cells.push(figure(measurement.figure()));
            if metric == METRICS[0].0 {
                verdict = run.report.verdict_in_words(&measurement);
            }
            run.report.add(measurement);
        }
        cells.push(verdict);
        cells
    }

    /// One repetition.
    fn measure(
        self,
        run: &Run,
        program: &ServerProgram,
    ) -> anyhow::Result<Option<[f64; METRICS.len()]>> {
        let connections = self.connections(program);
        let Some(servers) = self.start(run, program, connections)? else {
            return Ok(None);
        };
        let kernel = kernel_memory()?;
        let memory = Memory::of_all(servers.iter().map(Server::id))?;
        let mut held = Vec::new();
        for (index, server) in servers.iter().enumerate() {
            let share = (connections + index) / servers.len();
            held.push(Held::open(&server.address, share, &run.cores.load(1))?);
        }
        thread::sleep(Duration::from_secs_f64(run.plan.seconds(SETTLING)));
        let grown = Memory::of_all(servers.iter().map(Server::id))?;
        let kernel = kernel_memory()? as f64 - kernel as f64;
        let (cpu_ms, switches) = at_rest(&servers, self.rest)?;
        held.into_iter().try_for_each(Held::close)?;
        let each = |after: u64, before: u64| (after as f64 - before as f64) / connections as f64;
        Ok(Some([
            each(grown.resident, memory.resident),
            each(grown.largest, memory.largest),
            each(grown.page_tables, memory.page_tables),
            kernel / connections as f64,
            cpu_ms,
            switches,
        ]))
    }

    /// As many server processes as it takes for each to have few enough connections.
    fn start(
        self,
        run: &Run,
        program: &ServerProgram,
        connections: usize,
    ) -> anyhow::Result<Option<Vec<Server>>> {
        let duty = Duty {
            small_buffer: self.small_buffer,
            ..Duty::answering(1)
        };
        let processes = connections.div_ceil(programs::most_connections());
        let servers = (0..processes).map(|_| run.start(program, duty));
        servers.collect::<anyhow::Result<_>>()
    }
}

/// CPU time of servers, in milliseconds, and how often their threads were
/// switched, while nothing happens.
fn at_rest(servers: &[Server], seconds: f64) -> anyhow::Result<(f64, f64)> {
    let spent = || -> anyhow::Result<(Duration, u64)> {
        let mut sum = (Duration::ZERO, 0);
        for server in servers {
            sum.0 += server.cpu.read()?;
            sum.1 += Threads::of(server.id())?.switches;
        }
        Ok(sum)
    };
    let before = spent()?;
    thread::sleep(Duration::from_secs_f64(seconds));
    let after = spent()?;
    let cpu = after.0.saturating_sub(before.0);
    let switches = after.1.saturating_sub(before.1);
    Ok((cpu.as_secs_f64() * 1e3, switches as f64))
}
