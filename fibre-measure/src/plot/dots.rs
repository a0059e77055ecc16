//! Rows of dots: a row for each case, a dot for each runtime, costs on a
//! logarithmic axis.

use anyhow::Result;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::colours::{self, PAPER};
use super::lines::{failed, short};

/// Width of a plot and height of one row, in pixels.
const WIDTH: u32 = 900;
const ROW: u32 = 34;
/// Room for the names of the rows.
const NAMES: u32 = 260;
/// Room for title, axis and legend.
const AROUND: u32 = 150;

/// What is drawn.
pub struct Dots {
    /// What the axis shows, with its unit.
    pub label: String,
    /// The cases, the first on top.
    pub rows: Vec<Row>,
}

/// One case.
pub struct Row {
    /// What stands beside it.
    pub name: String,
    /// Subject and figure; figures that are not above zero are left out.
    pub dots: Vec<(String, f64)>,
    /// The figure to reach, drawn as a stroke.
    pub bar: Option<f64>,
}

/// Draws the rows, the first on top.
pub(super) fn draw(title: &str, dots: &Dots) -> Result<String> {
    let count = dots.rows.len().max(1);
    let height = ROW * u32::try_from(count)? + AROUND;
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, (WIDTH, height)).into_drawing_area();
        root.fill(&PAPER).map_err(failed)?;
        draw_rows(&root, title, dots, count as f64)?;
        root.present().map_err(failed)?;
    }
    Ok(svg)
}

/// Draws axis, dots, bars and names.
fn draw_rows(
    root: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    title: &str,
    dots: &Dots,
    count: f64,
) -> Result<()> {
    let (least, most) = dots.range();
    // The legend stands to the right of the largest figure.
    let beyond = most * 1.5 * (most / least).powf(0.3);
    let mut chart = ChartBuilder::on(root)
        .margin(12)
        .caption(title, ("sans-serif", 20))
        .x_label_area_size(40)
        .y_label_area_size(NAMES)
        .build_cartesian_2d((least / 1.5..beyond).log_scale(), 0.0..count)
        .map_err(failed)?;
    chart
        .configure_mesh()
        .disable_y_mesh()
        .disable_y_axis()
        .light_line_style(WHITE)
        .x_desc(&dots.label)
        .x_label_formatter(&|value| short(*value))
        .draw()
        .map_err(failed)?;
    let height = |index: usize| count - index as f64 - 0.5;
    for (index, subject) in dots.subjects().iter().enumerate() {
        let colour = colours::of(subject, index);
        let points = dots.rows.iter().enumerate().flat_map(|(row, it)| {
            let of_subject = it.dots.iter().filter(|(name, _)| name == subject);
            of_subject
                .filter(|(_, figure)| drawable(*figure))
                .map(move |&(_, figure)| Circle::new((figure, height(row)), 5, colour.filled()))
        });
        chart
            .draw_series(points)
            .map_err(failed)?
            .label(subject.as_str())
            .legend(move |(x, y)| Circle::new((x + 9, y), 5, colour.filled()));
    }
    let bars = dots.rows.iter().enumerate().filter_map(|(row, it)| {
        let bar = it.bar.filter(|&bar| drawable(bar))?;
        let ends = [(bar, height(row) - 0.4), (bar, height(row) + 0.4)];
        Some(PathElement::new(ends, BLACK.stroke_width(2)))
    });
    chart.draw_series(bars).map_err(failed)?;
    for (index, row) in dots.rows.iter().enumerate() {
        let (x, y) = chart.backend_coord(&(least / 1.5, height(index)));
        draw_name(root, &row.name, (x - 10, y))?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .draw()
        .map_err(failed)
}

/// Writes the name of a row, which ends at a place.
fn draw_name(
    root: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    name: &str,
    place: (i32, i32),
) -> Result<()> {
    let style = ("sans-serif", 14)
        .into_font()
        .color(&BLACK)
        .pos(Pos::new(HPos::Right, VPos::Center));
    root.draw(&Text::new(name.to_owned(), place, style))
        .map_err(failed)
}

/// Whether a figure has a place on a logarithmic axis.
fn drawable(figure: f64) -> bool {
    figure.is_finite() && figure > 0.0
}

impl Dots {
    /// Smallest and largest figure and bar.
    fn range(&self) -> (f64, f64) {
        let figures = self.rows.iter().flat_map(|row| {
            let dots = row.dots.iter().map(|(_, figure)| *figure);
            dots.chain(row.bar)
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
        for (subject, _) in self.rows.iter().flat_map(|row| &row.dots) {
            if !subjects.contains(subject) {
                subjects.push(subject.clone());
            }
        }
        subjects
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_subjects_are_named_in_the_drawing() -> Result<()> {
        let row = |name: &str, figure| Row {
            name: name.into(),
            dots: vec![("fibre".into(), figure), ("may".into(), 2.0 * figure)],
            bar: Some(15.0),
        };
        let dots = Dots {
            label: "CPU ns".into(),
            rows: vec![row("2 fibres", 14.0), row("failed", f64::INFINITY)],
        };
        let svg = draw("yield", &dots)?;
        for word in ["yield", "2 fibres", "failed", "CPU ns", "fibre", "may"] {
            assert!(svg.contains(word), "{word} is missing");
        }
        assert_eq!(svg.matches("<circle").count(), 2 + 2, "dots and legend");
        Ok(())
    }
}
