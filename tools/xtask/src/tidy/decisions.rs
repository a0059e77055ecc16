//! The index of docs/decisions lists each record once, as that calls itself, and no two records
//! have one number.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::tidy::source::Violation;

/// The folder of the records.
pub(crate) const FOLDER: &str = "docs/decisions";

/// The index.
pub(crate) const INDEX: &str = "docs/decisions/README.md";

/// One record.
#[derive(Debug)]
pub(crate) struct Record {
    /// The name of its file.
    file: String,
    /// What it says.
    text: String,
}

/// Reads all records, in the order of their names.
pub(crate) fn read_all(folder: &Path) -> Result<Vec<Record>> {
    let mut records = Vec::new();
    let entries = fs::read_dir(folder).with_context(|| format!("{}", folder.display()))?;
    for entry in entries {
        let entry = entry?;
        let file = entry.file_name().to_string_lossy().into_owned();
        if number(&file).is_some() {
            let text = fs::read_to_string(entry.path())?;
            records.push(Record { file, text });
        }
    }
    records.sort_by(|one, other| one.file.cmp(&other.file));
    Ok(records)
}

/// Compares the records with the index.
pub(crate) fn check(records: &[Record], index: &str) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut complain = |place: &str, line, text: String| {
        let place = place.to_owned();
        violations.push(Violation { place, line, text });
    };
    for pair in records.windows(2) {
        if number(&pair[0].file) == number(&pair[1].file) {
            let text = format!("`{}` has the same number", pair[0].file);
            complain(&format!("{FOLDER}/{}", pair[1].file), 0, text);
        }
    }
    for record in records {
        let row = row_of(record);
        match index.lines().filter(|line| *line == row).count() {
            1 => {}
            count => complain(INDEX, 0, format!("{count} times, instead of once: `{row}`")),
        }
    }
    for (place, line) in index.lines().enumerate() {
        let is_known = records.iter().any(|record| row_of(record) == line);
        if line.starts_with("| [") && !is_known {
            complain(INDEX, place + 1, "no record calls itself so".into());
        }
    }
    violations
}

/// The number that a record's file begins with.
fn number(file: &str) -> Option<&str> {
    let (number, _) = file.strip_suffix(".md")?.split_once('-')?;
    let is_number = number.len() == 4 && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some(number)
}

/// The record's row in the index.
fn row_of(record: &Record) -> String {
    let number = number(&record.file).unwrap_or_default();
    let after = |start: &str| {
        let rest = record
            .text
            .lines()
            .find_map(|line| line.strip_prefix(start));
        rest.unwrap_or("?")
    };
    let (title, status) = (after(&format!("# {number}: ")), after("Status: "));
    format!("| [{number}]({}) | {title} | {status} |", record.file)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The index of the two records below.
    const ROWS: &str = "# Decisions\n\n| Number | Decision | Status |\n|---|---|---|\n\
        | [0001](0001-this.md) | This and not that | accepted |\n\
        | [0002](0002-more.md) | More | replaced by 0003 |\n";

    fn record(file: &str, title: &str, status: &str) -> Record {
        Record {
            file: file.to_owned(),
            text: format!("# {title}\n\nStatus: {status}\n\n## Context\n"),
        }
    }

    fn records() -> Vec<Record> {
        vec![
            record("0001-this.md", "0001: This and not that", "accepted"),
            record("0002-more.md", "0002: More", "replaced by 0003"),
        ]
    }

    /// What is wrong.
    fn found(records: &[Record], index: &str) -> Vec<String> {
        let found = check(records, index).into_iter();
        found.map(|violation| violation.text).collect()
    }

    #[test]
    fn a_whole_index_passes() {
        assert!(found(&records(), ROWS).is_empty());
    }

    #[test]
    fn a_missing_or_second_row_fails() {
        let missing: String = ROWS
            .lines()
            .take(5)
            .map(|line| format!("{line}\n"))
            .collect();
        assert!(found(&records(), &missing)[0].starts_with("0 times"));
        let twice = [ROWS, ROWS].concat();
        assert!(found(&records(), &twice)[0].starts_with("2 times"));
    }

    #[test]
    fn a_row_of_another_title_status_or_file_fails() {
        for (is, was) in [
            ("More", "Less"),
            ("replaced by 0003", "accepted"),
            ("-more", "-less"),
        ] {
            let index = ROWS.replace(is, was);
            assert_eq!(found(&records(), &index).len(), 2, "{index}");
        }
    }

    #[test]
    fn a_number_that_two_have_fails() {
        let mut two = records();
        two.push(record("0002-other.md", "0002: Other", "accepted"));
        assert!(found(&two, ROWS)[0].contains("same number"));
    }

    #[test]
    fn a_record_with_another_number_in_its_title_fails() {
        let mut wrong = records();
        wrong[0] = record("0001-this.md", "0003: This and not that", "accepted");
        assert_eq!(found(&wrong, ROWS).len(), 2);
    }

    #[test]
    fn other_files_are_no_records() {
        assert_eq!(number("0017-one-lock.md"), Some("0017"));
        for file in ["README.md", "17-lock.md", "0017-lock.txt", "0017.md"] {
            assert_eq!(number(file), None, "{file}");
        }
    }
}
