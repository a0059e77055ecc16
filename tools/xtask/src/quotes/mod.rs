//! Figures that pages quote from stored reports: they stand there by reference.
//!
//! [`report`] reads the tables of a report, [`list`] the names of figures, [`sources`] all of
//! these, and [`page`] what a page says. `cargo xtask figures` writes into the pages what the
//! reports say; `tidy` fails where the two differ, where a name stands for no cell, and where a
//! measured number has no name and does not say what else it is. See
//! docs/decisions/0103-quoted-figures.md.

mod list;
mod page;
mod report;
mod sources;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Result, bail};

use crate::tidy::source::{self, Violation};
use sources::{REPORTS, Sources};

/// What is of its time, or written by programs, and does not change with the reports.
const LEFT_OUT: [&str; 5] = [
    REPORTS,
    "docs/decisions/",
    "CHANGELOG.md",
    "docs/lints/",
    "tests/",
];

/// The pages that may quote figures, with their texts.
fn pages(root: &Path) -> Result<Vec<(String, String)>> {
    let mut pages = Vec::new();
    for path in source::walk(root) {
        let path = path?;
        let name = path.strip_prefix(root)?.to_string_lossy().into_owned();
        if name.ends_with(".md") && !LEFT_OUT.iter().any(|left| name.starts_with(left)) {
            pages.push((name, fs::read_to_string(&path)?));
        }
    }
    Ok(pages)
}

/// Checks that pages quote what the reports say.
pub(crate) fn check(root: &Path) -> Result<Vec<Violation>> {
    Ok(violations(&pages(root)?, &Sources::read(root)?))
}

/// What is wrong with these pages.
fn violations(pages: &[(String, String)], sources: &Sources) -> Vec<Violation> {
    let (mut violations, mut used) = (Vec::new(), BTreeSet::new());
    for (place, text) in pages {
        let rewritten = page::rewrite(text, sources);
        for (line, text) in rewritten.wrong.into_iter().chain(rewritten.mended) {
            let place = place.clone();
            violations.push(Violation { place, line, text });
        }
        used.extend(rewritten.used);
    }
    violations.extend(sources.unused(used));
    violations
}

/// Writes into the pages what the reports say; returns a remark.
pub(crate) fn write(root: &Path) -> Result<String> {
    let sources = Sources::read(root)?;
    let mut changed = 0;
    for (name, text) in pages(root)? {
        let rewritten = page::rewrite(&text, &sources);
        for (line, change) in &rewritten.mended {
            println!("{name}:{line}: {change}");
        }
        changed += rewritten.mended.len();
        if !rewritten.mended.is_empty() {
            fs::write(root.join(&name), rewritten.text)?;
        }
    }
    let left = check(root)?;
    for violation in &left {
        println!("{violation}");
    }
    if !left.is_empty() {
        bail!("{} figures that a person has to look at", left.len());
    }
    Ok(format!("{changed} figures written"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::list::Figures;
    use super::report::Report;
    use super::sources::LIST;
    use super::*;

    /// What is wrong with a page of this text, given a list that begins with `a`.
    fn found(list: &str, text: &str) -> Vec<(String, usize)> {
        let page = "## yield: a\n\n| case | ns |\n|-|-|\n| 2 | 5 |\n";
        let reports = BTreeMap::from([("r".to_owned(), Report::new(page))]);
        let list = format!("[r.yield]\na = ['2', 'ns']\n{list}");
        let figures = Figures::new(&list.parse().unwrap(), &reports);
        let pages = [("p.md".to_owned(), text.to_owned())];
        let found = violations(&pages, &Sources { figures, reports }).into_iter();
        found
            .map(|violation| (violation.place, violation.line))
            .collect()
    }

    #[test]
    fn what_is_defined_and_quoted_passes() {
        assert_eq!(found("", "5<!--a-->\n"), []);
        assert_eq!(found("[computed]\nb = '2 * a'", "10<!--b-->\n"), []);
    }

    #[test]
    fn what_differs_is_undefined_or_unused_fails() {
        let page = |line| vec![("p.md".to_owned(), line)];
        assert_eq!(found("", "5<!--a-->\n\n6<!--a-->\n"), page(3));
        assert_eq!(found("", "5<!--a--> 5<!--b-->\n"), page(1));
        let list = vec![(LIST.to_owned(), 0)];
        assert_eq!(found("", "Text.\n"), list);
        assert_eq!(found("b = ['3', 'ns']", "5<!--a-->\n"), list);
        assert_eq!(found("[s]", "5<!--a-->\n"), list);
        assert_eq!(found("[computed]\na = '5'", "5<!--a-->\n"), list);
    }
}
