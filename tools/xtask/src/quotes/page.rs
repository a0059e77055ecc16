//! A page that quotes figures: its numbers made what the reports say, and what is wrong with it.
//!
//! `5.5<!--yield-2-->` is a figure of the list, with as many decimals as stand there; a number that
//! ends with `,000` is rounded to thousands. A table below `<!-- rows: report | heading | line -->`
//! has rows and columns of a report's table; below `<!-- cross: report | column -->` its cells are
//! in the row that begins with their row and their column.
//!
//! Every other number with a unit, every table of numbers, and decimals beside a figure say what
//! kind of number they are, one by one (`10<!--setting--> ms`) or by `<!-- figures: paper -->` on a
//! line of its own: above a block it is for that, right below a heading for all under that.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::report::{Place, cells, is_rule};
use super::sources::Sources;

/// What a number may be that no report has: chosen and not measured, of a paper, or measured
/// elsewhere.
const KINDS: [&str; 3] = ["setting", "paper", "elsewhere"];

/// Begin and end of a mark.
const OPEN: &str = "<!--";
const CLOSE: &str = "-->";

/// The units, and what is counted like one.
const UNITS: &str = "ns|µs|ms|s|nanoseconds|microseconds|milliseconds|seconds|min|minutes|\
    KB|MB|GB|KiB|MiB|GiB|%|per cent|×|times|/s|KEv/s|cycles|a second";

/// A page as it should be.
#[derive(Default)]
pub(super) struct Rewritten {
    pub(super) text: String,
    /// What is wrong, with its line: what rewriting mends, and what it does not.
    pub(super) mended: Vec<(usize, String)>,
    pub(super) wrong: Vec<(usize, String)>,
    /// The figures that the page quotes.
    pub(super) used: BTreeSet<String>,
}

/// What the lines before say of a line.
#[derive(Default)]
struct Reader {
    is_fenced: bool,
    /// The level of the heading that has just come.
    heading: Option<usize>,
    /// The level of the heading that a kind is said for.
    section: Option<usize>,
    /// Whether a kind is said for the block.
    block: bool,
    /// Whether the block quotes a figure.
    quotes: bool,
    /// How the block goes on.
    next: String,
    /// The report's table that the rows are taken from, and the page's columns.
    excerpt: Option<(Excerpt, Vec<String>)>,
}

/// Where the cells of a table come from: a report, and a place in it. That has a column only if the
/// page's columns are rows of the report.
struct Excerpt(String, Place);

/// Reads a page.
pub(super) fn rewrite(page: &str, sources: &Sources) -> Rewritten {
    let mut rewritten = Rewritten::default();
    let mut reader = Reader::default();
    let lines: Vec<&str> = page.lines().collect();
    for (index, line) in lines.iter().enumerate() {
        if index == 0 || !is_joined(line) {
            let block = lines[index..].iter().enumerate();
            let mut block = block.take_while(|(at, line)| *at == 0 || is_joined(line));
            reader.quotes = block.any(|(_, line)| figures(line).next().is_some());
        }
        let next = lines.get(index + 1).filter(|line| is_joined(line));
        reader.next = next.copied().unwrap_or_default().to_owned();
        let wanted = reader.line(line, index + 1, sources, &mut rewritten);
        rewritten.text.push_str(&wanted);
        rewritten.text.push('\n');
    }
    rewritten
}

/// Whether a line goes on with the block of the one before.
fn is_joined(line: &str) -> bool {
    let line = line.trim_start();
    let is_item = line.starts_with("* ") || line.starts_with("- ");
    !(line.is_empty() || is_item || line.starts_with('#'))
}

/// The names of the marks in a line that are figures of the list.
fn figures(line: &str) -> impl Iterator<Item = &str> {
    let marks = line.split(OPEN).skip(1);
    let names = marks.filter_map(|rest| rest.split_once(CLOSE).map(|(name, _)| name));
    names.filter(|name| is_name(name) && !KINDS.contains(name))
}

/// Whether a mark is the name of a figure or a kind.
fn is_name(mark: &str) -> bool {
    let part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !mark.is_empty() && mark.chars().all(part)
}

impl Reader {
    /// Reads a line; returns it as it should be.
    fn line(&mut self, line: &str, at: usize, sources: &Sources, page: &mut Rewritten) -> String {
        let text = line.trim();
        if text.starts_with("```") {
            self.is_fenced = !self.is_fenced;
        }
        if self.is_fenced || text.starts_with("```") {
            return line.to_owned();
        }
        let level = text.len() - text.trim_start_matches('#').len();
        if level > 0 {
            self.section = self.section.filter(|section| *section < level);
            (self.heading, self.excerpt) = (Some(level), None);
            return line.to_owned();
        }
        if text.is_empty() {
            (self.block, self.excerpt) = (false, None);
            return line.to_owned();
        }
        let heading = self.heading.take();
        if let Some(mark) = text
            .strip_prefix("<!-- ")
            .and_then(|t| t.strip_suffix(" -->"))
        {
            if let Err(why) = self.mark(mark, heading) {
                page.wrong.push((at, why));
            }
            return line.to_owned();
        }
        let wanted = match (&mut self.excerpt, cells(line)) {
            (Some((_, columns)), Some(cells)) if columns.is_empty() => {
                *columns = cells;
                return line.to_owned();
            }
            (Some(_), Some(_)) if is_rule(line) => return line.to_owned(),
            (Some((excerpt, columns)), Some(cells)) => {
                let row = excerpt.row(columns, &cells, sources);
                row.map_err(|why| page.wrong.push((at, why)))
                    .unwrap_or(line.to_owned())
            }
            _ => {
                self.unmarked(line, at, page);
                quoted(line, at, sources, page)
            }
        };
        if wanted != line && self.excerpt.is_some() {
            page.mended.push((at, format!("the report has `{wanted}`")));
        }
        wanted
    }

    /// Reads a mark that has a line of its own.
    fn mark(&mut self, mark: &str, heading: Option<usize>) -> Result<(), String> {
        let Some((name, rest)) = mark.split_once(": ") else {
            return Ok(());
        };
        let parts: Vec<&str> = rest.split('|').map(str::trim).collect();
        match (name, &parts[..]) {
            ("figures", [kind]) if KINDS.contains(kind) => match (heading, self.section) {
                (Some(level), None) => self.section = Some(level),
                (Some(_), Some(_)) => {}
                (None, _) => self.block = true,
            },
            ("rows" | "cross", [report, what, rest @ ..]) if rest.len() < 2 => {
                let (mut place, what) = (Place::default(), (*what).to_owned());
                match name {
                    "rows" => place.section = what,
                    _ => place.column = what,
                }
                place.caption = rest.first().copied().unwrap_or_default().to_owned();
                self.excerpt = Some((Excerpt((*report).to_owned(), place), Vec::new()));
            }
            ("figures" | "rows" | "cross", _) => return Err(format!("a mark `{mark}`")),
            _ => {}
        }
        Ok(())
    }

    /// Finds the numbers of a line that do not say where they come from.
    fn unmarked(&self, line: &str, at: usize, page: &mut Rewritten) {
        if self.block || self.section.is_some() {
            return;
        }
        let prose = without_code(line);
        if let Some(cells) = cells(&prose).filter(|_| !is_rule(line)) {
            let is_number = |cell: &&String| {
                let has = |of: fn(char) -> bool| cell.contains(of);
                has(|c| c.is_ascii_digit()) && !has(char::is_alphabetic) && !cell.contains(CLOSE)
            };
            let bare = cells.iter().skip(1).filter(is_number);
            let bare = bare.map(|cell| (at, format!("`{cell}` does not say where it is from")));
            page.wrong.extend(bare);
        }
        // A unit may stand in the next line.
        let all = format!("{prose} {}", self.next.trim());
        let numbers = numbers(&all).into_iter();
        for (number, rest) in numbers.filter(|(_, rest)| rest.len() > self.next.trim().len()) {
            let is_decimal = number.matches('.').count() == 1;
            if !is_said(rest) && (has_unit(rest) || self.quotes && is_decimal) {
                page.wrong
                    .push((at, format!("`{number}` does not say where it is from")));
            }
        }
    }
}

impl Excerpt {
    /// A row of the page with the cells of the report.
    fn row(&self, columns: &[String], cells: &[String], of: &Sources) -> Result<String, String> {
        let Self(report, place) = self;
        let (report, label) = (of.report(report)?, &cells[0]);
        let find = |row: &[&String], column: &String| {
            let row = row.iter().map(|&cell| cell.clone()).collect();
            let column = column.clone();
            report.cells(&Place {
                row,
                column,
                ..place.clone()
            })
        };
        let mut row = format!("| {label} |");
        for (index, column) in columns.iter().enumerate().skip(1) {
            let mut found = match place.column.is_empty() {
                true => find(&[label], column),
                false => find(&[label, column], &place.column),
            };
            if found.is_empty() && place.column.is_empty() {
                // Most tables of one case have that in their first column.
                found = find(&[&"*".to_owned(), label], column);
            }
            // What the report does not have, the page says by a dash.
            let is_left_out = cells.get(index).is_some_and(|cell| cell == "–");
            match found[..] {
                [cell] => _ = write!(row, " {cell} |"),
                [] if is_left_out => row.push_str(" – |"),
                _ => return Err(format!("{} cells at `{label}`, `{column}`", found.len())),
            }
        }
        Ok(row)
    }
}

/// The line with the figures of the list in place of its marked numbers.
fn quoted(line: &str, at: usize, sources: &Sources, page: &mut Rewritten) -> String {
    let mut wanted = String::new();
    let mut rest = line;
    while let Some((before, mark)) = rest.split_once(OPEN) {
        let Some((name, after)) = mark.split_once(CLOSE) else {
            break;
        };
        let digits = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',');
        let (text, number) = before.split_at(before.trim_end_matches(digits).len());
        let figure = match (is_name(name), number.is_empty()) {
            (true, _) if KINDS.contains(&name) => None,
            (false, true) => None,
            (true, false) => Some(sources.figure(name)),
            (true, true) => Some(Err("no number before the mark".to_owned())),
            (false, false) => Some(Err("not a name".to_owned())),
        };
        let mut new = number.to_owned();
        match figure {
            Some(Ok(figure)) if figure >= 0.0 => new = rounded(figure, number),
            // It says how much more, say, and now it is less.
            Some(Ok(_)) => page.wrong.push((at, format!("`{name}` is below zero"))),
            Some(Err(why)) => page.wrong.push((at, format!("`{name}`: {why}"))),
            None => {}
        }
        if new != number {
            let text = format!("`{name}` is {new} in the report, and not {number}");
            page.mended.push((at, text));
        }
        page.used.extend(is_name(name).then(|| name.to_owned()));
        _ = write!(wanted, "{text}{new}{OPEN}{name}{CLOSE}");
        rest = after;
    }
    wanted + rest
}

/// The figure as the number is written.
fn rounded(figure: f64, like: &str) -> String {
    let decimals = like
        .split_once('.')
        .map_or(0, |(_, decimals)| decimals.len());
    // Halves are rounded up, as people do.
    let step = match like.ends_with(",000") {
        true => 1000.0,
        false => decimals
            .try_into()
            .map_or(1.0, |decimals| 0.1_f64.powi(decimals)),
    };
    let text = format!("{:.decimals$}", (figure / step).round() * step);
    let (whole, decimals) = text.split_once('.').unwrap_or((&text, ""));
    let mut new = String::new();
    let has_commas = like.contains(',') || whole.len() > 4;
    for (index, digit) in whole.chars().enumerate() {
        let is_group = index > 0 && (whole.len() - index) % 3 == 0;
        new.extend((is_group && has_commas).then_some(','));
        new.push(digit);
    }
    if decimals.is_empty() {
        new
    } else {
        new + "." + decimals
    }
}

/// The line without code and without the destinations of links.
fn without_code(line: &str) -> String {
    let prose = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
    let mut parts = prose.split("](");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.push(']');
        text.push_str(part.split_once(')').map_or("", |(_, rest)| rest));
    }
    text
}

/// The numbers of a line, each with what follows it.
fn numbers(line: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    let (mut from, mut before) = (0, ' ');
    while let Some(start) = line[from..].find(|c: char| c.is_ascii_digit()) {
        let start = from + start;
        before = line[..start].chars().next_back().unwrap_or(before);
        let rest = &line[start..];
        let length = rest.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | ',')));
        let number = rest[..length.unwrap_or(rest.len())].trim_end_matches(['.', ',']);
        from = start + number.len();
        if !(before.is_alphanumeric() || matches!(before, '-' | '_' | '.' | '#' | '/')) {
            found.push((number, &line[from..]));
        }
    }
    found
}

/// A mark, and what comes behind it.
fn mark(rest: &str) -> Option<(&str, &str)> {
    let mark = rest.strip_prefix(OPEN)?.split_once(CLOSE);
    mark.filter(|(name, _)| is_name(name))
}

/// What follows the second number of a range.
fn second(rest: &str) -> Option<&str> {
    let words = [" to ", " and ", " or ", "–"];
    let range = words.iter().find_map(|word| rest.strip_prefix(word))?;
    let rest = range.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ','));
    (rest.len() < range.len()).then_some(rest)
}

/// Whether it is said where a number comes from, before what follows it. What is said of the second
/// number of a range is said of the first one, but for a figure.
fn is_said(rest: &str) -> bool {
    let second = second(rest).and_then(mark);
    mark(rest).is_some() || second.is_some_and(|(name, _)| KINDS.contains(&name))
}

/// Whether a number is followed by a unit, or by another number that is.
fn has_unit(rest: &str) -> bool {
    let begins = |rest: &str| {
        UNITS.split('|').any(|unit| {
            let after = rest.trim_start().strip_prefix(unit);
            after.is_some_and(|after| !after.starts_with(char::is_alphanumeric))
        })
    };
    let second = second(rest).map(|rest| mark(rest).map_or(rest, |(_, rest)| rest));
    begins(rest) || second.is_some_and(begins)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::quotes::list::Figures;
    use crate::quotes::report::Report;

    const REPORT: &str = "## yield: a\n\n| case | subject | ns | rate |\n|-|-|-|-|\n\
        | 2 | fibre | 5.52 | 1,234,567 |\n| 2 | go | 40.1 | – |\n| 9 | go | 7 | 1 |\n";

    /// A page with this text.
    fn read(text: &str) -> Rewritten {
        let list = "['r'.yield]\na = ['2', 'fibre', 'ns']\nb = ['2', 'fibre', 'rate']\nc = ['3', 'ns']\n\
            [computed]\nd = '38.5'\nn = '1 - a'";
        let reports = BTreeMap::from([("r".to_owned(), Report::new(REPORT))]);
        let figures = Figures::new(&list.parse().unwrap(), &reports);
        rewrite(text, &Sources { figures, reports })
    }

    /// The page that this one becomes, if nothing is wrong with it.
    fn mended(text: &str) -> String {
        let read = read(text);
        assert_eq!(read.wrong, [], "{text}");
        assert_eq!(
            read.mended.is_empty(),
            read.text == format!("{text}\n"),
            "{text}"
        );
        read.text.trim_end().to_owned()
    }

    #[test]
    fn figures_are_written_as_they_are_rounded() {
        for (text, is) in [
            ("5.5<!--a--> ns", "5.5<!--a--> ns"),
            ("9.13<!--a-->", "5.52<!--a-->"),
            ("5<!--a--> to 7<!--a--> ns", "6<!--a--> to 6<!--a--> ns"),
            ("1,000<!--b-->", "1,235,000<!--b-->"),
            ("1<!--b-->", "1,234,567<!--b-->"),
            ("1<!--d--> 1.0<!--d-->", "39<!--d--> 38.5<!--d-->"),
        ] {
            assert_eq!(mended(text), is);
        }
    }

    #[test]
    fn a_wrong_figure_is_seen_with_its_line() {
        let read = read("Text.\n\nA yield takes 5.4<!--a--> ns.\n");
        assert_eq!((read.mended.len(), read.mended[0].0), (1, 3));
        assert!(read.wrong.is_empty() && read.used.contains("a"));
    }

    #[test]
    fn a_mark_without_figure_or_number_fails() {
        for text in [
            "5<!--e-->",
            "5<!--c-->",
            "five<!--a-->",
            "5<!--n-->",
            "<!-- figures: ours -->",
            "<!-- rows: r -->",
        ] {
            assert_eq!(read(text).wrong.len(), 1, "{text}");
        }
    }

    #[test]
    fn a_number_that_says_nothing_of_itself_fails() {
        for text in [
            "5 ns",
            "* 5 to 7 ns",
            "5µs",
            "1.5 times",
            "30 %",
            "| a | 5 |",
            "| a | 5 ns |",
            "takes 5.5<!--a--> and 7.5",
            "takes 5.5<!--a-->\nand 7.5",
            "takes 5\nms",
            "takes 5<!--Setting--> ms",
            "# A\n<!-- figures: paper -->\n# B\n5 ns",
            "<!-- figures: paper -->\n5 ns\n\n6 ns",
        ] {
            assert!(!read(text).wrong.is_empty(), "{text}");
        }
    }

    #[test]
    fn a_number_that_says_what_it_is_passes() {
        for text in [
            "5<!--setting--> ns",
            "5 to 7<!--paper--> ns",
            "`5 ns` [a](b/5 ms)",
            "```\n5 ns\n```",
            "1000 connections, decision 0007, A1 %",
            "* 5.5<!--a-->\n* section 5.4",
            "<!-- figures: elsewhere -->\n5 ns\n6 ns",
            "# A\n\n<!-- figures: paper -->\n\n5 ns\n\n## B\n\n| a | 5 |",
        ] {
            assert_eq!(read(text).wrong, [], "{text}");
        }
    }

    #[test]
    fn tables_are_excerpts() {
        let rows = "<!-- rows: r | yield -->\n| case | rate |\n|-|-|\n| 9 | 2 |";
        assert_eq!(mended(rows), rows.replace("| 2 |", "| 1 |"));
        let cross = "<!-- cross: r | ns -->\n| case | fibre | go |\n|-|-|-|\n| 2 | 5.52 | 40 |\n| 9 | – | 7 |";
        assert_eq!(mended(cross), cross.replace("40", "40.1"));
        for wrong in [
            rows.replace("| 9 |", "| 2 |"),
            rows.replace("| 9 |", "| 1 |"),
            rows.replace("yield", "wait"),
            rows.replace("r |", "s |"),
            cross.replace('–', "1"),
        ] {
            assert_eq!(read(&wrong).wrong.len(), 1, "{wrong}");
        }
    }
}
