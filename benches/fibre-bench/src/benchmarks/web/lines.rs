//! `lines`: how much memory a server touches for a keep-alive request that is not in its caches any
//! more, as hundreds of other connections have come in between.
//!
//! The machines at hand have no counters for that, so valgrind runs the server in simulated caches:
//! for *lines* a near one as large as a core's first and a far one as large as a small second; for
//! *pages* the same with lines of 4 KiB, as large as the two buffers for translations are. What the
//! kernel touches for the same request is not in it. The counts hardly depend on what else the
//! machine does.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::serve::{Load, Setting};
use super::turns::{self, Row};
use crate::plan::{Benchmark, Run};
use crate::process::Server;
use crate::process::valgrind::{self, Caches, Counts, Simulation};
use crate::report::format::{self, figure};
use crate::report::{Better, Measurement, OURS, Read};
use crate::servers::ServerProgram;

pub(crate) const LINES: Benchmark = Benchmark {
    name: "lines",
    about: "cold cache lines and pages touched per keep-alive request, counted by valgrind",
    run,
};

/// Connections that take turns. More than the bare loop can have under valgrind, which leaves fewer
/// descriptors, cannot be compared.
const CONNECTIONS: usize = 900;
/// Requests on each connection in the run that is taken off the other one, and in that.
const REQUESTS: [u64; 2] = [2, 12];
/// The longest that a run may take, in seconds.
const MAX_SECONDS: f64 = 120.0;
/// Servers that valgrind runs, as they are.
const SERVERS: [&str; 3] = ["epoll", OURS, "tokio"];
/// The fewest cold lines that a function is named for.
const SMALL: f64 = 0.1;

/// What is counted.
struct Case {
    what: &'static str,
    metric: &'static str,
    /// The caches that show it.
    caches: Caches,
}

/// The two things counted: lines and pages.
const CASES: [Case; 2] = [
    Case {
        what: "lines",
        metric: "cold lines",
        caches: Caches {
            near: [32 << 10, 8, 64],
            far: [512 << 10, 8, 64],
        },
    },
    Case {
        what: "pages",
        metric: "cold pages",
        caches: Caches {
            near: [64 << 12, 64, 1 << 12],
            far: [2048 << 12, 8, 1 << 12],
        },
    },
];

fn run(run: &mut Run) -> anyhow::Result<()> {
    if !valgrind::installed() {
        run.report
            .note("lines: valgrind is not installed (Debian: apt-get install valgrind)".into());
        return Ok(());
    }
    run.report.paragraph(
        "A run each. *Near*: not among the last 512 lines (64 pages) that the server has touched; *far*: not among \
         the last 8192 (2048), either. Of the kernel nothing is counted.",
    );
    let header = ["what", "server", "instructions", "near", "far"];
    let mut table = format::table(&header, 2);
    let mut functions = format::table(&["what", "server", "function", "near"], 3);
    let mut servers = run.servers.clone();
    servers.retain(|server| SERVERS.contains(&server.name.as_str()));
    for case in &CASES {
        // Of each server the functions, too.
        let touched = RefCell::new(BTreeMap::new());
        let rows = turns::take(run, (case.what, &servers), 1, |run, server| {
            let counts = count(run, server, case.caches)?;
            let readings = [counts.instructions, counts.near, counts.far];
            let mut touched = touched.borrow_mut();
            touched.insert(server.name.clone(), counts.functions);
            Ok(Some(readings))
        });
        let touched = touched.into_inner();
        for row in rows {
            if let Some(touched) = touched.get(&row.server) {
                tell_functions(&mut functions, case, &row.server, touched);
            }
            add(run, &mut table, case, row);
        }
    }
    run.report.table(&table);
    run.report.table(&functions);
    Ok(())
}

/// Adds the functions that touch what is cold to a table, those that touch most first.
fn tell_functions(
    table: &mut comfy_table::Table,
    case: &Case,
    server: &str,
    touched: &BTreeMap<String, f64>,
) {
    let mut functions: Vec<(&String, &f64)> = touched.iter().collect();
    functions.retain(|(_, count)| **count >= SMALL);
    functions.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    for (name, count) in functions {
        table.add_row([case.what, server, name, &figure(*count)]);
    }
}

/// Adds the counts of one server to table and report.
fn add(run: &mut Run, table: &mut comfy_table::Table, case: &Case, row: Row<3>) {
    let [instructions, near, far] = row.readings;
    table.add_row([
        case.what,
        &row.server,
        &figure(instructions.minimum()),
        &figure(near.minimum()),
        &figure(far.minimum()),
    ]);
    let connections = connections(run);
    run.report.add(Measurement {
        benchmark: LINES.name,
        case: format!("{connections} connections"),
        goal: None,
        subject: row.server,
        metric: case.metric,
        unit: case.what,
        better: Better::Lower,
        read: Read::Best,
        readings: near,
    });
}

/// How many connections there are.
fn connections(run: &Run) -> usize {
    if run.plan.is_quick() { 10 } else { CONNECTIONS }
}

/// What a server touches for a request. What it takes to start, to open the connections and to
/// close them cancels.
fn count(run: &Run, server: &ServerProgram, caches: Caches) -> anyhow::Result<Counts> {
    let requests = REQUESTS.map(|requests| {
        if run.plan.is_quick() {
            requests / 2
        } else {
            requests
        }
    });
    let connections = connections(run);
    let [few, many] = requests.map(|requests| simulate(run, server, caches, connections, requests));
    let operations = (requests[1] - requests[0]) * connections as u64;
    Ok(many?.more_than(&few?, operations as f64))
}

/// What a server executes and touches for so many requests on each connection, and otherwise.
fn simulate(
    run: &Run,
    server: &ServerProgram,
    caches: Caches,
    connections: usize,
    requests: u64,
) -> anyhow::Result<Counts> {
    let setting = Setting {
        load: Load::Requests { pipeline: 1 },
        connections,
        processors: 1,
        seconds: MAX_SECONDS,
    };
    let command = server.command(setting.duty());
    let command = command.ok_or_else(|| anyhow::anyhow!("it does not answer requests"))?;
    let (simulation, command) = Simulation::of(&command, caches);
    let running = Server::start(command, &run.cores.measured(1), None)?;
    let load = setting
        .load
        .by_ours(connections, MAX_SECONDS)
        .exchanges(requests);
    let load = load.pinned_to(&run.cores.load(1)).run(&running.address)?;
    anyhow::ensure!(load.errors.is_empty(), "{}", load.errors.join("; "));
    drop(running);
    simulation.counts()
}
