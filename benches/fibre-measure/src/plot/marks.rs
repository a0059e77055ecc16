//! Marks of subjects: a shape and a colour, so that no two look alike.

use anyhow::anyhow;
use plotters::coord::Shift;
use plotters::prelude::*;

use super::colours;

/// What a curve has, and so its line of the legend.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Parts {
    pub(super) has_line: bool,
    pub(super) has_marks: bool,
}

impl Parts {
    /// Marks alone.
    pub(super) const MARK: Self = Self {
        has_line: false,
        has_marks: true,
    };
}

/// A drawing area.
pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// The height of a line of a legend, and its distance from the edge.
const LINE: i32 = 18;
const EDGE: i32 = 14;

/// How a subject is drawn.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    pub(super) colour: RGBColor,
    /// One of four shapes.
    shape: usize,
}

/// A mark for each subject.
pub(super) fn of(subjects: &[String]) -> Vec<Mark> {
    let colours = colours::of(subjects);
    let numbered = colours.into_iter().enumerate();
    let mark = |(index, colour)| Mark {
        colour,
        shape: index % 4,
    };
    numbered.map(mark).collect()
}

impl Mark {
    /// Draws it at a place in pixels.
    pub(super) fn draw(self, area: &Area<'_>, place: (i32, i32)) -> anyhow::Result<()> {
        let (filled, hollow) = (self.colour.filled(), self.colour.stroke_width(2));
        match self.shape {
            0 => area.draw(&Circle::new(place, 4, filled)),
            1 => area.draw(&TriangleMarker::new(place, 5, filled)),
            2 => area.draw(&Cross::new(place, 4, hollow)),
            _ => area.draw(&Circle::new(place, 4, hollow)),
        }
        .map_err(failed)
    }

    /// Draws a line in its colour from place to place, in pixels.
    pub(super) fn line(
        self,
        area: &Area<'_>,
        places: Vec<(i32, i32)>,
        width: u32,
    ) -> anyhow::Result<()> {
        let path = PathElement::new(places, self.colour.stroke_width(width));
        area.draw(&path).map_err(failed)
    }
}

/// Names the subjects from the top of an area on.
pub(super) fn legend(
    area: &Area<'_>,
    subjects: &[String],
    top: i32,
    parts_of: impl Fn(usize) -> Parts,
) -> anyhow::Result<()> {
    for (index, (subject, mark)) in subjects.iter().zip(of(subjects)).enumerate() {
        let y = top + LINE * index as i32;
        let parts = parts_of(index);
        if parts.has_line {
            mark.line(area, vec![(EDGE - 9, y), (EDGE + 9, y)], 2)?;
        }
        if parts.has_marks {
            mark.draw(area, (EDGE, y))?;
        }
        let name = Text::new(subject.clone(), (EDGE + 16, y - 6), ("sans-serif", 13));
        area.draw(&name).map_err(failed)?;
    }
    Ok(())
}

/// Writes the title of a plot, and the note below it.
pub(super) fn head(area: &Area<'_>, title: &str, note: &str) -> anyhow::Result<()> {
    let title = Text::new(title.to_owned(), (16, 12), ("sans-serif", 20));
    area.draw(&title).map_err(failed)?;
    let grey = ("sans-serif", 13).into_font().color(&RGBColor(90, 90, 90));
    let note = Text::new(note.to_owned(), (16, 38), grey);
    area.draw(&note).map_err(failed)
}

/// A drawing error in words; plotters' own borrow the backend.
pub(super) fn failed<E: std::error::Error + Send + Sync>(
    error: DrawingAreaErrorKind<E>,
) -> anyhow::Error {
    anyhow!("drawing failed: {error}")
}
