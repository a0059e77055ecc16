//! The list of figures: what each name stands for.
//!
//! Tables of the list are named after a report, a heading in it and, where that has several tables,
//! the line before the one that is meant. A figure is the cells that its row begins with and its
//! column. `least` and `greatest` take that of many rows, `count` how many lie below a bound;
//! `number` says which number of a cell. What lies under [`COMPUTED`] is made of other figures.

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::str::SplitWhitespace;

use toml::{Table, Value};

use super::report::{Place, Report, number};

/// The table of the list with figures that are made of others.
const COMPUTED: &str = "computed";

/// How a figure is taken from the cells that were found.
const WAYS: [&str; 4] = ["least", "greatest", "count", "only"];

/// A figure, or why there is no such figure.
pub(super) type Figure = Result<f64, String>;

/// All figures of a list.
#[derive(Default)]
pub(super) struct Figures {
    pub(super) by_name: BTreeMap<String, Figure>,
    /// The figures that others are made of.
    pub(super) parts: Vec<String>,
    /// Names that stand for two figures.
    pub(super) twice: Vec<String>,
}

impl Figures {
    /// Looks up every figure of a list.
    pub(super) fn new(list: &Table, reports: &BTreeMap<String, Report>) -> Self {
        let mut figures = Self::default();
        for (report, tables) in list.iter().filter(|(name, _)| *name != COMPUTED) {
            let Some(report) = reports.get(report) else {
                let why = format!("there is no report `{report}`");
                figures.enter(report.clone(), Err(why));
                continue;
            };
            for (section, entries) in tables.as_table().into_iter().flatten() {
                let place = Place {
                    section: section.clone(),
                    ..Place::default()
                };
                figures.read(report, &place, entries);
            }
        }
        for (name, formula) in list
            .get(COMPUTED)
            .and_then(Value::as_table)
            .into_iter()
            .flatten()
        {
            let formula = formula.as_str().unwrap_or_default();
            let value = compute(formula, &figures.by_name);
            let words = formula.split_whitespace().map(str::to_owned);
            figures.parts.extend(words);
            figures.enter(name.clone(), value);
        }
        figures
    }

    /// Enters the figures of one section, or of one table in it.
    fn read(&mut self, report: &Report, place: &Place, entries: &Value) {
        for (name, entry) in entries.as_table().into_iter().flatten() {
            let way = WAYS
                .iter()
                .find_map(|way| Some((*way, entry.get(way)?.as_array()?)));
            let figure = match (entry, way) {
                (Value::Array(cells), _) => look_up(report, place, cells, ("only", entry)),
                (_, Some((way, cells))) => look_up(report, place, cells, (way, entry)),
                _ => {
                    let caption = name.clone();
                    self.read(
                        report,
                        &Place {
                            caption,
                            ..place.clone()
                        },
                        entry,
                    );
                    continue;
                }
            };
            self.enter(name.clone(), figure);
        }
    }

    /// Enters one figure.
    fn enter(&mut self, name: String, value: Figure) {
        if self.by_name.insert(name.clone(), value).is_some() {
            self.twice.push(name);
        }
    }
}

/// The figure of these cells, taken in this way.
fn look_up(report: &Report, of: &Place, cells: &[Value], (way, entry): (&str, &Value)) -> Figure {
    let cells = cells.iter().filter_map(Value::as_str).map(str::to_owned);
    let mut row: Vec<String> = cells.collect();
    let column = row.pop().unwrap_or_default();
    let place = Place {
        row,
        column,
        ..of.clone()
    };
    let found = report.cells(&place);
    let at = entry.get("number").and_then(Value::as_integer).unwrap_or(1);
    let Ok(at) = usize::try_from(at - 1) else {
        return Err(format!("`number` begins with 1, and is {at}"));
    };
    let bound = entry.get("below").and_then(Value::as_float);
    let numbers: Vec<f64> = found.iter().filter_map(|cell| number(cell, at)).collect();
    if numbers.is_empty() {
        return Err(format!("no number at {place:?}"));
    }
    match (way, bound) {
        ("least", _) => Ok(numbers.into_iter().fold(f64::INFINITY, f64::min)),
        ("greatest", _) => Ok(numbers.into_iter().fold(f64::NEG_INFINITY, f64::max)),
        ("count", Some(bound)) => {
            let below = numbers.iter().filter(|n| n.total_cmp(&bound).is_lt());
            Ok(below.map(|_| 1.0).sum())
        }
        ("count", None) => Err("`count` needs `below`".to_owned()),
        _ if found.len() > 1 => Err(format!("{} cells at {place:?}", found.len())),
        _ => Ok(numbers[0]),
    }
}

/// The value of a formula; blanks lie between its parts.
fn compute(formula: &str, figures: &BTreeMap<String, Figure>) -> Figure {
    let mut parts = formula.split_whitespace().peekable();
    let value = sum(&mut parts, figures)?;
    match parts.next() {
        Some(rest) => Err(format!("`{rest}` in `{formula}`")),
        None if !value.is_finite() => Err(format!("`{formula}` divides by zero")),
        None => Ok(value),
    }
}

/// A sum of products.
fn sum(parts: &mut Peekable<SplitWhitespace>, figures: &BTreeMap<String, Figure>) -> Figure {
    let mut value = product(parts, figures)?;
    while let Some(sign) = parts.next_if(|part| ["+", "-"].contains(part)) {
        let next = product(parts, figures)?;
        value += if sign == "+" { next } else { -next };
    }
    Ok(value)
}

/// A product of numbers, figures and sums in brackets.
fn product(parts: &mut Peekable<SplitWhitespace>, figures: &BTreeMap<String, Figure>) -> Figure {
    let mut value = factor(parts, figures)?;
    while let Some(sign) = parts.next_if(|part| ["*", "/"].contains(part)) {
        let next = factor(parts, figures)?;
        value = if sign == "*" {
            value * next
        } else {
            value / next
        };
    }
    Ok(value)
}

/// A number, a figure, or a sum in brackets.
fn factor(parts: &mut Peekable<SplitWhitespace>, figures: &BTreeMap<String, Figure>) -> Figure {
    let part = parts.next().ok_or("a formula that ends too early")?;
    if part == "(" {
        let value = sum(parts, figures)?;
        let end = parts.next();
        return end
            .filter(|end| *end == ")")
            .map(|_| value)
            .ok_or("a bracket is open".to_owned());
    }
    match (part.parse(), figures.get(part)) {
        (Ok(number), _) => Ok(number),
        (_, Some(figure)) => figure.clone(),
        _ => Err(format!("`{part}` is no figure")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "## yield: a\n\n**1 CPU**\n\n| case | subject | ns |\n|-|-|-|\n\
        | 2 | fibre | 5.0 (8) |\n| 2 | go | 20 |\n\n**2 CPU**\n\n| case | ns |\n|-|-|\n| 2 | – |\n";

    /// The figure `f` of a list that goes on like this.
    fn figure(rest: &str) -> Figure {
        let list =
            format!("[\"a/report\".yield.\"1 CPU\"]\na = [\"2\", \"fibre\", \"ns\"]\n{rest}");
        let reports = BTreeMap::from([("a/report".to_owned(), Report::new(PAGE))]);
        let figures = Figures::new(&list.parse().unwrap(), &reports);
        assert_eq!(figures.by_name["a"], Ok(5.0));
        figures.by_name["f"].clone()
    }

    #[test]
    fn figures_are_found_and_made() {
        for (rest, is) in [
            ("f = ['2', 'go', 'ns']", 20.0),
            ("f = { least = ['*', 'ns'] }", 5.0),
            ("f = { greatest = ['*', 'ns'] }", 20.0),
            ("f = { count = ['*', 'ns'], below = 10.0 }", 1.0),
            ("f = { only = ['2', 'fibre', 'ns'], number = 2 }", 8.0),
            (
                "b = ['2', 'go', 'ns']\n[computed]\nf = '100 * ( 1 - a / b ) + 1'",
                76.0,
            ),
        ] {
            assert_eq!(figure(rest), Ok(is), "{rest}");
        }
    }

    #[test]
    fn a_figure_without_its_cell_fails() {
        for rest in [
            "f = ['2', 'may', 'ns']",
            "f = ['*', 'ns']",
            "f = { count = ['*', 'ns'] }",
            "[\"a/report\".yield.\"2 CPU\"]\nf = ['2', 'ns']",
            "[\"a/report\".wait]\nf = ['2', 'ns']",
            "[f]",
            "[computed]\nf = 'a / b'",
            "[computed]\nf = '( a'",
            "[computed]\nf = 'a a'",
            "[computed]\nf = 'a /'",
            "[computed]\nf = 'a / 0'",
            "f = { only = ['2', 'fibre', 'ns'], number = 0 }",
        ] {
            assert!(figure(rest).is_err(), "{rest}");
        }
    }

    #[test]
    fn a_name_for_two_figures_is_noticed() {
        let list = "['a/report'.yield.'1 CPU']\na = ['2', 'go', 'ns']\n[computed]\na = '1'";
        let reports = BTreeMap::from([("a/report".to_owned(), Report::new(PAGE))]);
        assert_eq!(Figures::new(&list.parse().unwrap(), &reports).twice, ["a"]);
    }
}
