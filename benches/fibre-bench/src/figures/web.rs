//! Figures 4.2, 4.3 and 4.7 to 4.9: the web server.
//!
//! The thesis gives the server some of the cores and the load generator the
//! others. So does this: the server has from one core up to half of them, at
//! least one, and the load has the rest.

use super::visit::{Panels, Point, draw, most_server_cores, ours_and};
use crate::benchmarks::Load;
use crate::plan::Run;
use crate::process::programs;
use crate::servers::ServerProgram;
use fibre_measure::plot::Axis;

/// Connections of figure 4.2, as in the thesis.
const YIELDING: usize = 4096;
/// Connections of figure 4.3.
const SHORT: usize = 100;
/// Connections of figure 4.7, as in the thesis.
const MANY: usize = 12_000;
/// Connections of figure 4.8, and beyond them of figure 4.9.
const CONNECTIONS: &[usize] = &[1000, 4000, 12_000, 18_000, 30_000, 60_000];
const VERY_MANY: &[usize] = &[60_000, 120_000, 250_000];

/// Figure 4.2: ours with and without a yield before each read.
pub(super) fn yield_before_read(run: &mut Run) -> anyhow::Result<()> {
    run.report.paragraph(&format!(
        "{YIELDING} connections; the server on 1 to {} cores; `FIBRE_YIELD_BEFORE_READ=0` against the default.",
        most_server_cores(run)
    ));
    let programs = ours_and(run, "read at once", "FIBRE_YIELD_BEFORE_READ", "0");
    let mut all = Vec::new();
    for pipeline in [1, 4] {
        let caption = format!("pipeline depth {pipeline}");
        let mut panels = Panels::new("4.2", &caption, &Axis::count("server cores"));
        let load = Load::Requests { pipeline };
        let connections = run.plan.connections(&[YIELDING])[0];
        panels.fill(run, &over_cores(run, &programs, load, connections));
        all.push(panels);
    }
    draw(run, "4.2", &all);
    Ok(())
}

/// Figure 4.3: ours with and without lazy registration.
pub(super) fn lazy_registration(run: &mut Run) -> anyhow::Result<()> {
    run.report.paragraph(&format!(
        "{SHORT} clients that open a connection, send one request, close; `FIBRE_LAZY_REGISTRATION=0` against the default."
    ));
    let programs = ours_and(run, "registered at once", "FIBRE_LAZY_REGISTRATION", "0");
    let mut panels = Panels::new("4.3", "", &Axis::count("server cores"));
    let connections = run.plan.connections(&[SHORT])[0];
    panels.fill(run, &over_cores(run, &programs, Load::Short, connections));
    draw(run, "4.3", &[panels]);
    Ok(())
}

/// Figure 4.7: every server over the number of cores.
pub(super) fn cores(run: &mut Run) -> anyhow::Result<()> {
    let connections = run.plan.connections(&[MANY])[0];
    run.report.paragraph(&format!(
        "{connections} keep-alive connections, no pipelining; the server on 1 to {} cores.",
        most_server_cores(run)
    ));
    let programs: Vec<_> = able(run, connections).cloned().collect();
    let mut panels = Panels::new("4.7", "", &Axis::count("server cores"));
    let load = Load::Requests { pipeline: 1 };
    panels.fill(run, &over_cores(run, &programs, load, connections));
    draw(run, "4.7", &[panels]);
    Ok(())
}

/// Figure 4.8: every server over the number of connections.
pub(super) fn connections(run: &mut Run) -> anyhow::Result<()> {
    let counts = possible("4.8", CONNECTIONS, run);
    over_connections(run, "4.8", &counts)
}

/// Figure 4.9: every server that can, over very many connections; where the limit
/// of open files is lower than that, up to the limit.
pub(super) fn very_many(run: &mut Run) -> anyhow::Result<()> {
    run.report.paragraph(
        "(Thesis: up to a million connections on 512 GB; here both ends of each connection live on one machine.)",
    );
    let mut counts = possible("4.9", VERY_MANY, run);
    if counts.is_empty() {
        let most = programs::most_connections();
        counts = vec![most];
    }
    over_connections(run, "4.9", &counts)
}

/// The usual numbers of connections that the limit of open files allows.
fn possible(figure: &str, usual: &[usize], run: &mut Run) -> Vec<usize> {
    let most = programs::most_connections();
    let counts = run.plan.connections(usual);
    let (counts, beyond): (Vec<usize>, Vec<usize>) =
        counts.iter().partition(|&&connections| connections <= most);
    if !beyond.is_empty() {
        run.report.note(format!(
            "figure {figure}: {beyond:?} connections are more than the limit of open files allows ({most})"
        ));
    }
    counts
}

/// A figure over the number of connections, the server on half of the cores.
fn over_connections(run: &mut Run, figure: &'static str, counts: &[usize]) -> anyhow::Result<()> {
    let processors = most_server_cores(run);
    run.report.paragraph(&format!(
        "The server on {processors} of {} cores, keep-alive, no pipelining; `thread` up to 15,000 and `may` up to 30,000 \
         connections, where the kernel's limit of mappings ends them.",
        run.cores.count()
    ));
    let load = Load::Requests { pipeline: 1 };
    let mut points = Vec::new();
    for &connections in counts {
        let place = |program| {
            let x = connections as f64;
            Point::new(run, program, x, load, connections, processors)
        };
        points.extend(able(run, connections).map(place));
    }
    let x = Axis::logarithmic("connections");
    let mut panels = Panels::new(figure, "", &x).with_latencies(figure, "", &x);
    panels.fill(run, &points);
    draw(run, figure, &[panels]);
    Ok(())
}

/// The servers that can have so many connections.
fn able(run: &Run, connections: usize) -> impl Iterator<Item = &ServerProgram> {
    let servers = run.servers.iter();
    servers.filter(move |server| connections <= server.most_connections())
}

/// Every program on every number of cores.
fn over_cores(run: &Run, programs: &[ServerProgram], load: Load, connections: usize) -> Vec<Point> {
    let most = most_server_cores(run);
    let counts = (1..=most).filter(|&count| count < 4 || count % 4 == 0);
    let place = |processors| {
        let x = processors as f64;
        let point = move |program| Point::new(run, program, x, load, connections, processors);
        programs.iter().map(point)
    };
    counts.flat_map(place).collect()
}
