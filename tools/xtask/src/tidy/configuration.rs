//! Every environment variable stands in the table of docs/CONFIGURATION.md, and everything in the
//! table stands in some source file. The row of a choice lists the names that the sources give its
//! values.

use std::collections::BTreeSet;

use crate::tidy::source::{Source, Violation};

/// The document with the table.
pub(crate) const PATH: &str = "docs/CONFIGURATION.md";

/// What all names begin with.
const PREFIX: &str = "FIBRE_";

/// Compares the names in sources with those in the document.
pub(crate) fn check(sources: &[Source], document: &str) -> Vec<Violation> {
    let told: BTreeSet<&str> = names(document).collect();
    let mut used = BTreeSet::new();
    let mut violations = Vec::new();
    // The rules themselves name variables that do not exist.
    for source in sources
        .iter()
        .filter(|source| !source.is_below("tools/xtask"))
    {
        for (index, line) in source.text.lines().enumerate() {
            for name in names(line).filter(|name| used.insert((*name).to_owned())) {
                if !told.contains(name) {
                    let text = format!("`{name}` is missing in {PATH}");
                    violations.push(source.violation(index + 1, text));
                }
            }
        }
    }
    let stale = told.into_iter().filter(|name| !used.contains(*name));
    violations.extend(stale.map(|name| Violation {
        place: PATH.into(),
        line: 0,
        text: format!("no source file knows `{name}`"),
    }));
    violations
}

/// Compares the row of a choice with the names of its values.
pub(crate) fn check_row(variable: &str, names: &[String], document: &str) -> Option<Violation> {
    let head = format!("| `{variable}` |");
    let rows = document.lines().enumerate();
    let row = rows.into_iter().find(|(_, line)| line.starts_with(&head));
    let (line, told) = row.map_or((0, ""), |(index, row)| {
        (index + 1, row.split('|').nth(2).unwrap_or_default())
    });
    let values = told.split(',').map(|value| value.trim().trim_matches('`'));
    (!values.eq(names)).then(|| Violation {
        place: PATH.into(),
        line,
        text: format!("`{variable}` is one of {}", names.join(", ")),
    })
}

/// The names in a text: the prefix with something behind it.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let ends = |c: char| !(c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    text.split(ends)
        .filter(|word| word.len() > PREFIX.len() && word.starts_with(PREFIX))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that uses a variable, and one that speaks of none.
    fn sources() -> [Source; 2] {
        let using = "//! D.\nconst A: &str = \"FIBRE_SPEED\";\n";
        [
            Source::parse("fibre-core/src/a.rs", using).unwrap(),
            Source::parse("src/lib.rs", "//! All of `FIBRE_*`.\n").unwrap(),
        ]
    }

    #[test]
    fn a_table_with_all_names_passes() {
        assert!(check(&sources(), "| `FIBRE_SPEED` | 1 |\n").is_empty());
    }

    #[test]
    fn a_row_that_lacks_a_value_fails() {
        let wrong = |row| check_row("FIBRE_SPEED", &["low".into(), "high".into()], row);
        assert!(wrong("| `FIBRE_SPEED` | `low`, `high` | `low` |\n").is_none());
        assert_eq!(
            wrong("\n| `FIBRE_SPEED` | `low` | `low` |\n").unwrap().line,
            2
        );
        assert_eq!(
            wrong("| `FIBRE_COLOUR` | `low`, `high` |\n").unwrap().line,
            0
        );
    }

    #[test]
    fn a_missing_name_fails() {
        let found = check(&sources(), "| `FIBRE_SPE` | 1 |\n");
        assert_eq!(
            (found[0].place.as_str(), found[0].line),
            ("fibre-core/src/a.rs", 2)
        );
    }

    #[test]
    fn a_name_that_nobody_knows_fails() {
        let found = check(&sources(), "`FIBRE_SPEED`, `FIBRE_COLOUR`");
        assert_eq!(found.len(), 1);
        assert!(found[0].text.contains("FIBRE_COLOUR"));
    }
}
