//! Points of the figures of servers: a server, a place on the x-axis, a load;
//! and the panels that a visit of each fills.

use super::Sweep;
use crate::benchmarks::{Load, Served, Setting};
use crate::plan::{self, Run};
use crate::report::{Better, OURS};
use crate::servers::ServerProgram;
use fibre_measure::plot::Axis;

/// Length of a repetition.
const SECONDS: f64 = 0.3;
/// Repetitions unless asked for another number.
const REPETITIONS: usize = 5;

/// A server under a name of the figure's, and one place on its x-axis.
pub(super) struct Point {
    pub(super) program: ServerProgram,
    pub(super) x: f64,
    pub(super) setting: Setting,
}

impl Point {
    /// A place with a load and so many connections and server cores.
    pub(super) fn new(
        run: &Run,
        program: &ServerProgram,
        x: f64,
        load: Load,
        connections: usize,
        processors: usize,
    ) -> Self {
        Self {
            program: program.clone(),
            x,
            setting: Setting {
                load,
                connections,
                processors,
                seconds: run.plan.seconds(SECONDS),
            },
        }
    }
}

/// Panels of one figure over the same places, one for each kind of reading.
pub(super) struct Panels(Vec<(Sweep, Reading)>);

/// What a panel takes of a repetition.
type Reading = fn(&Served) -> f64;

impl Panels {
    /// Panels of throughput and of CPU time.
    pub(super) fn new(figure: &'static str, caption: &str, x: &Axis) -> Self {
        let none = Self(Vec::new());
        none.with(
            (figure, caption, x),
            (
                "throughput",
                "requests per second",
                "requests/s",
                Better::Higher,
            ),
            |served| served.requests_per_second,
        )
        .with(
            (figure, caption, x),
            ("CPU time", "CPU time per request, µs", "µs", Better::Lower),
            |served| served.cpu_us,
        )
    }

    /// The same with panels of the median and the 99th percentile of the latency.
    pub(super) fn with_latencies(self, figure: &'static str, caption: &str, x: &Axis) -> Self {
        self.with(
            (figure, caption, x),
            ("p50", "latency, median, ms", "ms", Better::Lower),
            |served| served.quantiles_ms[0],
        )
        .with(
            (figure, caption, x),
            ("p99", "latency, 99th percentile, ms", "ms", Better::Lower),
            |served| served.quantiles_ms[1],
        )
    }

    /// The same with one panel more: the metric, its axis, its unit, what is good.
    fn with(
        mut self,
        (figure, caption, x): (&'static str, &str, &Axis),
        (metric, label, unit, better): (&'static str, &str, &'static str, Better),
        reading: Reading,
    ) -> Self {
        let axes = (x.clone(), Axis::linear(label));
        let sweep = Sweep::new(figure, axes, (metric, unit, better)).captioned(caption);
        self.0.push((sweep, reading));
        self
    }

    /// All repetitions of all points, in turns. A point that fails is a fault and
    /// is not visited again.
    pub(super) fn fill(&mut self, run: &mut Run, points: &[Point]) {
        let wanted = |point: &&Point| run.plan.wants(&point.program.name);
        let mut visits: Vec<&Point> = points.iter().filter(wanted).collect();
        let repetitions = run.plan.fewer_repetitions(REPETITIONS);
        let bar = plan::progress(repetitions * visits.len());
        for _ in 0..repetitions {
            visits.retain(|point| {
                let name = &point.program.name;
                bar.set_message(format!("{name} at {}", point.x));
                bar.inc(1);
                match point.setting.measure(run, &point.program) {
                    Ok(Some(served)) => {
                        for (sweep, reading) in &mut self.0 {
                            sweep.push(name, point.x, reading(&served));
                        }
                        true
                    }
                    Ok(None) => false,
                    Err(error) => {
                        let figure = self.0.first().map_or("", |(sweep, _)| sweep.figure);
                        run.report
                            .fault(format!("{figure} {name} at {}: {error:#}", point.x));
                        false
                    }
                }
            });
        }
        bar.finish_and_clear();
    }
}

/// Prints all panels of a figure, and has them drawn.
pub(super) fn draw(run: &mut Run, figure: &str, panels: &[Panels]) {
    for (sweep, _) in panels.iter().flat_map(|panels| &panels.0) {
        sweep.add_to(&mut run.report);
    }
    run.report.picture(format!("figure-{figure}"));
}

/// Our server as it is and under another name with a variable set.
pub(super) fn ours_and(run: &Run, name: &str, variable: &str, value: &str) -> Vec<ServerProgram> {
    let ours = run.servers.iter().find(|server| server.name == OURS);
    ours.map_or_else(Vec::new, |ours| {
        vec![ours.clone(), ours.variant(name, variable, value)]
    })
}

/// Cores the server may have when the load keeps as many.
pub(super) fn most_server_cores(run: &Run) -> usize {
    (run.cores.count() / 2).max(1)
}
