//! The pictures of a report, drawn from its readings alone: a run and `redraw` make the same ones.

use anyhow::Context as _;
use fibre_measure::plot::{Axis, Curve, Dot, Dots, Panel, Plot, Row, Shape};
use fibre_measure::{Machine, Series};
use serde::Deserialize;

use super::{Better, Read, titles};

/// What the name of a picture of latencies ends with, and of a figure of the thesis begins with.
const LATENCY: &str = "-latency";
const FIGURE: &str = "figure-";

/// The metrics of a picture of latencies, and one in how many messages exceeds each.
const QUANTILES: [(&str, f64); 5] = [
    ("median", 2.0),
    ("90 %", 10.0),
    ("99 %", 100.0),
    ("99.9 %", 1e3),
    ("99.99 %", 1e4),
];

/// The most points that a curve of a simulation has without gaps: it has a mark here and there, as
/// it agrees with a line.
const MARKS: usize = 16;

/// What `results.json` has of the readings.
#[derive(Deserialize)]
pub(crate) struct Stored {
    machine: Machine,
    measurements: Vec<Measured>,
}

/// A measurement, as it is stored.
#[derive(Deserialize)]
struct Measured {
    benchmark: String,
    case: String,
    subject: String,
    metric: String,
    unit: String,
    better: Better,
    read: Read,
    goal: Option<Goal>,
    readings: Series,
}

/// What was to be reached.
#[derive(Deserialize)]
struct Goal {
    bar: Bar,
}

/// How that is stated; only a figure can be drawn.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Bar {
    Figure(f64),
    TimesOf(serde::de::IgnoredAny),
    Above(serde::de::IgnoredAny),
}

impl Measured {
    /// The figure that stands for all readings.
    fn figure(&self) -> f64 {
        let readings = &self.readings;
        match (self.read, self.better) {
            (Read::Median, _) => readings.median(),
            (Read::Best, Better::Lower) | (Read::Worst, Better::Higher) => readings.minimum(),
            (Read::Best, Better::Higher) | (Read::Worst, Better::Lower) => readings.maximum(),
        }
    }

    /// What was to be reached, as a figure.
    fn bar(&self) -> Option<f64> {
        match self.goal.as_ref()?.bar {
            Bar::Figure(bar) => Some(bar),
            Bar::TimesOf(_) | Bar::Above(_) => None,
        }
    }
}

impl Stored {
    /// Reads `results.json`.
    pub(crate) fn read(json: &str) -> anyhow::Result<Self> {
        serde_json::from_str(json).context("these are no readings of fibre-bench")
    }

    /// The picture of this name, as SVG.
    pub(crate) fn draw(&self, name: &str) -> anyhow::Result<String> {
        let benchmark = benchmark_of(name);
        let of_it = self.measurements.iter();
        let all: Vec<&Measured> = of_it.filter(|one| one.benchmark == benchmark).collect();
        let first = *all.first().context("there are no readings of it")?;
        let (shape, marks) = if name.ends_with(LATENCY) {
            (latencies(&all), "medians of the repetitions")
        } else if name.starts_with(FIGURE) || place(&first.case).is_some() {
            (sweeps(&all), "medians of the repetitions")
        } else {
            let marks = match first.read {
                Read::Best => "best of the repetitions",
                Read::Median => "medians of the repetitions",
                Read::Worst => "worst of the repetitions",
            };
            (dots(&all, first), marks)
        };
        let is_repeated = all.iter().any(|one| one.readings.len() > 1);
        let spread = match is_repeated {
            true => format!("{marks}; thin lines: from the least to the largest"),
            false => "one repetition".into(),
        };
        let has_bar =
            matches!(&shape, Shape::Dots(dots) if dots.rows.iter().any(|row| row.bar.is_some()));
        let bar = if has_bar {
            "; strokes: to be reached"
        } else {
            ""
        };
        let plot = Plot {
            title: titles::of(name),
            note: format!("{} · {spread}{bar}", self.machine.place_and_day()),
            shape,
        };
        plot.to_svg().with_context(|| format!("picture {name}"))
    }
}

/// The benchmark with its measurements in the picture of this name.
pub(super) fn benchmark_of(name: &str) -> &str {
    let name = name.strip_prefix(FIGURE).unwrap_or(name);
    name.strip_suffix(LATENCY).unwrap_or(name)
}

/// What a time is the time of.
fn operation(all: &[&Measured]) -> &'static str {
    match all.iter().any(|one| one.unit == "requests/s") {
        true => "request",
        false => "operation",
    }
}

/// What an axis shows, its unit, and which direction is better.
fn label(one: &Measured, operation: &str) -> String {
    let is_rate = one.unit.contains("/s");
    let of_what = if !is_rate && one.metric.ends_with("time") {
        format!(" per {operation}")
    } else {
        String::new()
    };
    let unit = match one.unit.as_str() {
        "M/s" => "million operations/s",
        "1/s" => "per second",
        unit => unit,
    };
    let what = match (one.metric.as_str(), unit) {
        ("scalability", _) => "throughput, as a multiple of one fibre's".into(),
        ("efficiency", unit) => format!("CPU time per iteration, {unit}"),
        ("utilisation", unit) => format!("{unit} in use"),
        ("p50", unit) => format!("latency, median, {unit}"),
        ("p99", unit) => format!("latency, 99th percentile, {unit}"),
        (metric, unit) => format!("{metric}, {unit}{of_what}"),
    };
    format!("{what} ({})", one.better.in_words())
}

/// A row for each case, of the metric that comes first in the benchmark's first one.
fn dots(all: &[&Measured], first: &Measured) -> Shape {
    let mut rows: Vec<Row> = Vec::new();
    let mut drawn: Vec<&str> = Vec::new();
    for one in all {
        if !drawn.contains(&one.case.as_str()) {
            drawn.push(&one.case);
            // A case that begins with another metric has no place on this axis.
            if one.metric == first.metric {
                rows.push(Row {
                    name: one.case.clone(),
                    dots: Vec::new(),
                    bar: None,
                });
            }
        }
        let row = rows.iter_mut().find(|row| row.name == one.case);
        if let Some(row) = row.filter(|_| one.metric == first.metric) {
            row.bar = row.bar.or(one.bar());
            row.dots.push(Dot {
                subject: one.subject.clone(),
                figure: one.figure(),
                spread: one.readings.minimum()..one.readings.maximum(),
            });
        }
    }
    Shape::Dots(Dots {
        label: label(first, operation(all)),
        rows,
    })
}

/// Adds the median and the spread of a measurement to the curve of its subject.
fn add(curves: &mut Vec<Curve>, x: f64, one: &Measured) {
    let median = one.readings.median();
    if !median.is_finite() {
        return;
    }
    let known = curves.iter().position(|curve| curve.subject == one.subject);
    let index = known.unwrap_or_else(|| {
        curves.push(Curve {
            subject: one.subject.clone(),
            points: Vec::new(),
            strokes: Vec::new(),
        });
        curves.len() - 1
    });
    curves[index].points.push((x, median));
    if one.readings.len() > 1 {
        let ends = one.readings.minimum()..one.readings.maximum();
        curves[index].strokes.push((x, ends));
    }
}

/// A panel for each case: what a part of all messages exceeds, the rarer the farther to the right.
fn latencies(all: &[&Measured]) -> Shape {
    let mut panels: Vec<Panel> = Vec::new();
    for one in all {
        let quantile = QUANTILES.iter().find(|(metric, _)| *metric == one.metric);
        let Some((_, one_in)) = quantile else {
            continue;
        };
        let known = panels.iter().position(|panel| panel.caption == one.case);
        let index = known.unwrap_or_else(|| {
            panels.push(Panel {
                caption: one.case.clone(),
                x: Axis::logarithmic("one message in so many takes longer"),
                y: Axis::logarithmic(&format!(
                    "latency, {} ({})",
                    one.unit,
                    one.better.in_words()
                )),
                curves: Vec::new(),
            });
            panels.len() - 1
        });
        add(&mut panels[index].curves, *one_in, one);
    }
    panels.iter_mut().for_each(sort);
    Shape::Lines(panels)
}

/// A panel for each metric of each caption.
fn sweeps(all: &[&Measured]) -> Shape {
    let mut panels: Vec<(String, Panel)> = Vec::new();
    for one in all {
        let Some((caption, x, at)) = place(&one.case) else {
            continue;
        };
        let key = format!("{caption}, {}", one.metric);
        let known = panels.iter().position(|(of, _)| *of == key);
        let index = known.unwrap_or_else(|| {
            let panel = Panel {
                caption: caption.to_owned(),
                x,
                y: Axis::linear(&label(one, operation(all))),
                curves: Vec::new(),
            };
            panels.push((key, panel));
            panels.len() - 1
        });
        add(&mut panels[index].1.curves, at, one);
    }
    let mut panels: Vec<Panel> = panels.into_iter().map(|(_, panel)| panel).collect();
    panels.iter_mut().for_each(sort);
    Shape::Lines(panels)
}

/// Brings the points of each curve in order. Simulations come first, with few points, so that the
/// lines of the models that agree with them lie over them.
fn sort(panel: &mut Panel) {
    for curve in &mut panel.curves {
        curve.points.sort_by(|one, other| one.0.total_cmp(&other.0));
        if is_simulated(curve) {
            let step = curve.points.len().div_ceil(MARKS).max(1);
            let mut few: Vec<_> = curve.points.iter().rev().step_by(step).copied().collect();
            few.reverse();
            curve.points = few;
        }
    }
    panel.curves.sort_by_key(|curve| !is_simulated(curve));
}

/// Whether a curve is a simulation's.
fn is_simulated(curve: &Curve) -> bool {
    curve.subject.starts_with("simulated")
}

/// What the case of a figure says: the caption of its panel, the axis, and the place on it.
fn place(case: &str) -> Option<(&str, Axis, f64)> {
    if let Some(count) = case.strip_suffix(" threads") {
        return Some(("", Axis::count("threads"), count.parse().ok()?));
    }
    let (before, at) = case.rsplit_once(' ')?;
    let axes = [
        Axis::count("server cores"),
        Axis::count("processors"),
        Axis::logarithmic("connections"),
        Axis::logarithmic("pipeline depth"),
        Axis::logarithmic("work, µs"),
    ];
    let axis = axes
        .into_iter()
        .find(|axis| before.ends_with(&axis.label))?;
    let caption = before.strip_suffix(&axis.label)?.trim_end_matches(", ");
    Some((caption, axis, at.parse().ok()?))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    /// Readings of a benchmark of each kind.
    fn stored() -> Stored {
        let one = |benchmark: &str, case: &str, subject: &str, rest: &str| {
            format!(r#"{{"benchmark":"{benchmark}","case":"{case}","subject":"{subject}",{rest}}}"#)
        };
        let rate = r#""metric":"throughput","unit":"M/s","better":"higher","read":"median",
            "goal":{"bar":{"figure":2.0},"there":[["thread",2.0]]},"readings":[1.0,null,3.0]"#;
        let cpu = r#""metric":"CPU time","unit":"µs","better":"lower","read":"best",
            "goal":{"bar":{"timesof":["epoll",1.04]},"there":[]},"readings":[5.0,7.0]"#;
        let late = r#""metric":"99 %","unit":"µs","better":"lower","read":"median","goal":null,"readings":[9.0]"#;
        let measurements = [
            one("contention", "T16 L1", "fibre", rate),
            one("contention", "T16 L1", "tokio", rate),
            one("4.2", "pipeline depth 4, server cores 1", "epoll", cpu),
            one("4.2", "pipeline depth 4, server cores 2", "epoll", cpu),
            one("ask", "there and back", "caf", late),
        ]
        .join(",");
        let machine = r#"{"cpu":"a processor","cores":2,"kernel":"k","rustc":"r","commit":"c","date":"2026-11-21T11:16:33Z","load":"0"}"#;
        let json = format!(r#"{{"machine":{machine},"measurements":[{measurements}]}}"#);
        Stored::read(&json).unwrap()
    }

    /// Whether all words are in a picture.
    #[track_caller]
    fn has(svg: &str, words: &[&str]) {
        for word in words {
            assert!(svg.contains(word), "{word:?} is missing in {svg}");
        }
    }

    #[test]
    fn every_picture_says_what_is_better_and_where_it_was_measured() {
        let stored = stored();
        for (name, better) in [
            ("contention", "higher is better"),
            ("figure-4.2", "lower is better"),
            ("ask-latency", "lower is better"),
        ] {
            let svg = stored.draw(name).unwrap();
            has(&svg, &[better, "a processor, 2 cores · 2026-11-21"]);
            has(&svg, &[&titles::of(name)]);
            assert_ne!(titles::of(name), name);
        }
    }

    #[test]
    fn rates_are_per_second_and_their_readings_are_spread() {
        let svg = stored().draw("contention").unwrap();
        has(&svg, &["throughput, million operations/s", "to be reached"]);
        has(&svg, &["thin lines: from the least to the largest"]);
        assert!(!svg.contains("per operation"), "{svg}");
        let svg = stored().draw("ask-latency").unwrap();
        has(&svg, &["one repetition"]);
    }

    #[test]
    fn cases_of_figures_are_places_on_an_axis() {
        let (caption, axis, at) = place("pipeline depth 4, server cores 2").unwrap();
        assert_eq!(
            (caption, axis.label.as_str(), at),
            ("pipeline depth 4", "server cores", 2.0)
        );
        let (caption, axis, at) = place("work, µs 0.5").unwrap();
        assert_eq!((caption, axis.label.as_str(), at), ("", "work, µs", 0.5));
        assert!(place("100 connections").is_none());
        assert!(place("50 µs, a sleep (1 CPU)").is_none());
        let svg = stored().draw("figure-4.2").unwrap();
        has(
            &svg,
            &[
                "pipeline depth 4",
                "server cores",
                "CPU time, µs per operation",
            ],
        );
    }

    #[test]
    fn a_picture_without_readings_is_an_error() {
        assert!(stored().draw("figure-4.3").is_err());
        assert!(Stored::read("{}").is_err());
    }

    /// Nobody edits them, and a change of the drawing code is a change of all.
    #[test]
    fn the_pictures_in_the_tree_are_as_redraw_draws_them() {
        let results = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/results");
        let mut count = 0;
        for directory in std::fs::read_dir(results).unwrap() {
            let directory = directory.unwrap().path();
            let json = std::fs::read_to_string(directory.join("results.json"));
            // Those of Memcached are fibre-mcload's.
            let Some(stored) = json.ok().and_then(|json| Stored::read(&json).ok()) else {
                continue;
            };
            for entry in std::fs::read_dir(&directory).unwrap() {
                let path = entry.unwrap().path();
                if path.extension().is_some_and(|it| it == "svg") {
                    let name = path.file_stem().unwrap().to_str().unwrap();
                    let kept = std::fs::read_to_string(&path).unwrap();
                    assert!(
                        stored.draw(name).unwrap() == kept,
                        "redraw {}",
                        path.display()
                    );
                    has(&kept, &[" is better)", &stored.machine.place_and_day()]);
                    count += 1;
                }
            }
        }
        assert!(count > 0, "no pictures in {results}");
    }
}
