//! The page `docs/INSIDE.md` has all names of metrics and of events, and no others.

use std::collections::BTreeSet;

/// The page.
const PAGE: &str = include_str!("../../../docs/INSIDE.md");

/// The kinds of events.
const EVENTS: &str = include_str!("../../../fibre-core/src/trace/event.rs");

/// The rows of the page's table below this head.
fn rows(head: &str) -> impl Iterator<Item = &'static str> {
    let (_, below) = PAGE.split_once(head).expect("the table's head");
    let table = below.lines().skip(1);
    table.take_while(|line| line.starts_with('|'))
}

/// The names that stand between pairs of this mark.
fn between(text: &str, mark: char) -> impl Iterator<Item = &str> {
    text.split(mark).skip(1).step_by(2)
}

/// The names of all metrics that a program with every kind of them serves.
pub fn served(samples: &super::openmetrics::Samples) -> BTreeSet<String> {
    let name = |series: &String| {
        let name = series.split('{').next().unwrap();
        let name = name.strip_prefix("fibre_").unwrap();
        name.strip_suffix("_total").unwrap_or(name).to_owned()
    };
    samples.keys().map(name).collect()
}

/// The names of all metrics on the page.
pub fn on_page() -> BTreeSet<String> {
    let rows = rows("| of each | counters | gauges |\n");
    let names = rows.flat_map(|row| between(row, '`')).map(str::to_owned);
    names.collect()
}

#[test]
fn events_on_the_page_are_those_of_the_code() {
    let (_, kinds) = EVENTS.split_once("pub enum TraceKind {").unwrap();
    let (kinds, _) = kinds.split_once("\n}").unwrap();
    let in_code: BTreeSet<String> = kinds
        .lines()
        .filter_map(|line| line.trim().strip_suffix(',')?.split_once(" = "))
        .map(|(name, number)| format!("{number} `{name}`"))
        .collect();
    let on_page: BTreeSet<String> = rows("| events | tell that |\n")
        .flat_map(|row| row.split('|').nth(1).unwrap().split(','))
        .map(|event| event.trim().to_owned())
        .collect();
    assert!(in_code.len() >= 19, "{in_code:?}");
    assert_eq!(on_page, in_code);
}
