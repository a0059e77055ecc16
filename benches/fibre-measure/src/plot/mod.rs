//! Plots as SVG, drawn by `plotters`.
//!
//! Two shapes serve every result: [`Shape::Lines`] (a figure of the thesis: something
//! against cores, connections or work, a curve for each runtime) and [`Shape::Dots`] (a
//! family of benchmarks: a row for each case, a dot for each runtime). A runtime
//! has the same colour everywhere.
//!
//! A picture is read without its report: it says which direction is better (in the labels of its
//! axes), how far repetitions lie apart (thin lines), and where and when it was measured (the
//! note). No mark hides another: those of one place lie beside each other.

mod colours;
mod dots;
mod lines;
mod marks;
mod ticks;

pub use dots::{Dot, Dots, Row};
pub use lines::{Axis, Curve, Panel, Scale, Stroke};

/// A plot to be drawn.
pub struct Plot {
    /// What stands above it.
    pub title: String,
    /// What stands below the title: machine and day, and what the marks are.
    pub note: String,
    /// What is drawn.
    pub shape: Shape,
}

/// The two shapes.
pub enum Shape {
    /// Panels of curves beside each other.
    Lines(Vec<Panel>),
    /// Rows of dots.
    Dots(Dots),
}

impl Plot {
    /// Draws it.
    pub fn to_svg(&self) -> anyhow::Result<String> {
        let svg = match &self.shape {
            Shape::Lines(panels) => lines::draw(&self.title, &self.note, panels),
            Shape::Dots(dots) => dots::draw(&self.title, &self.note, dots),
        };
        // A picture is data: its thousands of lines are of use to nobody who reads the tree.
        svg.map(|svg| svg.replace('\n', "") + "\n")
    }
}
