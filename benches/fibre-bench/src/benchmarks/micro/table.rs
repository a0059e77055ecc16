//! The tables of a family.

use comfy_table::Table;

use super::case::{Case, Family};
use crate::report::Report;
use crate::report::format::{self, figure, percent, ratio};

/// One table for all cases that read the same things.
pub(super) fn print(family: &Family, report: &mut Report) {
    let mut cases = family.cases.iter().peekable();
    while let Some(first) = cases.next() {
        let mut table = header(first);
        fill(&mut table, family, first, report);
        while let Some(case) = cases.next_if(|case| case.same_columns(first)) {
            fill(&mut table, family, case, report);
        }
        report.table(&table);
    }
}

/// The columns of a case's table.
fn header(case: &Case) -> Table {
    let main = &case.metrics[0];
    let minimum = format!("{}, {}: best", main.name, main.unit);
    let mut header = vec![
        "case", "subject", &minimum, "median", "spread", "× ours", "paired", "to reach", "scaled",
    ];
    let others: Vec<String> = case.metrics[1..]
        .iter()
        .map(|metric| format!("{}, {}", metric.name, metric.unit))
        .collect();
    header.extend(others.iter().map(String::as_str));
    format::table(&header, 2)
}

/// Adds the rows of a case.
fn fill(table: &mut Table, family: &Family, case: &Case, report: &Report) {
    let main = case.metrics[0].name;
    let of_case = |metric: &'static str| {
        report
            .of(family.name)
            .filter(|one| one.case == case.title())
            .filter(move |one| one.metric == metric)
    };
    let ours = of_case(main).find(|one| one.subject == case.ours());
    for row in of_case(main) {
        let verdict = report.verdict(row);
        let mut cells = vec![
            case.title(),
            row.subject.clone(),
            figure(row.best()),
            figure(row.readings.median()),
            percent(row.readings.spread()),
            ratio(ours.map_or(f64::NAN, |ours| row.figure() / ours.figure())),
            ratio(ours.map_or(f64::NAN, |ours| {
                row.readings.paired(&ours.readings).median()
            })),
            report.verdict_in_words(row),
            verdict.map_or_else(String::new, |verdict| verdict.scaled_mark()),
        ];
        for metric in &case.metrics[1..] {
            let other = of_case(metric.name).find(|one| one.subject == row.subject);
            cells.push(other.map_or_else(String::new, |other| figure(other.figure())));
        }
        table.add_row(cells);
    }
}
