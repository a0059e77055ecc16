//! Tables of a family, with the subjects as rows and the cases as columns.
//!
//! A cell has the figure that stands for all repetitions, with half of their spread,
//! and in brackets what else was read. Below the subjects stand what ours has to
//! reach and the best peer of each column, and a second table compares ours, and
//! ours in its variants, with that.

use super::case::{Case, Family, Metric};
use crate::report::format::{self, figure, percent, ratio};
use crate::report::{Better, Measurement, Read, Report, is_ours};

/// Two tables for all cases that read the same things.
pub(super) fn print(family: &Family, report: &mut Report) {
    let groups = family
        .cases
        .chunk_by(|first, next| first.same_columns(next));
    for cases in groups {
        let columns: Vec<Column<'_>> = cases
            .iter()
            .map(|case| Column::of(family, case, report))
            .filter(|column| !column.rows.is_empty())
            .collect();
        let Some(first) = columns.first() else {
            continue; // none of them was run
        };
        let legend = first.legend();
        let figures = figures(&columns, report);
        let comparison = comparison(&columns, report);
        report.paragraph(&legend);
        report.table(&figures);
        if let Some((text, table)) = comparison {
            report.paragraph(&text);
            report.table(&table);
        }
    }
}

/// A case and what was measured of it.
struct Column<'a> {
    case: &'a Case,
    /// The first metric, of every subject that was measured.
    rows: Vec<Measurement>,
    /// All other metrics, in the order of the case's.
    others: Vec<Measurement>,
}

impl<'a> Column<'a> {
    /// What the report knows of a case.
    fn of(family: &Family, case: &'a Case, report: &Report) -> Self {
        let title = case.title();
        let of_case = report.of(family.name).filter(|one| one.case == title);
        let (rows, others) = of_case
            .cloned()
            .partition(|one| one.metric == case.metrics[0].name);
        Self { case, rows, others }
    }

    /// What the cells mean.
    fn legend(&self) -> String {
        let in_words = |metric: &Metric| format!("{}, {}", metric.name, metric.unit);
        let main = &self.case.metrics[0];
        let read = match self.case.read(main) {
            Read::Best => "the best",
            Read::Median => "the median",
            Read::Worst => "the worst",
        };
        let main = in_words(main);
        let count = self.rows.iter().map(|row| row.readings.len()).max();
        let mut text = format!(
            "{main}: {read} of {} repetitions ± half of (largest − smallest) / median",
            count.unwrap_or(0)
        );
        let others: Vec<String> = self.case.metrics[1..].iter().map(in_words).collect();
        if !others.is_empty() {
            text.push_str(&format!("; in brackets {}", others.join("; ")));
        }
        text
    }

    /// A subject's measurement.
    fn row(&self, subject: &str) -> Option<&Measurement> {
        self.rows.iter().find(|row| row.subject == subject)
    }

    /// A subject's cell; empty where it was not measured.
    fn cell(&self, subject: &str) -> String {
        let Some(row) = self.row(subject) else {
            return String::new();
        };
        let spread = percent(row.readings.spread() / 2.0);
        format!(
            "{} ±{spread}{}",
            figure(row.figure()),
            self.brackets(subject)
        )
    }

    /// A subject's other metrics, in brackets; nothing where there are none.
    fn brackets(&self, subject: &str) -> String {
        let of_subject = self.others.iter().filter(|one| one.subject == subject);
        let figures: Vec<String> = of_subject.map(|one| figure(one.figure())).collect();
        match figures.as_slice() {
            [] => String::new(),
            figures => format!(" ({})", figures.join("; ")),
        }
    }

    /// What ours has to reach; empty where it has to reach nothing.
    fn goals(&self) -> String {
        let bars = self.case.metrics.iter().filter_map(|metric| {
            let sign = match metric.better {
                Better::Lower => '≤',
                Better::Higher => '≥',
            };
            Some(format!("{sign} {}", metric.goal?.absolute()?))
        });
        bars.collect::<Vec<_>>().join("; ")
    }

    /// The best peer beside one of ours, and how many times better ours is.
    fn best_peer<'r>(&self, ours: &str, report: &'r Report) -> Option<(&'r Measurement, f64)> {
        report.best_peer(self.row(ours)?)
    }
}

/// Every subject once, in the order of appearance.
fn subjects(columns: &[Column<'_>]) -> Vec<String> {
    let mut subjects: Vec<String> = Vec::new();
    for row in columns.iter().flat_map(|column| &column.rows) {
        if !subjects.contains(&row.subject) {
            subjects.push(row.subject.clone());
        }
    }
    subjects
}

/// An empty table with a column for each case, and perhaps one more.
fn table(columns: &[Column<'_>], last: Option<&str>) -> comfy_table::Table {
    let titles: Vec<String> = columns.iter().map(|column| column.case.title()).collect();
    let mut header = vec!["subject"];
    header.extend(titles.iter().map(String::as_str));
    header.extend(last);
    format::table(&header, 1)
}

/// What was measured.
fn figures(columns: &[Column<'_>], report: &Report) -> comfy_table::Table {
    let mut table = table(columns, None);
    let subjects = subjects(columns);
    for subject in &subjects {
        let cells = columns.iter().map(|column| column.cell(subject));
        table.add_row(std::iter::once(subject.clone()).chain(cells));
    }
    if columns.iter().any(|column| !column.goals().is_empty()) {
        let cells = columns.iter().map(Column::goals);
        table.add_row(std::iter::once("to reach".into()).chain(cells));
    }
    if let Some(ours) = subjects.iter().find(|subject| is_ours(subject)) {
        let best = |column: &Column<'_>| match column.best_peer(ours, report) {
            Some((peer, _)) => format!("{} {}", peer.subject, figure(peer.figure())),
            None => String::new(),
        };
        let cells = columns.iter().map(best);
        table.add_row(std::iter::once("best peer".into()).chain(cells));
    }
    table
}

/// How many times better ours are than the best peer, and the smallest of these; `None` where
/// there is nothing to compare.
fn comparison(columns: &[Column<'_>], report: &Report) -> Option<(String, comfy_table::Table)> {
    let mut table = table(columns, Some("least"));
    let mut compared = false;
    let exception = |column: &Column<'_>| column.case.read(&column.case.metrics[0]) == Read::Worst;
    if columns.iter().any(exception) {
        return None; // a single reading that may be a disturbance
    }
    for subject in subjects(columns).iter().filter(|subject| is_ours(subject)) {
        let times = |column: &Column<'_>| {
            let best = column.best_peer(subject, report);
            best.map_or(f64::NAN, |(_, times)| times)
        };
        let times: Vec<f64> = columns.iter().map(times).collect();
        let least = times.iter().copied().fold(f64::NAN, f64::min);
        compared |= least.is_finite();
        let cells = times.iter().chain([&least]).map(|&times| ratio(times));
        table.add_row(std::iter::once(subject.clone()).chain(cells));
    }
    let text = "How many times better ours is than the best peer of the column: from 1 on it is no \
                worse.";
    compared.then(|| (text.to_owned(), table))
}
