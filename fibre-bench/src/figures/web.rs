//! Figures 4.2, 4.3 and 4.7 to 4.9: the web server.
//!
//! The thesis gives the server some of the cores and the load generator the
//! others. So does this: the server has from one core up to half of them, at
//! least one, and the load has the rest.

use super::Sweep;
use crate::benchmarks::{Load, Setting};
use crate::plan::{self, Run};
use crate::plot::{Axis, Plot, Shape};
use crate::process::programs;
use crate::report::{Better, OURS};
use crate::servers::ServerProgram;

/// Connections of figure 4.2, as in the thesis.
const YIELDING: usize = 4096;
/// Connections of figure 4.3.
const SHORT: usize = 100;
/// Connections of figure 4.7, as in the thesis.
const MANY: usize = 12_000;
/// Connections of figure 4.8, and beyond them of figure 4.9.
const CONNECTIONS: &[usize] = &[1000, 4000, 12_000, 18_000, 30_000, 60_000];
const VERY_MANY: &[usize] = &[60_000, 120_000, 250_000];
/// Servers that a kernel limit ends: four mappings a thread and two a coroutine, of 65,530.
const ENDS: &[(&str, usize)] = &[("thread", 15_000), ("may", 30_000)];
/// Length of a repetition.
const SECONDS: f64 = 1.0;
/// Repetitions unless asked for another number.
const REPETITIONS: usize = 5;

/// A server under a name of the figure's, and one place on its x-axis.
struct Point {
    program: ServerProgram,
    x: f64,
    setting: Setting,
}

/// Figure 4.2: ours with and without a yield before each read.
pub(super) fn yield_before_read(run: &mut Run) -> anyhow::Result<()> {
    run.report.paragraph(&format!(
        "{YIELDING} connections; the server on 1 to {} cores; `FIBRE_YIELD_BEFORE_READ=0` against the default.",
        most_server_cores(run)
    ));
    let programs = variants(run, "read at once", "FIBRE_YIELD_BEFORE_READ", "0");
    let mut panels = Vec::new();
    for pipeline in [1, 4] {
        let mut sweep = throughput("4.2", Axis::count("server cores"))
            .captioned(format!("pipeline depth {pipeline}"));
        let load = Load::Requests { pipeline };
        let connections = run.plan.connections(&[YIELDING])[0];
        let points = over_cores(run, &programs, load, connections);
        visit(run, &points, &mut sweep);
        sweep.add_to(&mut run.report);
        panels.push(sweep.panel());
    }
    let plot = Plot {
        title: "4.2 Yield before read".into(),
        shape: Shape::Lines(panels),
    };
    run.report.plot("figure-4.2", &plot)
}

/// Figure 4.3: ours with and without lazy registration.
pub(super) fn lazy_registration(run: &mut Run) -> anyhow::Result<()> {
    run.report.paragraph(&format!(
        "{SHORT} clients that open a connection, send one request, close; `FIBRE_LAZY_REGISTRATION=0` against the default."
    ));
    let programs = variants(run, "registered at once", "FIBRE_LAZY_REGISTRATION", "0");
    let sweep = throughput("4.3", Axis::count("server cores"));
    let connections = run.plan.connections(&[SHORT])[0];
    let points = over_cores(run, &programs, Load::Short, connections);
    conclude(run, "figure-4.3", "4.3 Lazy registration", sweep, &points)
}

/// Figure 4.7: every server over the number of cores.
pub(super) fn cores(run: &mut Run) -> anyhow::Result<()> {
    let connections = run.plan.connections(&[MANY])[0];
    run.report.paragraph(&format!(
        "{connections} keep-alive connections, no pipelining; the server on 1 to {} cores.",
        most_server_cores(run)
    ));
    let programs = run.servers.clone();
    let sweep = throughput("4.7", Axis::count("server cores"));
    let points = over_cores(run, &programs, Load::Requests { pipeline: 1 }, connections);
    conclude(run, "figure-4.7", "4.7 Web server, cores", sweep, &points)
}

/// Figure 4.8: every server over the number of connections.
pub(super) fn connections(run: &mut Run) -> anyhow::Result<()> {
    let counts = run.plan.connections(CONNECTIONS);
    let programs = run.servers.clone();
    over_connections(run, "4.8", &programs, &counts)
}

/// Figure 4.9: every server that can, over very many connections.
pub(super) fn very_many(run: &mut Run) -> anyhow::Result<()> {
    let counts = run.plan.connections(VERY_MANY);
    let programs = run.servers.clone();
    run.report.paragraph(
        "(Thesis: up to a million connections on 512 GB; here both ends of each connection live on one machine.)",
    );
    over_connections(run, "4.9", &programs, &counts)
}

/// A figure over the number of connections, the server on half of the cores.
fn over_connections(
    run: &mut Run,
    figure: &'static str,
    servers: &[ServerProgram],
    counts: &[usize],
) -> anyhow::Result<()> {
    let most = programs::most_connections();
    let (counts, beyond): (Vec<usize>, Vec<usize>) =
        counts.iter().partition(|&&connections| connections <= most);
    if !beyond.is_empty() {
        run.report.note(format!(
            "figure {figure}: {beyond:?} connections are more than the limit of open files allows ({most})"
        ));
    }
    if counts.is_empty() {
        run.report
            .paragraph("Not drawn: the limit of open files is too low.");
        return Ok(());
    }
    let processors = most_server_cores(run);
    run.report.paragraph(&format!(
        "The server on {processors} of {} cores, keep-alive, no pipelining; `thread` up to 15,000 and `may` up to 30,000 \
         connections, where the kernel's limit of mappings ends them.",
        run.cores.count()
    ));
    let mut points = Vec::new();
    for connections in counts {
        for program in servers.iter().filter(|server| can(server, connections)) {
            points.push(Point {
                program: program.clone(),
                x: connections as f64,
                setting: Setting {
                    load: Load::Requests { pipeline: 1 },
                    connections,
                    processors,
                    seconds: run.plan.seconds(SECONDS),
                },
            });
        }
    }
    let sweep = throughput(figure, Axis::logarithmic("connections"));
    let title = format!("{figure} Web server, connections");
    conclude(run, &format!("figure-{figure}"), &title, sweep, &points)
}

/// Whether a server can hold so many connections.
fn can(server: &ServerProgram, connections: usize) -> bool {
    let end = ENDS.iter().find(|(name, _)| *name == server.name);
    end.is_none_or(|&(_, most)| connections <= most)
}

/// A panel of requests per second.
fn throughput(figure: &'static str, x: Axis) -> Sweep {
    let y = Axis::linear("requests per second");
    Sweep::new(figure, (x, y), ("throughput", "requests/s", Better::Higher))
}

/// Our server as it is and under another name with a variable set.
fn variants(run: &Run, name: &str, variable: &str, value: &str) -> Vec<ServerProgram> {
    let ours = run.servers.iter().find(|server| server.name == OURS);
    ours.map_or_else(Vec::new, |ours| {
        vec![ours.clone(), ours.variant(name, variable, value)]
    })
}

/// Cores the server may have when the load keeps as many.
fn most_server_cores(run: &Run) -> usize {
    (run.cores.count() / 2).max(1)
}

/// Every program on every number of cores.
fn over_cores(run: &Run, programs: &[ServerProgram], load: Load, connections: usize) -> Vec<Point> {
    let most = most_server_cores(run);
    let counts = (1..=most).filter(|&count| count < 4 || count % 4 == 0);
    let place = |processors| {
        programs.iter().map(move |program| Point {
            program: program.clone(),
            x: processors as f64,
            setting: Setting {
                load,
                connections,
                processors,
                seconds: run.plan.seconds(SECONDS),
            },
        })
    };
    counts.flat_map(place).collect()
}

/// All repetitions of all points, in turns. A point that fails is a fault and
/// is not visited again.
fn visit(run: &mut Run, points: &[Point], sweep: &mut Sweep) {
    let wanted = |point: &&Point| run.plan.wants(&point.program.name);
    let mut visits: Vec<&Point> = points.iter().filter(wanted).collect();
    let repetitions = run.plan.repetitions(REPETITIONS);
    let bar = plan::progress(repetitions * visits.len());
    for _ in 0..repetitions {
        visits.retain(|point| {
            let name = &point.program.name;
            bar.set_message(format!("{name} at {}", point.x));
            bar.inc(1);
            match point.setting.measure(run, &point.program) {
                Ok(Some([_, requests_per_second, _])) => {
                    sweep.push(name, point.x, requests_per_second);
                    true
                }
                Ok(None) => false,
                Err(error) => {
                    let fault = format!("{} {name} at {}: {error:#}", sweep.figure, point.x);
                    run.report.fault(fault);
                    false
                }
            }
        });
    }
    bar.finish_and_clear();
}

/// Measures, prints and draws a figure of one panel.
fn conclude(
    run: &mut Run,
    file: &str,
    title: &str,
    mut sweep: Sweep,
    points: &[Point],
) -> anyhow::Result<()> {
    visit(run, points, &mut sweep);
    sweep.add_to(&mut run.report);
    let plot = Plot {
        title: title.into(),
        shape: Shape::Lines(vec![sweep.panel()]),
    };
    run.report.plot(file, &plot)
}
