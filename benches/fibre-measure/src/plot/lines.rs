//! Panels of curves: something against cores, connections, work.

use std::ops::Range;

use anyhow::Result;
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;

use super::colours::PAPER;
use super::marks::{self, Area, Parts, failed};
use super::ticks::ticks;

/// Size of one panel in pixels.
const PANEL: (u32, u32) = (640, 420);
/// Pixels of its axes, about.
const AXES: (u32, u32) = (340, 300);
/// Panels beside each other, before a second row begins.
const COLUMNS: usize = 2;
/// Width of the legend at the right of a panel.
const LEGEND: u32 = 190;
/// How many points of a curve get a dot each; the dots of more would hide other curves.
const DOTTED: usize = 40;
/// Room for the title above all panels.
const TITLE: u32 = 60;
/// Pixels between marks of neighbouring subjects at one place.
const BESIDE: i32 = 4;

/// One coordinate system.
pub struct Panel {
    /// What tells it from its neighbours; may be empty.
    pub caption: String,
    /// What the curves are over.
    pub x: Axis,
    /// What they show.
    pub y: Axis,
    /// A curve for each subject.
    pub curves: Vec<Curve>,
}

/// An axis: what it shows, and its unit.
#[derive(Clone)]
pub struct Axis {
    /// What it shows, and its unit.
    pub label: String,
    /// How values lie on it.
    pub scale: Scale,
}

/// How values lie on an axis.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// From zero, evenly.
    Linear,
    /// From zero, evenly, whole numbers.
    Count,
    /// By their logarithm.
    Logarithmic,
}

/// The points of one subject.
pub struct Curve {
    /// Whose they are.
    pub subject: String,
    /// The points, from the left.
    pub points: Vec<(f64, f64)>,
    /// Strokes through them, each from one height to another; mostly none.
    pub strokes: Vec<Stroke>,
}

/// A vertical stroke, mostly from the least to the largest repetition: where it is on the x-axis,
/// and from where to where it reaches on the y-axis.
pub type Stroke = (f64, Range<f64>);

impl Axis {
    /// An axis that starts at zero.
    pub fn linear(label: &str) -> Self {
        Self {
            label: label.into(),
            scale: Scale::Linear,
        }
    }

    /// An axis of whole numbers that starts at zero.
    pub fn count(label: &str) -> Self {
        Self {
            label: label.into(),
            scale: Scale::Count,
        }
    }

    /// An axis of powers.
    pub fn logarithmic(label: &str) -> Self {
        Self {
            label: label.into(),
            scale: Scale::Logarithmic,
        }
    }

    /// The range that shows all values with this share of room behind them.
    fn range(&self, room: f64, values: impl Iterator<Item = f64>) -> Range<f64> {
        let (least, most) = values.fold((f64::INFINITY, 0.0_f64), |(least, most), value| {
            (least.min(value), most.max(value))
        });
        match self.scale {
            _ if !least.is_finite() || most <= 0.0 => 0.1..1.0,
            Scale::Linear | Scale::Count => 0.0..most * (1.0 + room),
            Scale::Logarithmic => {
                let beside = 1.2 * (most / least).powf(room);
                least / beside..most * beside
            }
        }
    }

    /// About how many labels it should have.
    fn labels(&self, range: &Range<f64>) -> usize {
        match self.scale {
            Scale::Count => (range.end as usize + 1).min(10),
            Scale::Linear | Scale::Logarithmic => 10,
        }
    }
}

/// Draws the panels, in rows.
pub(super) fn draw(title: &str, note: &str, panels: &[Panel]) -> Result<String> {
    let columns = panels.len().clamp(1, COLUMNS);
    let rows = panels.len().div_ceil(COLUMNS).max(1);
    let size = (
        PANEL.0 * u32::try_from(columns)?,
        PANEL.1 * u32::try_from(rows)? + TITLE,
    );
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        root.fill(&PAPER).map_err(failed)?;
        marks::head(&root, title, note)?;
        let (_, body) = root.split_vertically(TITLE);
        for (area, panel) in body.split_evenly((rows, columns)).iter().zip(panels) {
            draw_panel(area, panel)?;
        }
        root.present().map_err(failed)?;
    }
    Ok(svg)
}

/// Draws one panel with the scales its axes ask for.
fn draw_panel(area: &Area<'_>, panel: &Panel) -> Result<()> {
    let points = || panel.curves.iter().flat_map(|curve| &curve.points);
    let x = panel.x.range(0.08, points().map(|point| point.0));
    let strokes = panel.curves.iter().flat_map(|curve| &curve.strokes);
    let ends = strokes.flat_map(|(_, ends)| [ends.start, ends.end]);
    let y = panel
        .y
        .range(0.08, points().map(|point| point.1).chain(ends));
    let labels = panel.x.labels(&x);
    let logarithmic = |axis: &Axis| axis.scale == Scale::Logarithmic;
    match (logarithmic(&panel.x), logarithmic(&panel.y)) {
        (false, false) => draw_axes(area, panel, labels, x, y),
        (false, true) => draw_axes(area, panel, labels, x, labelled(y, AXES.1)),
        (true, false) => draw_axes(area, panel, labels, labelled(x, AXES.0), y),
        (true, true) => {
            let (x, y) = (labelled(x, AXES.0), labelled(y, AXES.1));
            draw_axes(area, panel, labels, x, y)
        }
    }
}

/// A logarithmic axis with labels that have room.
fn labelled(
    range: Range<f64>,
    pixels: u32,
) -> impl AsRangedCoord<Value = f64, CoordDescType: ValueFormatter<f64>> {
    let ticks = ticks(&range, pixels);
    range.log_scale().with_key_points(ticks)
}

/// Draws axes, curves and legend.
fn draw_axes<X, Y>(area: &Area<'_>, panel: &Panel, x_labels: usize, x: X, y: Y) -> Result<()>
where
    X: AsRangedCoord<Value = f64>,
    Y: AsRangedCoord<Value = f64>,
    X::CoordDescType: ValueFormatter<f64>,
    Y::CoordDescType: ValueFormatter<f64>,
{
    let (width, _) = area.dim_in_pixel();
    let (plane, legend) = area.split_horizontally(width - LEGEND);
    let mut chart = ChartBuilder::on(&plane)
        .margin(12)
        .caption(&panel.caption, ("sans-serif", 15))
        .x_label_area_size(42)
        .y_label_area_size(66)
        .build_cartesian_2d(x, y)
        .map_err(failed)?;
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .x_labels(x_labels)
        .x_desc(&panel.x.label)
        .y_desc(&panel.y.label)
        .axis_desc_style(("sans-serif", 13))
        .x_label_formatter(&|value| short(*value))
        .y_label_formatter(&|value| short(*value))
        .draw()
        .map_err(failed)?;
    let subjects: Vec<String> = panel.curves.iter().map(|it| it.subject.clone()).collect();
    let base = plane.get_base_pixel();
    let count = panel.curves.len() as i32;
    // Beside lines without marks, marks have to be where they belong.
    let dotted = |curve: &Curve| curve.points.len() <= DOTTED;
    let all_dotted = panel.curves.iter().all(dotted);
    for (index, (curve, mark)) in panel.curves.iter().zip(marks::of(&subjects)).enumerate() {
        let beside = match all_dotted {
            true => (2 * index as i32 - count + 1) * BESIDE / 2,
            false => 0,
        };
        let place = |&(x, y): &(f64, f64)| {
            let (x, y) = chart.backend_coord(&(x, y));
            (x - base.0 + beside, y - base.1)
        };
        mark.line(&plane, curve.points.iter().map(place).collect(), 2)?;
        for (x, ends) in &curve.strokes {
            let ends = [place(&(*x, ends.start)), place(&(*x, ends.end))];
            mark.line(&plane, ends.to_vec(), 1)?;
        }
        for point in curve.points.iter().filter(|_| dotted(curve)) {
            mark.draw(&plane, place(point))?;
        }
    }
    marks::legend(&legend, &subjects, 48, |index| Parts {
        has_line: true,
        has_marks: dotted(&panel.curves[index]),
    })
}

/// A value beside an axis, short.
pub(super) fn short(value: f64) -> String {
    let (value, unit) = match value.abs() {
        1e6.. => (value / 1e6, "M"),
        1e3.. => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let digits = if value.abs() >= 10.0 || value.fract() == 0.0 {
        0
    } else if value.abs() >= 1.0 {
        1
    } else {
        2
    };
    format!("{value:.digits$}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_short() {
        let labels = [0.05, 0.5, 2.0, 2.5, 12.4, 30_000.0, 1.5e6].map(short);
        assert_eq!(labels, ["0.05", "0.50", "2", "2.5", "12", "30k", "1.5M"]);
    }

    #[test]
    fn only_curves_of_few_points_have_dots() -> Result<()> {
        let dots = |count: u32| {
            let curve = Curve {
                subject: "fibre".into(),
                points: (1..=count).map(|x| (f64::from(x), 1.0)).collect(),
                strokes: Vec::new(),
            };
            let panel = Panel {
                caption: String::new(),
                x: Axis::count("threads"),
                y: Axis::linear("cores"),
                curves: vec![curve],
            };
            Ok(draw("", "", &[panel])?.matches("<circle").count())
        };
        let counts: Result<Vec<usize>> = [3, 40, 41].into_iter().map(dots).collect();
        // One is in the legend.
        assert_eq!(counts?, [4, 41, 0]);
        Ok(())
    }

    #[test]
    fn every_curve_is_named_in_the_drawing() -> Result<()> {
        let panel = |x: Axis, y: Axis| Panel {
            caption: "depth 1".into(),
            x,
            y,
            curves: vec![
                Curve {
                    subject: "fibre".into(),
                    points: vec![(1.0, 10.0), (2.0, 20.0)],
                    strokes: vec![(1.0, 5.0..30.0)],
                },
                Curve {
                    subject: "empty".into(),
                    points: Vec::new(),
                    strokes: Vec::new(),
                },
            ],
        };
        let svg = draw(
            "title",
            "a machine, 2026-11-21",
            &[
                panel(Axis::linear("cores"), Axis::linear("requests")),
                panel(Axis::logarithmic("cores"), Axis::logarithmic("requests")),
            ],
        )?;
        for word in [
            "title",
            "a machine, 2026-11-21",
            "depth 1",
            "cores",
            "requests",
            "fibre",
            "empty",
        ] {
            assert!(svg.contains(word), "{word} is missing");
        }
        Ok(())
    }
}
