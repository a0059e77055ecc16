//! What docs/FAULTS.md names exists: the files, and in them the tests. Each row of its tables names
//! a test.
//!
//! A file stands there as `path.rs`, a test as `path.rs::name`, each in backquotes.

use syn::ItemFn;
use syn::visit::{self, Visit};

use crate::tidy::source::{Source, Violation};

/// The document.
pub(crate) const PATH: &str = "docs/FAULTS.md";

/// Compares the document with the sources.
pub(crate) fn check(sources: &[Source], document: &str) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (index, line) in document.lines().enumerate() {
        let mut complain = |text: String| {
            violations.push(Violation {
                place: PATH.into(),
                line: index + 1,
                text,
            });
        };
        let mut tests = 0;
        for (path, test) in names(line) {
            let source = sources.iter().find(|source| source.path == path);
            match (source, test) {
                (None, _) => complain(format!("there is no `{path}`")),
                (Some(source), Some(test)) if !has_test(source, test) => {
                    complain(format!("`{path}` has no test `{test}`"));
                }
                (Some(_), test) => tests += usize::from(test.is_some()),
            }
        }
        if is_row(document, index) && tests == 0 {
            complain("a row without a test".into());
        }
    }
    violations
}

/// The files that a line names, and the tests in them.
fn names(line: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    let spans = line.split('`').skip(1).step_by(2);
    spans.filter_map(|span| match span.split_once(".rs::") {
        Some((file, test)) => Some((&span[..file.len() + 3], Some(test))),
        None => span.ends_with(".rs").then_some((span, None)),
    })
}

/// Whether the line of this index is a row of a table, and not its head.
fn is_row(document: &str, index: usize) -> bool {
    let is_rule = |line: &str| line.starts_with("|-");
    let line = |index| document.lines().nth(index).unwrap_or_default();
    let is_head = is_rule(line(index)) || is_rule(line(index + 1));
    line(index).starts_with('|') && !is_head
}

/// Whether a file has a test of this name.
fn has_test(source: &Source, name: &str) -> bool {
    struct Search<'a> {
        name: &'a str,
        found: bool,
    }
    impl<'ast> Visit<'ast> for Search<'_> {
        fn visit_item_fn(&mut self, item: &'ast ItemFn) {
            let mut attributes = item.attrs.iter();
            let is_test = attributes.any(|attribute| attribute.path().is_ident("test"));
            self.found |= is_test && item.sig.ident == self.name;
            visit::visit_item_fn(self, item);
        }
    }
    let mut search = Search { name, found: false };
    search.visit_file(&source.syntax);
    search.found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is wrong with a table of one row, in a tree with one test.
    fn faults(row: &str) -> Vec<String> {
        let text = "//! D.\n#[test]\nfn holds() {}\nfn helps() {}\n";
        let sources = [Source::parse("tests/a.rs", text).unwrap()];
        let document = format!("Text.\n\n| what | tests |\n|---|---|\n{row}\n");
        let found = check(&sources, &document).into_iter();
        found.map(|violation| violation.text).collect()
    }

    #[test]
    fn what_exists_passes() {
        assert!(faults("| it breaks | see `tests/a.rs`: `tests/a.rs::holds` |").is_empty());
    }

    #[test]
    fn what_does_not_exist_fails() {
        let row = "| it breaks | `tests/b.rs` `tests/a.rs::helps` `tests/a.rs::holds` |";
        assert_eq!(
            faults(row),
            [
                "there is no `tests/b.rs`",
                "`tests/a.rs` has no test `helps`"
            ]
        );
    }

    #[test]
    fn rows_without_tests_fail() {
        assert_eq!(
            faults("| it breaks | `tests/a.rs` |"),
            ["a row without a test"]
        );
    }
}
