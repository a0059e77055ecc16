//! The tables of a stored report, as they stand in its page: that is where a reader looks a figure
//! up, and the one form that all programs write.

/// One table.
struct Table {
    /// The heading that it stands under.
    section: String,
    /// The last line of text before it, or what of that is bold.
    caption: String,
    is_bold: bool,
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Whether this is one of the tables that a place is in.
    fn is_at(&self, place: &Place) -> bool {
        let rest = self.section.strip_prefix(&place.section);
        // A heading begins with a name, and not only with its letters.
        let begins =
            |rest: &str| place.section.is_empty() || !rest.starts_with(char::is_alphanumeric);
        let is_caption = match self.is_bold && !place.caption.is_empty() {
            true => self.caption == place.caption,
            false => self.caption.starts_with(&place.caption),
        };
        rest.is_some_and(begins) && is_caption
    }
}

/// Where cells stand.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    /// What the heading begins with.
    pub(super) section: String,
    /// The bold text before the table, or what the line before it begins with.
    pub(super) caption: String,
    /// The first cells of the row; `*` is any.
    pub(super) row: Vec<String>,
    /// The name of the column; `#2` behind it means the second one of that name.
    pub(super) column: String,
}

/// All tables of a report.
pub(super) struct Report(Vec<Table>);

impl Report {
    /// Reads the tables of a page.
    pub(super) fn new(page: &str) -> Self {
        let (mut section, mut caption, mut is_bold) = (String::new(), String::new(), false);
        let mut tables: Vec<Table> = Vec::new();
        let mut is_open = false;
        for line in page.lines() {
            if let Some(cells) = cells(line) {
                match tables.last_mut().filter(|_| is_open) {
                    Some(table) => table.rows.extend((!is_rule(line)).then_some(cells)),
                    None => tables.push(Table {
                        section: section.clone(),
                        caption: caption.clone(),
                        is_bold,
                        columns: cells.iter().map(|cell| name(cell)).collect(),
                        rows: Vec::new(),
                    }),
                }
                is_open = true;
                continue;
            }
            is_open = false;
            if line.starts_with('#') {
                section = line.trim_matches(['#', ' ']).to_owned();
                caption.clear();
            } else if !line.trim().is_empty() {
                let bold = line
                    .strip_prefix("**")
                    .and_then(|line| line.split_once("**"));
                is_bold = bold.is_some();
                caption = bold.map_or(line, |(bold, _)| bold).to_owned();
            }
        }
        Self(tables)
    }

    /// The cells of the place's column, in the rows that begin with its cells.
    pub(super) fn cells(&self, place: &Place) -> Vec<&str> {
        let (name, number) = match place.column.rsplit_once(" #") {
            Some((name, number)) => (name, number.parse().unwrap_or(1)),
            None => (&*place.column, 1_usize),
        };
        let is_meant = |cells: &&Vec<String>| {
            let mut pairs = place.row.iter().zip(*cells);
            cells.len() > place.row.len() && pairs.all(|(of, is)| of == "*" || of == is)
        };
        let tables = self.0.iter().filter(|table| table.is_at(place));
        let found = tables.flat_map(|table| {
            let columns = table.columns.iter().enumerate();
            let mut columns = columns.filter(|(_, column)| *column == name);
            let at = columns.nth(number.saturating_sub(1)).map(|(at, _)| at);
            let rows = table.rows.iter().filter(is_meant);
            rows.filter_map(move |cells| cells.get(at?).map(String::as_str))
        });
        found.collect()
    }
}

/// A column's name: some have a comma behind it, as they have no unit.
fn name(cell: &str) -> String {
    cell.trim_end_matches(',').to_owned()
}

/// The cells of a row.
pub(super) fn cells(line: &str) -> Option<Vec<String>> {
    let row = line.trim().strip_prefix('|')?;
    let row = row.strip_suffix('|').unwrap_or(row);
    Some(row.split('|').map(|cell| cell.trim().to_owned()).collect())
}

/// Whether a row is the line below the names of the columns.
pub(super) fn is_rule(line: &str) -> bool {
    line.chars().all(|c| matches!(c, '|' | '-' | ':' | ' '))
}

/// The number in a cell, by its place.
pub(super) fn number(cell: &str, at: usize) -> Option<f64> {
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',' | '-');
    let words = cell.split(|c: char| !is_part(c));
    let mut numbers = words.filter_map(|word| word.replace(',', "").parse().ok());
    numbers.nth(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# A\n\n## yield: b\n\n**1 CPU**\n\n| case | subject | ns | × | × |\n|-|-|-:|-|-|\n\
        | 2 | fibre | 1,234 ±2 % (7) | 1.0 | 2.0 |\n| 2 | go | – | 3.0 | 4.0 |\n\n## yields: c\n\n\
        | case | subject | ns |\n|-|-|-|\n| 2 | fibre | 5 |\n";

    /// The cells of this row and column in the section.
    fn found(section: &str, caption: &str, row: &[&str], column: &str) -> Vec<String> {
        let row = row.iter().map(|&cell| cell.to_owned()).collect();
        let (section, caption) = (section.to_owned(), caption.to_owned());
        let place = Place {
            section,
            caption,
            row,
            column: column.to_owned(),
        };
        let report = Report::new(PAGE);
        report
            .cells(&place)
            .into_iter()
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn cells_are_found_by_row_and_column() {
        assert_eq!(found("yield", "1 CPU", &["2", "fibre"], "ns").len(), 1);
        assert_eq!(found("", "", &["2", "fibre"], "ns").len(), 2);
        assert_eq!(found("yield", "", &["*", "go"], "× #2"), ["4.0"]);
        assert_eq!(found("yield", "", &["*"], "×"), ["1.0", "3.0"]);
    }

    #[test]
    fn what_is_not_there_is_not_found() {
        for (section, caption, subject, column) in [
            ("yiel", "", "fibre", "ns"),
            ("yield", "2 CPU", "fibre", "ns"),
            ("yield", "1 CP", "fibre", "ns"),
            ("yield", "", "fib", "ns"),
            ("yield", "", "fibre", "µs"),
            ("yield", "", "fibre", "× #3"),
        ] {
            let found = found(section, caption, &["2", subject], column);
            assert!(found.is_empty(), "{section} {subject} {column}");
        }
    }

    #[test]
    fn a_cell_has_its_numbers_in_order() {
        let numbers = [0, 1, 2].map(|at| number("1,234 ±2 % (-7.5)", at));
        assert_eq!(numbers, [Some(1234.0), Some(2.0), Some(-7.5)]);
        assert_eq!(number("–", 0), None);
    }
}
