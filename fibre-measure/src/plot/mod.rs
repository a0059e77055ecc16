//! Plots as SVG, drawn by `plotters`.
//!
//! Two shapes serve every result: [`Shape::Lines`] (a figure of the thesis: something
//! against cores, connections or work, a curve for each runtime) and [`Shape::Dots`] (a
//! family of benchmarks: a row for each case, a dot for each runtime). A runtime
//! has the same colour everywhere.

mod colours;
mod dots;
mod lines;

pub use dots::{Dots, Row};
pub use lines::{Axis, Curve, Panel, Scale, Stroke};

/// A plot to be drawn.
pub struct Plot {
    /// What stands above it.
    pub title: String,
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
            Shape::Lines(panels) => lines::draw(&self.title, panels),
            Shape::Dots(dots) => dots::draw(&self.title, dots),
        };
        // A picture is data: its thousands of lines are of use to nobody who reads the tree.
        svg.map(|svg| svg.replace('\n', "") + "\n")
    }
}
