//! The report: one document for people, plots, and JSON.

use std::fs;
use std::path::Path;

use anyhow::Context as _;

use super::contestant::USUAL;
use super::point::{Figure, Over, Point};
use super::results::Results;
use super::{plots, scorecard, tables};

/// What a point of each kind of figure is to be read with.
fn remark(figure: &Figure) -> &'static str {
    match (figure.over, figure.name) {
        (Over::Cores, _) => {
            "Where the server has all cores, the load shares the last one, and only the CPU time means much. (Thesis: up to 16 \
             cores, 6,000 connections.)"
        }
        (Over::Connections, _) => "(Thesis: 16 cores, up to 60,000 connections.)",
        (Over::Variants, _) => {
            "The same server under other variables; here `×` compares with the usual one. (Thesis: threads pinned to cores, a queue under a lock, no stealing, a mutex with baton \
             passing; with a core for the server there is nobody to steal from.)"
        }
        (Over::Rate, _) => {
            "Requests are due at times of their own, as in ETC, whether or not earlier ones were answered; latencies count from \
             then. All servers are asked for the same rate, a share of what the first one does in the closed loop without pipelining. So these are the latencies \
             to compare: a closed loop's are its queueing times."
        }
        (Over::Updates, "figure-4.17-and-4.18") => {
            "(Thesis: 16 cores, 6,000 connections; here Fibre was behind Vanilla.)"
        }
        (Over::Updates, _) => {
            "The thesis draws this for a blocking mutex and for one that spins first; here it is the C library's default."
        }
    }
}

/// Writes `report.md`, `results.json` and the plots.
pub(super) fn write(
    results: &Results,
    directory: &Path,
    grid: &[Point],
    figures: &[Figure],
) -> anyhow::Result<()> {
    fs::create_dir_all(directory).with_context(|| format!("making {}", directory.display()))?;
    let write = |name: &str, text: &str| {
        let path = directory.join(name);
        fs::write(&path, text).with_context(|| format!("writing {}", path.display()))
    };
    for figure in figures.iter().filter(|figure| !figure.points.is_empty()) {
        let plot = plots::plot(results, figure);
        let svg = plot.to_svg();
        write(
            &format!("{}.svg", figure.name),
            &svg.with_context(|| figure.name)?,
        )?;
    }
    write("results.json", &serde_json::to_string(results)?)?;
    write("report.md", &markdown(results, grid, figures))
}

/// The whole document.
fn markdown(results: &Results, grid: &[Point], figures: &[Figure]) -> String {
    let mut text = head(results);
    text += &marks(results);
    text += &not_measured(results);
    text += &format!(
        "## All combinations\n\nKeys of 30 bytes, values of 200, on one core.\n\n{}",
        tables::of_grid(results, grid)
    );
    for figure in figures.iter().filter(|figure| !figure.points.is_empty()) {
        let Figure {
            name,
            heading,
            title,
            over,
            ..
        } = figure;
        text += &format!(
            "## {heading}: {title}\n\n{}\n\n![{heading}]({name}.svg)\n\n{}",
            remark(figure),
            tables::of_figure(results, &figure.points, *over)
        );
    }
    if results.idle.iter().any(Option::is_some) {
        text += &format!(
            "## Idle connections\n\nEach has been answered once and then does nothing. Bytes are resident ones of the server; the kernel's are those of both ends, and \
             noise of the machine is in them.\n\n{}\n\n",
            tables::idle(results)
        );
    }
    if !results.faults.is_empty() {
        text += "## Faults\n\n";
        text.extend(results.faults.iter().map(|fault| format!("* {fault}\n")));
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

/// Title, machine, who, and how.
fn head(results: &Results) -> String {
    let mut text = format!(
        "# Memcached servers side by side\n\nWritten by `fibre-mcload compare`; not to be edited. Every reading is in \
         [results.json](results.json).\n\n{}\n\n| server | started as |\n|---|---|\n",
        results.machine
    );
    for server in &results.servers {
        text += &format!("| {} | `{server}` |\n", server.name);
    }
    let length = results.length;
    text += &format!(
        "\nwith `{USUAL}`, unless the command says a port itself.\n\n\
         The server has one core and the load the rest, but for the figure over cores. Repetitions: {}; in each, the servers took turns at \
         every point, beginning with another one every time. Each run was a fresh server, all keys stored, {} s of warm-up and {} s that count. Every byte of \
         every answer was checked, and whoever forgets or refuses a value is not measured but a fault (at the sizes of ETC, 5 % may be forgotten). In a closed loop \
         a connection keeps as many requests under way as the pipeline is deep. Figures are medians, `±` is half of (largest − smallest) / median.\n\n",
        results.repetitions, length.warm_up, length.seconds,
    );
    text
}

/// The scorecard.
fn marks(results: &Results) -> String {
    let mut text = format!(
        "## Scorecard\n\n{}\n\n{}\n\n",
        scorecard::LEGEND,
        scorecard::overview(results)
    );
    for index in results.judged() {
        text += &format!(
            "**{} against {}**\n\n{}\n\n",
            results.servers[index].name,
            results.first(),
            scorecard::scorecard(results, index)
        );
    }
    text
}

/// What of the thesis is not here, and why.
fn not_measured(results: &Results) -> String {
    format!(
        "## Not measured\n\n\
         * figure 4.10 beyond {} cores, and its load apart from the server there: this machine has no more\n\
         * figures 4.13, 4.16 and 4.18 apart from 4.12, 4.15 and 4.17, and baton passing in 4.14: they differ in the kind of mutex, and \
         Memcached asks for none\n\n",
        results.cores
    )
}
