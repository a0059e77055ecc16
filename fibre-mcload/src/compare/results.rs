//! What came out: tables for people, plots, and JSON.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use comfy_table::Table;
use fibre_mcload::idle::Idle;
use fibre_measure::format::{self, figure, ratio};
use fibre_measure::plot::{Axis, Curve, Panel, Plot, Shape};
use fibre_measure::{Machine, Series};
use serde::Serialize;

use super::contestant::Contestant;
use super::point::{Figure, Over, Point};
use super::readings::{Length, Readings};

/// Everything that was measured.
#[derive(Serialize)]
pub struct Results {
    /// Where.
    pub machine: Machine,
    /// Whom; the first is who the others are compared with.
    pub servers: Vec<Contestant>,
    /// How long each run took.
    pub length: Length,
    /// At which points.
    pub points: Vec<Row>,
    /// What idle connections cost, by server.
    pub idle: Vec<Option<Idle>>,
    /// What went wrong.
    pub faults: Vec<String>,
}

/// What was read at a point.
#[derive(Serialize)]
pub struct Row {
    /// The point.
    #[serde(flatten)]
    pub point: Point,
    /// The readings, by server.
    pub readings: Vec<Readings>,
}

/// One thing that is shown in a plot.
type Shown = (&'static str, fn(&Readings) -> &Series);

/// What every figure shows.
const SHOWN: [Shown; 4] = [
    ("requests/s", |readings| &readings.throughput),
    ("server CPU, µs/request", |readings| &readings.cpu_us),
    ("mean latency, ms", |readings| &readings.mean_ms),
    ("p99 latency, ms", |readings| &readings.p99_ms),
];

impl Results {
    /// The row of a point.
    fn row(&self, point: &Point) -> Option<&Row> {
        self.points.iter().find(|row| row.point == *point)
    }

    /// Writes `report.md`, `results.json` and the plots.
    pub fn write_to(
        &self,
        directory: &Path,
        grid: &[Point],
        figures: &[Figure],
    ) -> anyhow::Result<()> {
        fs::create_dir_all(directory).with_context(|| format!("making {}", directory.display()))?;
        let write = |name: &str, text: &str| {
            let path = directory.join(name);
            fs::write(&path, text).with_context(|| format!("writing {}", path.display()))
        };
        for one in figures {
            write(&format!("{}.svg", one.name), &self.plot(one).to_svg()?)?;
        }
        write("results.json", &serde_json::to_string_pretty(self)?)?;
        write("report.md", &self.markdown(grid, figures))
    }

    /// The whole document.
    fn markdown(&self, grid: &[Point], figures: &[Figure]) -> String {
        let names: Vec<&str> = self
            .servers
            .iter()
            .map(|server| server.name.as_str())
            .collect();
        let mut text = format!(
            "# Memcached servers side by side\n\nWritten by `fibre-mcload compare`; not to be edited.\n\n{}\n\n\
             Each server ran on one core (but for figures over cores) and the load on the others. Servers took turns at every point; \
             each run was a fresh server, all keys stored, {} s of warm-up and {} s that count. `×` is a ratio to {}: \
             the median over the repetitions, each paired with the one next to it, then that of the best readings \
             (most requests, least CPU time, shortest latency). Every answer was checked.\n\n\
             ## Summary\n\n{}\n\n## All combinations\n\n{}\n\n",
            self.machine,
            self.length.warm_up,
            self.length.seconds,
            names.first().unwrap_or(&"nobody"),
            self.summary(),
            self.table(grid),
        );
        if self.idle.iter().any(Option::is_some) {
            text.push_str(&format!("## Idle connections\n\n{}\n\n", self.idle_table()));
        }
        for one in figures {
            let table = self.table(&one.points);
            text.push_str(&format!(
                "## {}: {}\n\n![{}]({}.svg)\n\n{table}\n\n",
                one.name, one.title, one.title, one.name
            ));
        }
        if !self.faults.is_empty() {
            text.push_str("## Faults\n\n");
            text.extend(self.faults.iter().map(|fault| format!("* {fault}\n")));
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
        text
    }

    /// At how many points each server is at least as good as the first one.
    pub fn summary(&self) -> Table {
        let header = [
            "server",
            "points",
            "requests/s ≥ 0.98 ×",
            "least requests/s ×",
            "CPU ≤ 1.02 ×",
            "p99 ≤ 1.05 ×",
            "greatest p99 ×",
        ];
        let mut table = format::table(&header, 1);
        for (index, server) in self.servers.iter().enumerate().skip(1) {
            let ratios = |of: fn(&Readings) -> &Series| -> Vec<f64> {
                let pair = |row: &Row| {
                    of(&row.readings[index])
                        .paired(of(&row.readings[0]))
                        .median()
                };
                self.points
                    .iter()
                    .map(pair)
                    .filter(|ratio| ratio.is_finite())
                    .collect()
            };
            let throughput = ratios(|readings| &readings.throughput);
            let cpu = ratios(|readings| &readings.cpu_us);
            let p99 = ratios(|readings| &readings.p99_ms);
            let count = |ratios: &[f64], good: fn(f64) -> bool| {
                ratios
                    .iter()
                    .filter(|&&ratio| good(ratio))
                    .count()
                    .to_string()
            };
            table.add_row([
                server.name.clone(),
                throughput.len().to_string(),
                count(&throughput, |ratio| ratio >= 0.98),
                ratio(throughput.iter().copied().fold(f64::INFINITY, f64::min)),
                count(&cpu, |ratio| ratio <= 1.02),
                count(&p99, |ratio| ratio <= 1.05),
                ratio(p99.iter().copied().fold(0.0, f64::max)),
            ]);
        }
        table
    }

    /// A row for each point and server.
    fn table(&self, points: &[Point]) -> Table {
        let header = [
            "load",
            "server",
            "requests/s",
            "×",
            "best ×",
            "CPU µs",
            "×",
            "best ×",
            "p10 ms",
            "mean ms",
            "p90 ms",
            "p99 ms",
            "×",
            "best ×",
        ];
        let mut table = format::table(&header, 2);
        for row in points.iter().filter_map(|point| self.row(point)) {
            for (index, server) in self.servers.iter().enumerate() {
                let (own, first) = (&row.readings[index], &row.readings[0]);
                let load = if index == 0 {
                    row.point.words()
                } else {
                    String::new()
                };
                let mut cells = vec![load, server.name.clone()];
                cells.extend(compared(
                    &own.throughput,
                    &first.throughput,
                    Series::maximum,
                ));
                cells.extend(compared(&own.cpu_us, &first.cpu_us, Series::minimum));
                cells.extend(
                    [&own.p10_ms, &own.mean_ms, &own.p90_ms].map(|series| figure(series.median())),
                );
                cells.extend(compared(&own.p99_ms, &first.p99_ms, Series::minimum));
                table.add_row(cells);
            }
        }
        table
    }

    /// What idle connections cost.
    fn idle_table(&self) -> Table {
        let header = [
            "server",
            "connections",
            "bytes each",
            "more than the first",
            "kernel bytes each",
            "threads",
            "idle CPU µs/s",
        ];
        let mut table = format::table(&header, 1);
        let first = self
            .idle
            .first()
            .copied()
            .flatten()
            .map_or(f64::NAN, |idle| idle.bytes_per_connection);
        for (server, idle) in self.servers.iter().zip(&self.idle) {
            let Some(idle) = idle else { continue };
            table.add_row([
                server.name.clone(),
                idle.connections.to_string(),
                figure(idle.bytes_per_connection.round()),
                figure((idle.bytes_per_connection - first).round()),
                figure(idle.kernel_bytes_per_connection.round()),
                idle.threads.to_string(),
                figure(idle.idle_cpu_us_per_second.round()),
            ]);
        }
        table
    }

    /// A figure as panels, one for each thing that is shown.
    fn plot(&self, one: &Figure) -> Plot {
        let axis = match one.over {
            Over::Connections => Axis::logarithmic("connections"),
            Over::Updates => Axis::linear("share of updates"),
            Over::Cores => Axis::count("cores"),
        };
        let panel = |(label, of): Shown| Panel {
            caption: String::new(),
            x: axis.clone(),
            y: Axis::linear(label),
            curves: self
                .servers
                .iter()
                .enumerate()
                .map(|(index, server)| self.curve(server, index, one, of))
                .collect(),
        };
        Plot {
            title: one.title.clone(),
            shape: Shape::Lines(SHOWN.map(panel).into()),
        }
    }

    /// The medians of one server.
    fn curve(
        &self,
        server: &Contestant,
        index: usize,
        one: &Figure,
        of: fn(&Readings) -> &Series,
    ) -> Curve {
        let rows = one.points.iter().filter_map(|point| self.row(point));
        let points = rows.map(|row| (row.point.along(one.over), of(&row.readings[index]).median()));
        Curve {
            subject: server.name.clone(),
            points: points.filter(|(_, median)| median.is_finite()).collect(),
        }
    }
}

/// A median, its ratio to the first server's, and the ratio of the best readings.
fn compared(own: &Series, first: &Series, best: fn(&Series) -> f64) -> [String; 3] {
    let best = if own.is_empty() || first.is_empty() {
        f64::NAN
    } else {
        best(own) / best(first)
    };
    [
        figure(own.median()),
        ratio(own.paired(first).median()),
        ratio(best),
    ]
}
