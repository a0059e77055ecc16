//! Links between pages lead somewhere: the file exists, and so does the heading in it. Each page of
//! the guide stands in its summary, and begins with its title.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result};

use crate::markdown;
use crate::tidy::source::{self, Violation};

/// The folder of the guide's pages.
pub(crate) const GUIDE: &str = "docs/guide/src";

/// The guide's table of contents.
const SUMMARY: &str = "docs/guide/src/SUMMARY.md";

/// What can be linked to.
pub(crate) struct Tree {
    /// All files, relative to the root, with `/`.
    files: BTreeSet<String>,
    /// The text of each page, and the anchors in it.
    pages: BTreeMap<String, (String, BTreeSet<String>)>,
}

/// Reads all pages below the root.
pub(crate) fn read_all(root: &Path) -> Result<Tree> {
    let (mut files, mut pages) = (BTreeSet::new(), BTreeMap::new());
    for path in source::walk(root) {
        let path = path?;
        let name = path.strip_prefix(root)?.to_string_lossy().into_owned();
        if name.ends_with(".md") {
            let text = fs::read_to_string(&path)
                .with_context(|| format!("cannot read {}", path.display()))?;
            let anchors = markdown::anchors(&text);
            pages.insert(name.clone(), (text, anchors));
        }
        files.insert(name);
    }
    Ok(Tree { files, pages })
}

/// Checks the links of all pages, and the guide's summary.
pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (page, (text, _)) in &tree.pages {
        for link in markdown::links(text) {
            if let Err(text_of_it) = tree.follow(page, &link.destination) {
                violations.push(Violation {
                    place: page.clone(),
                    line: 1 + text[..link.range.start].matches('\n').count(),
                    text: format!("a link to `{}`: {text_of_it}", link.destination),
                });
            }
        }
    }
    violations.extend(unlisted(tree));
    violations.extend(gone(tree));
    violations
}

/// Source files that a page names in backticks, by their last folders or all of them, and that are
/// not there. Reports are of their time.
fn gone(tree: &Tree) -> Vec<Violation> {
    let is_there = |name: &str| {
        let end = format!("/{name}");
        tree.files
            .iter()
            .any(|file| file == name || file.ends_with(&end))
    };
    let pages = tree.pages.iter();
    let pages = pages.filter(|(page, _)| !page.starts_with("docs/results/"));
    let lines = pages.flat_map(|(page, (text, _))| {
        let lines = text.lines().enumerate();
        lines.map(move |(index, line)| (page, index + 1, line))
    });
    let named = lines.flat_map(|(page, line, text)| {
        let words = text.split('`').skip(1).step_by(2);
        let names = words.map(|word| word.split("::").next().unwrap_or(word));
        names.map(move |name| (page, line, name.trim_start_matches("../")))
    });
    let plain =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-./".contains(&byte);
    let gone = named.filter(|(_, _, name)| {
        let is_source = name
            .strip_suffix(".rs")
            .is_some_and(|stem| !stem.is_empty());
        is_source && name.bytes().all(plain) && !is_there(name)
    });
    gone.map(|(page, line, name)| Violation {
        place: page.clone(),
        line,
        text: format!("`{name}` is no file of the tree"),
    })
    .collect()
}

impl Tree {
    /// Whether a link of this page leads somewhere, or why not.
    fn follow(&self, page: &str, destination: &str) -> Result<(), &'static str> {
        if destination.contains("://") || destination.starts_with("mailto:") {
            return Ok(());
        }
        let (path, anchor) = match destination.split_once('#') {
            Some((path, anchor)) => (path, Some(anchor)),
            None => (destination, None),
        };
        let target = match path {
            "" => page.to_owned(),
            path => resolve(page, path).ok_or("it leaves the tree")?,
        };
        let below = format!("{target}/");
        let is_folder = || self.files.iter().any(|file| file.starts_with(&below));
        if !self.files.contains(&target) && !is_folder() {
            return Err("there is no such file");
        }
        match (anchor, self.pages.get(&target)) {
            (Some(anchor), Some((_, anchors))) if !anchors.contains(anchor) => {
                Err("that page has no such heading")
            }
            _ => Ok(()),
        }
    }
}

/// The file that a page means by a relative path; `None` if that leaves the tree.
pub(crate) fn resolve(page: &str, path: &str) -> Option<String> {
    let mut target = PathBuf::new();
    let folder = Path::new(page).parent()?;
    for component in folder.join(path).components() {
        match component {
            Component::Normal(name) => target.push(name),
            Component::ParentDir if !target.pop() => return None,
            Component::RootDir => return None,
            _ => {}
        }
    }
    Some(target.to_string_lossy().into_owned())
}

/// Pages of the guide that its summary leaves out, or that have no title.
fn unlisted(tree: &Tree) -> Vec<Violation> {
    let summary = tree.pages.get(SUMMARY).map_or("", |(text, _)| text);
    let links = markdown::links(summary).into_iter();
    let listed: BTreeSet<_> = links
        .filter_map(|l| resolve(SUMMARY, &l.destination))
        .collect();
    let mut violations = Vec::new();
    let mut complain = |place: &String, text: &str| {
        let (place, text) = (place.clone(), text.to_owned());
        violations.push(Violation {
            place,
            line: 0,
            text,
        });
    };
    for (page, (text, _)) in &tree.pages {
        if page.starts_with(GUIDE) && page != SUMMARY {
            if !listed.contains(page) {
                complain(page, "SUMMARY.md does not list it");
            }
            if !markdown::has_title(text) {
                complain(page, "a page begins with its title");
            }
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree of these pages and one other file.
    fn tree(pages: &[(&str, &str)]) -> Tree {
        let pages = pages.iter().map(|&(name, text)| {
            let page = (text.to_owned(), markdown::anchors(text));
            (name.to_owned(), page)
        });
        let pages: BTreeMap<_, _> = pages.collect();
        let files = pages
            .keys()
            .cloned()
            .chain(["src/lib.rs".to_owned()])
            .collect();
        Tree { files, pages }
    }

    /// What is wrong, with its line.
    fn found(pages: &[(&str, &str)]) -> Vec<(usize, String)> {
        let found = check(&tree(pages)).into_iter();
        found
            .map(|violation| (violation.line, violation.text))
            .collect()
    }

    #[test]
    fn links_that_lead_somewhere_pass() {
        let text = "# A b\n[1](#a-b) [2](docs) [3](docs/c.md#d) [4](src/lib.rs#L3) [5](a://b) [6](./a.md)\n";
        assert_eq!(
            found(&[("a.md", text), ("docs/c.md", "# D\n[back](../a.md)\n")]),
            []
        );
    }

    #[test]
    fn links_that_lead_nowhere_fail() {
        for link in ["b.md", "#b", "../a.md", "/a.md", "docs", "docs/c.md"] {
            let text = format!("# A\n\nText\n[1]({link})\n");
            let found = found(&[("a.md", &text)]);
            assert!(found.len() == 1 && found[0].0 == 4, "{link}: {found:?}");
        }
    }

    #[test]
    fn a_source_file_that_is_gone_fails() {
        let there = "# A\n`lib.rs`, `src/lib.rs::f`, `../src/lib.rs`, `src/NAME.rs`, `.rs`\n";
        assert_eq!(found(&[("a.md", there)]), []);
        for name in ["gone.rs", "src/b.rs", "rc/lib.rs", "c/lib.rs::f"] {
            let text = format!("# A\nSee `a` in `{name}`.\n");
            let wrong = found(&[("a.md", &text)]);
            assert!(wrong.len() == 1 && wrong[0].0 == 2, "{name}: {wrong:?}");
            assert_eq!(found(&[("docs/results/a.md", &text)]), [], "{name}");
        }
    }

    #[test]
    fn a_page_of_the_guide_that_is_not_listed_fails() {
        let page = ("docs/guide/src/a.md", "# A\n");
        assert_eq!(found(&[page, (SUMMARY, "[A](a.md)\n")]), []);
        assert_eq!(found(&[page, (SUMMARY, "# Summary\n")]).len(), 1);
    }

    #[test]
    fn a_page_of_the_guide_without_a_title_fails() {
        let pages = [("docs/guide/src/a.md", "Text.\n"), (SUMMARY, "[A](a.md)\n")];
        assert_eq!(found(&pages).len(), 1);
    }
}
