//! Tables with a row for each point and a column for each server, one for each thing that was read;
//! of variants, a table for each point and a row for each server.

use std::iter;

use comfy_table::Table;
use fibre_mcload::idle::Idle;
use fibre_measure::Series;
use fibre_measure::format::{self, figure, percent, ratio};

use super::point::{Over, Point};
use super::readings::Readings;
use super::results::{Better, Comparison, Results, Row};

/// What stands in a cell, from what was read with a server and with the first one.
type Cell = fn(&Row, usize) -> String;

/// What is shown of a figure: a heading and the cells.
const SHOWN: [(&str, Cell); 3] = [
    ("Requests per second", throughput),
    ("CPU time of the server for a request, µs", cpu),
    ("Latency: p10 / mean / p90 / p99, ms", latency),
];

/// What tells points apart in a table.
enum Columns {
    /// The axis of a figure.
    Axis(Over),
    /// All that the grid goes over.
    Grid,
}

/// Series of one thing, and which of them are better.
type Compared = (fn(&Readings) -> &Series, Better);

impl Columns {
    /// Their headers.
    fn header(&self) -> Vec<&'static str> {
        match self {
            Self::Axis(Over::Connections) => vec!["connections"],
            Self::Axis(Over::Updates) => vec!["updates"],
            Self::Axis(Over::Cores) => vec!["cores"],
            Self::Axis(Over::Rate) => vec!["share", "asked for"],
            Self::Axis(Over::Variants) => Vec::new(),
            Self::Grid => vec!["pipeline", "updates", "connections"],
        }
    }

    /// Their cells.
    fn cells(&self, row: &Row) -> Vec<String> {
        let point = &row.point;
        match self {
            Self::Axis(Over::Variants) => Vec::new(),
            Self::Axis(Over::Rate) => vec![
                percent(point.along(Over::Rate)),
                figure(row.rate.unwrap_or(f64::NAN)),
            ],
            Self::Axis(over) => vec![point.along(*over).to_string()],
            Self::Grid => vec![
                point.pipeline.to_string(),
                point.update.to_string(),
                point.connections.to_string(),
            ],
        }
    }
}

/// The tables of the grid.
pub(super) fn of_grid(results: &Results, points: &[Point]) -> String {
    let columns = Columns::Grid;
    let busy = (
        "Share of their cores that server / load were busy; where the load is near 100 % and the server is not, it is the load that sets the rate",
        busy as Cell,
    );
    let shown = SHOWN.into_iter().chain([busy]);
    sections(results, points, &columns, shown)
}

/// The tables of a figure.
pub(super) fn of_figure(results: &Results, points: &[Point], over: Over) -> String {
    if over == Over::Variants {
        let rows = points.iter().filter_map(|point| results.row(point));
        return rows.map(|row| of_variants(results, row)).collect();
    }
    let etc = points.iter().any(|point| point.etc);
    let hits = ("Share of the questions that found a value", hits as Cell);
    let shown = SHOWN.into_iter().chain(etc.then_some(hits));
    sections(results, points, &Columns::Axis(over), shown)
}

/// A table for each thing that is shown, with its heading.
fn sections(
    results: &Results,
    points: &[Point],
    columns: &Columns,
    shown: impl Iterator<Item = (&'static str, Cell)>,
) -> String {
    let rows: Vec<&Row> = points
        .iter()
        .filter_map(|point| results.row(point))
        .collect();
    shown
        .map(|(heading, cell)| {
            format!(
                "**{heading}**\n\n{}\n\n",
                table(results, &rows, columns, cell)
            )
        })
        .collect()
}

/// A row for each point, a column for each server.
fn table(results: &Results, rows: &[&Row], columns: &Columns, cell: Cell) -> Table {
    let servers = || (0..results.servers.len()).filter(|&index| !results.servers[index].is_variant);
    let mut header = columns.header();
    header.extend(servers().map(|index| results.servers[index].name.as_str()));
    let mut table = format::table(&header, 0);
    for row in rows {
        let cells = servers().map(|index| {
            if row.readings[index].throughput.median().is_nan() {
                return "–".into();
            }
            cell(row, index)
        });
        table.add_row(columns.cells(row).into_iter().chain(cells));
    }
    table
}

/// The server that has variants, and these, at a point.
fn of_variants(results: &Results, row: &Row) -> String {
    let servers = results.servers.iter().enumerate();
    let concerned: Vec<usize> = servers
        .filter(|(_, server)| server.is_variant || server.name == "fibre")
        .map(|(index, _)| index)
        .collect();
    let header = [
        "server",
        "requests/s",
        "×",
        "CPU, µs/request",
        "×",
        "p99, ms",
        "×",
    ];
    let compared: [Compared; 3] = [
        (|readings| &readings.throughput, Better::More),
        (|readings| &readings.cpu_us, Better::Less),
        (|readings| &readings.p99_ms, Better::Less),
    ];
    let mut table = format::table(&header, 1);
    for &index in &concerned {
        let cells = compared.into_iter().flat_map(|(of, better)| {
            let (own, usual) = (&row.readings[index], &row.readings[concerned[0]]);
            let comparison = Comparison::new(of(own), of(usual), better);
            let times = comparison.map_or_else(String::new, |times| ratio(times.median));
            [spread(of(own)), times]
        });
        table.add_row(iter::once(results.servers[index].name.clone()).chain(cells));
    }
    format!("**{}**\n\n{table}\n\n", row.point.words())
}

/// A median with its spread.
fn spread(series: &Series) -> String {
    format!(
        "{} (±{})",
        figure(series.median()),
        percent(series.spread() / 2.0)
    )
}

/// A ratio behind a figure; nothing with the first server.
fn times(index: usize, median: Option<f64>) -> String {
    match median {
        Some(median) if index > 0 => format!(" × {}", ratio(median)),
        _ => String::new(),
    }
}

/// Requests per second.
fn throughput(row: &Row, index: usize) -> String {
    let median = row.throughput(index).map(|comparison| comparison.median);
    spread(&row.readings[index].throughput) + &times(index, median)
}

/// CPU time for a request.
fn cpu(row: &Row, index: usize) -> String {
    let median = row.cpu(index).map(|comparison| comparison.median);
    spread(&row.readings[index].cpu_us) + &times(index, median)
}

/// The profile of latencies, with the ratio of the last figure.
fn latency(row: &Row, index: usize) -> String {
    let Readings {
        p10_ms,
        mean_ms,
        p90_ms,
        p99_ms,
        ..
    } = &row.readings[index];
    let medians = [p10_ms, mean_ms, p90_ms, p99_ms].map(|series| figure(series.median()));
    let median = row.p99(index).map(|comparison| comparison.median);
    medians.join(" / ") + &times(index, median)
}

/// How busy server and load were.
fn busy(row: &Row, index: usize) -> String {
    let readings = &row.readings[index];
    let share = |cpu_us: &Series| readings.throughput.median() * cpu_us.median() / 1e6;
    // Both have as many cores in the grid.
    let shares = [&readings.cpu_us, &readings.load_cpu_us].map(|cpu_us| percent(share(cpu_us)));
    shares.join(" / ")
}

/// Which share of the questions found a value.
fn hits(row: &Row, index: usize) -> String {
    format!("{:.2} %", row.readings[index].hits.minimum() * 100.0)
}

/// What idle connections cost.
pub(super) fn idle(results: &Results) -> Table {
    let above = format!("above {}", results.first());
    let header = [
        "server",
        "connections",
        "bytes each",
        &above,
        "kernel bytes each",
        "threads",
        "CPU at rest, µs/s",
    ];
    let mut table = format::table(&header, 1);
    for (index, idle) in results.idle.iter().enumerate() {
        let Some(idle) = idle else { continue };
        let Idle {
            connections,
            bytes_per_connection,
            kernel_bytes_per_connection,
            threads,
            idle_cpu_us_per_second,
            ..
        } = *idle;
        let whole = |value: f64| figure(value.round());
        table.add_row([
            results.servers[index].name.clone(),
            connections.to_string(),
            whole(bytes_per_connection),
            whole(results.idle_above(index).unwrap_or(f64::NAN)),
            whole(kernel_bytes_per_connection),
            threads.to_string(),
            whole(idle_cpu_us_per_second),
        ]);
    }
    table
}
