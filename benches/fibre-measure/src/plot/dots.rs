//! Rows of dots: a row for each case, a dot for each runtime, costs on a
//! logarithmic axis.

use std::ops::Range;

use anyhow::Result;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::colours::PAPER;
use super::lines::short;
use super::marks::{self, Area, Mark, Parts, failed};
use super::ticks::ticks;

/// Width of a plot, and of the legend at its right, in pixels.
const WIDTH: u32 = 1000;
const LEGEND: u32 = 200;
/// Height of a dot's line within a row, and what a row has beside them.
const LINE: u32 = 11;
const BETWEEN: u32 = 12;
/// Room for the names of the rows.
const NAMES: u32 = 270;
/// Room for the title, and for the axis.
const TITLE: u32 = 56;
const AXIS: u32 = 60;

/// What is drawn.
pub struct Dots {
    /// What the axis shows, with its unit, and which direction is better.
    pub label: String,
    /// The cases, the first on top.
    pub rows: Vec<Row>,
}

/// One case.
pub struct Row {
    /// What stands beside it.
    pub name: String,
    /// What was measured; figures that are not above zero are left out.
    pub dots: Vec<Dot>,
    /// The figure to reach, drawn as a stroke.
    pub bar: Option<f64>,
}

/// What was measured of one subject.
pub struct Dot {
    /// Whose it is.
    pub subject: String,
    /// The figure.
    pub figure: f64,
    /// The least and the largest of the repetitions, which a thin line joins.
    pub spread: Range<f64>,
}

/// Draws the rows, the first on top.
pub(super) fn draw(title: &str, note: &str, dots: &Dots) -> Result<String> {
    let count = u32::try_from(dots.rows.len().max(1))?;
    let most = dots.rows.iter().map(|row| row.dots.len()).max();
    let most = u32::try_from(most.unwrap_or(1).max(1))?;
    let height = (LINE * most + BETWEEN) * count + TITLE + AXIS;
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, (WIDTH, height)).into_drawing_area();
        root.fill(&PAPER).map_err(failed)?;
        marks::head(&root, title, note)?;
        let (_, body) = root.split_vertically(TITLE);
        let (chart, legend) = body.split_horizontally(WIDTH - LEGEND);
        marks::legend(&legend, &dots.subjects(), 20, |_| Parts::MARK)?;
        draw_rows(&chart, dots, most as i32)?;
        root.present().map_err(failed)?;
    }
    Ok(svg)
}

/// Draws axis, dots, bars and names.
fn draw_rows(area: &Area<'_>, dots: &Dots, most: i32) -> Result<()> {
    let (least, largest) = dots.range();
    let range = least / 1.2..largest * 1.2;
    let count = dots.rows.len().max(1) as f64;
    let mut chart = ChartBuilder::on(area)
        .margin(4)
        .x_label_area_size(AXIS - 8)
        .y_label_area_size(NAMES)
        .build_cartesian_2d(
            range
                .clone()
                .log_scale()
                .with_key_points(ticks(&range, WIDTH - LEGEND - NAMES)),
            0.0..count,
        )
        .map_err(failed)?;
    chart
        .configure_mesh()
        .disable_y_mesh()
        .disable_y_axis()
        .light_line_style(WHITE)
        .x_desc(&dots.label)
        .axis_desc_style(("sans-serif", 14))
        .x_label_formatter(&|value| short(*value))
        .draw()
        .map_err(failed)?;
    let base = area.get_base_pixel();
    let place = |x: f64, row: usize| {
        let (x, y) = chart.backend_coord(&(x, count - row as f64 - 0.5));
        (x - base.0, y - base.1)
    };
    let subjects = dots.subjects();
    let all = marks::of(&subjects);
    for (index, row) in dots.rows.iter().enumerate() {
        if index > 0 {
            let ends = [place(range.start, index).0, place(range.end, index).0];
            let y = place(range.start, index).1 - (most * LINE as i32 + BETWEEN as i32) / 2;
            let rule = PathElement::new(ends.map(|x| (x, y)), RGBColor(225, 225, 225));
            area.draw(&rule).map_err(failed)?;
        }
        if let Some(bar) = row.bar.filter(|&bar| drawable(bar)) {
            let (x, y) = place(bar, index);
            let half = most * LINE as i32 / 2 + 2;
            let bar = PathElement::new([(x, y - half), (x, y + half)], BLACK.stroke_width(2));
            area.draw(&bar).map_err(failed)?;
        }
        let at = |x: f64| place(x, index);
        draw_dots(area, row, &subjects, &all, at)?;
        let (x, y) = place(range.start, index);
        draw_name(area, &row.name, (x - 10, y))?;
    }
    Ok(())
}

/// Draws the dots of a row, each in a line of its own, around the row's middle.
fn draw_dots(
    area: &Area<'_>,
    row: &Row,
    subjects: &[String],
    marks: &[Mark],
    at: impl Fn(f64) -> (i32, i32),
) -> Result<()> {
    let shown: Vec<&Dot> = row.dots.iter().filter(|dot| drawable(dot.figure)).collect();
    for (line, dot) in shown.iter().enumerate() {
        let below = (2 * line as i32 + 1 - shown.len() as i32) * LINE as i32 / 2;
        let at = |x: f64| {
            let (x, y) = at(x);
            (x, y + below)
        };
        let mark = subjects.iter().position(|subject| *subject == dot.subject);
        let Some(mark) = mark.map(|index| marks[index]) else {
            continue;
        };
        if drawable(dot.spread.start) && drawable(dot.spread.end) {
            mark.line(area, vec![at(dot.spread.start), at(dot.spread.end)], 1)?;
        }
        mark.draw(area, at(dot.figure))?;
    }
    Ok(())
}

/// Writes the name of a row, which ends at a place.
fn draw_name(area: &Area<'_>, name: &str, place: (i32, i32)) -> Result<()> {
    let style = ("sans-serif", 13)
        .into_font()
        .color(&BLACK)
        .pos(Pos::new(HPos::Right, VPos::Center));
    area.draw(&Text::new(name.to_owned(), place, style))
        .map_err(failed)
}

/// Whether a figure has a place on a logarithmic axis.
fn drawable(figure: f64) -> bool {
    figure.is_finite() && figure > 0.0
}

impl Dots {
    /// The smallest and largest of all that is drawn.
    fn range(&self) -> (f64, f64) {
        let figures = self.rows.iter().flat_map(|row| {
            let ends = |dot: &Dot| [dot.figure, dot.spread.start, dot.spread.end];
            row.dots.iter().flat_map(ends).chain(row.bar)
        });
        let range = figures
            .filter(|&figure| drawable(figure))
            .fold((f64::INFINITY, 0.0_f64), |(least, most), figure| {
                (least.min(figure), most.max(figure))
            });
        if range.1 > 0.0 { range } else { (0.1, 1.0) }
    }

    /// Every subject once, in the order of appearance.
    fn subjects(&self) -> Vec<String> {
        let mut subjects: Vec<String> = Vec::new();
        for dot in self.rows.iter().flat_map(|row| &row.dots) {
            if !subjects.contains(&dot.subject) {
                subjects.push(dot.subject.clone());
            }
        }
        subjects
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Dots of two subjects that measured the same.
    fn two(figure: f64) -> Vec<Dot> {
        let dot = |subject: &str| Dot {
            subject: subject.into(),
            figure,
            spread: 0.9 * figure..1.2 * figure,
        };
        vec![dot("fibre"), dot("may")]
    }

    #[test]
    fn all_that_a_reader_needs_is_in_the_drawing() -> Result<()> {
        let row = |name: &str, figure| Row {
            name: name.into(),
            dots: two(figure),
            bar: Some(15.0),
        };
        let dots = Dots {
            label: "CPU time, ns (lower is better)".into(),
            rows: vec![row("2 fibres", 14.0), row("failed", f64::INFINITY)],
        };
        let svg = draw("Giving way", "a machine, 2026-11-21", &dots)?;
        for word in [
            "Giving way",
            "a machine, 2026-11-21",
            "2 fibres",
            "failed",
            "lower is better",
            "fibre",
            "may",
        ] {
            assert!(svg.contains(word), "{word} is missing");
        }
        // A mark in the row, and one in the legend.
        assert_eq!(svg.matches("<circle").count(), 2);
        Ok(())
    }

    /// Equal figures of two subjects are beside each other, each with the spread of its readings.
    #[test]
    fn no_dot_hides_another() -> Result<()> {
        let same = |figure| Dot {
            subject: format!("subject {figure}"),
            figure: 14.0,
            spread: 13.0..15.0,
        };
        let row = Row {
            name: "equal".into(),
            // Subjects of the same shape.
            dots: (0..5).map(same).collect(),
            bar: None,
        };
        let dots = Dots {
            label: "ns".into(),
            rows: vec![row],
        };
        let svg = draw("", "", &dots)?;
        let circles: Vec<&str> = svg.split("<circle ").skip(1).collect();
        let place = |circle: &&str| circle.split("r=").next().map(String::from);
        let mut places: Vec<_> = circles.iter().map(place).collect();
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), circles.len(), "{circles:?}");
        assert!(svg.matches("<polyline").count() >= 5, "spreads");
        Ok(())
    }
}
