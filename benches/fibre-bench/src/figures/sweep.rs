//! The points of a figure: for each subject a value at each place of the x-axis,
//! with all its repetitions.

use crate::report::format::{self, figure, percent};
use crate::report::{Better, Measurement, Read, Report};
use fibre_measure::Series;
use fibre_measure::plot::Axis;

/// What one panel of a figure shows.
pub(crate) struct Sweep {
    /// The figure, as measurements call it.
    pub(crate) figure: &'static str,
    /// What tells this panel from its neighbours; may be empty.
    pub(crate) caption: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    /// What the values are.
    pub(crate) metric: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) better: Better,
    points: Vec<Point>,
}

/// All readings of a subject at one place.
struct Point {
    subject: String,
    x: f64,
    readings: Series,
}

impl Sweep {
    /// A panel without points.
    pub(crate) fn new(
        figure: &'static str,
        (x, y): (Axis, Axis),
        (metric, unit, better): (&'static str, &'static str, Better),
    ) -> Self {
        Self {
            figure,
            caption: String::new(),
            x,
            y,
            metric,
            unit,
            better,
            points: Vec::new(),
        }
    }

    /// This panel under a caption.
    pub(crate) fn captioned(self, caption: impl Into<String>) -> Self {
        Self {
            caption: caption.into(),
            ..self
        }
    }

    /// Adds a reading.
    pub(crate) fn push(&mut self, subject: &str, x: f64, reading: f64) {
        let known = self
            .points
            .iter_mut()
            .find(|point| point.subject == subject && point.x == x);
        match known {
            Some(point) => point.readings.push(reading),
            None => self.points.push(Point {
                subject: subject.into(),
                x,
                readings: Series::from_iter([reading]),
            }),
        }
    }

    /// Prints the table and hands the readings to the report.
    pub(crate) fn add_to(&self, report: &mut Report) {
        let subjects = self.subjects();
        let mut header = vec![self.x.label.as_str()];
        header.extend(&subjects);
        let mut table = format::table(&header, 0);
        for x in self.places() {
            let cell = |subject: &&str| {
                let point = self
                    .points
                    .iter()
                    .find(|point| point.subject == *subject && point.x == x);
                point.map_or_else(String::new, |point| {
                    let readings = &point.readings;
                    format!(
                        "{} (±{})",
                        figure(readings.median()),
                        percent(readings.spread() / 2.0)
                    )
                })
            };
            let cells = subjects.iter().map(cell);
            table.add_row(std::iter::once(figure(x)).chain(cells));
        }
        let count = self.points.iter().map(|point| point.readings.len()).max();
        report.paragraph(&format!(
            "{}{}; median of {} repetitions, ± half of (largest − smallest) / median",
            self.caption,
            if self.caption.is_empty() {
                self.y.label.clone()
            } else {
                format!(": {}", self.y.label)
            },
            count.unwrap_or(0)
        ));
        report.table(&table);
        self.add_measurements(report);
    }

    /// Hands the readings to the report.
    fn add_measurements(&self, report: &mut Report) {
        for point in &self.points {
            report.add(Measurement {
                benchmark: self.figure,
                case: format!("{}{} {}", self.caption_prefix(), self.x.label, point.x),
                subject: point.subject.clone(),
                metric: self.metric,
                unit: self.unit,
                better: self.better,
                read: Read::Median,
                goal: None,
                readings: point.readings.clone(),
            });
        }
    }

    /// The caption as the beginning of a case's name.
    fn caption_prefix(&self) -> String {
        if self.caption.is_empty() {
            String::new()
        } else {
            format!("{}, ", self.caption)
        }
    }

    /// Every subject once, in the order of appearance.
    fn subjects(&self) -> Vec<&str> {
        let mut subjects = Vec::new();
        for point in &self.points {
            if !subjects.contains(&point.subject.as_str()) {
                subjects.push(point.subject.as_str());
            }
        }
        subjects
    }

    /// Every place on the x-axis once, ascending.
    fn places(&self) -> Vec<f64> {
        let mut places: Vec<f64> = self.points.iter().map(|point| point.x).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_of_a_place_become_one_point() {
        let axes = (Axis::linear("cores"), Axis::linear("rate"));
        let mut sweep = Sweep::new("4.7", axes, ("rate", "1/s", Better::Higher));
        for (subject, x, reading) in [
            ("fibre", 2.0, 30.0),
            ("go", 1.0, 5.0),
            ("fibre", 1.0, 10.0),
            ("fibre", 1.0, 30.0),
            ("fibre", 1.0, 20.0),
        ] {
            sweep.push(subject, x, reading);
        }
        assert_eq!(sweep.places(), [1.0, 2.0]);
        assert_eq!(sweep.subjects(), ["fibre", "go"]);
        let medians = sweep.points.iter().map(|point| point.readings.median());
        assert_eq!(medians.collect::<Vec<_>>(), [30.0, 5.0, 20.0]);
    }
}
