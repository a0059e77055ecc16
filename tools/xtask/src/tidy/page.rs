//! How a file looks: documentation first, bounded sizes, nothing unfinished.

use std::ops::RangeInclusive;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Block, ImplItemFn, ItemFn, Signature, TraitItemFn};

use crate::tidy::source::{Source, Violation};

/// Columns of a comment, at most. Rows of tables cannot be wrapped, and may be longer.
const COLUMNS: usize = 100;
/// Lines of code in a file, at most.
const FILE: usize = 500;
/// Lines of code in a function, at most.
const FUNCTION: usize = 60;
/// The architecture document.
pub(crate) const ARCHITECTURE_PATH: &str = "docs/ARCHITECTURE.md";
/// The pages that are read as a whole, and their lines, at most.
pub(crate) const BOUNDED: [(&str, usize); 2] = [("README.md", 130), (ARCHITECTURE_PATH, 200)];

/// Checks every file.
pub(crate) fn check(sources: &[Source]) -> Vec<Violation> {
    let rules = [
        module_docs,
        comment_columns,
        file_size,
        function_size,
        unfinished,
    ];
    sources
        .iter()
        .flat_map(|source| rules.iter().flat_map(move |rule| rule(source)))
        .collect()
}

/// Checks the length of a page that is read as a whole; a missing one counts as empty.
pub(crate) fn bounded(path: &str, text: &str, most: usize) -> Option<Violation> {
    let text = match text.lines().count() {
        0 => "missing or empty".to_owned(),
        lines if lines > most => format!("{lines} lines, at most {most}"),
        _ => return None,
    };
    Some(Violation {
        place: path.into(),
        line: 0,
        text,
    })
}

/// What the root of a library says, so that the compiler finds public items that nobody reaches.
const SEALED: &str = "deny(unreachable_pub, unnameable_types)";

/// The root of each published crate denies public items that nobody reaches, or can name.
pub(crate) fn sealed(sources: &[Source]) -> Vec<Violation> {
    let crates = [
        "",
        "fibre-core/",
        "fibre-sync/",
        "fibre-io/",
        "fibre-inspect/",
        "exts/actors/",
        "exts/events/",
        "exts/tasks/",
        "exts/hyper/",
        "exts/rustls/",
        "exts/ureq/",
        "exts/libc/",
        "exts/test/",
        "fibre-capi/",
    ];
    let roots = crates.map(|folder| format!("{folder}src/lib.rs"));
    let open = sources
        .iter()
        .filter(|source| roots.contains(&source.path) && !source.text.contains(SEALED));
    open.map(|source| source.violation(1, format!("the crate does not `{SEALED}`")))
        .collect()
}

/// A file starts with its story.
fn module_docs(source: &Source) -> Vec<Violation> {
    if source.text.starts_with("//!") {
        return Vec::new();
    }
    vec![source.violation(1, "a file starts with `//!`")]
}

/// No comment is too wide to be read.
fn comment_columns(source: &Source) -> Vec<Violation> {
    let lines = source.text.lines().enumerate();
    let wide = lines.filter(|(index, line)| {
        let comment = line.trim_start().strip_prefix("//");
        let comment = comment.map(|text| text.trim_start_matches(['/', '!', ' ']));
        comment.is_some_and(|text| !text.starts_with('|'))
            && line.chars().count() > COLUMNS
            && !source.is_inside_literal(index + 1)
    });
    wide.map(|(index, line)| {
        let columns = line.chars().count();
        let text = format!("a comment of {columns} columns, at most {COLUMNS}");
        source.violation(index + 1, text)
    })
    .collect()
}

/// No file is too long.
fn file_size(source: &Source) -> Vec<Violation> {
    let lines = source.code_lines(1..=usize::MAX);
    if lines <= FILE {
        return Vec::new();
    }
    vec![source.violation(0, format!("{lines} lines of code, at most {FILE}"))]
}

/// No function is too long.
fn function_size(source: &Source) -> Vec<Violation> {
    let mut functions = Functions::default();
    functions.visit_file(&source.syntax);
    let measured = functions.found.into_iter().map(|(name, lines)| {
        let first = *lines.start();
        (name, first, source.code_lines(lines))
    });
    measured
        .filter(|(.., lines)| *lines > FUNCTION)
        .map(|(name, first, lines)| {
            let text = format!("`{name}` has {lines} lines of code, at most {FUNCTION}");
            source.violation(first, text)
        })
        .collect()
}

/// No placeholder, no test that does not run, no example that nobody compiles.
fn unfinished(source: &Source) -> Vec<Violation> {
    let code = source.tokens.windows(2).filter_map(|pair| {
        let text = match (pair[0].text.as_str(), pair[1].text.as_str()) {
            ("todo" | "unimplemented", "!") => "unfinished code",
            ("[", "ignore") => "a test that does not run",
            _ => return None,
        };
        Some(source.violation(pair[0].line, text))
    });
    let docs = source.text.lines().enumerate().filter_map(|(index, line)| {
        let comment = line.trim_start().strip_prefix("//")?;
        let fence = comment.trim_start_matches(['/', '!', ' ']);
        let ignored = fence.starts_with("```") && fence.contains("ignore");
        ignored.then(|| source.violation(index + 1, "an example that nobody compiles"))
    });
    code.chain(docs).collect()
}

/// Collects all functions with a body.
#[derive(Default)]
struct Functions {
    /// Name and lines, from the signature to the closing bracket.
    found: Vec<(String, RangeInclusive<usize>)>,
}

impl Functions {
    /// Enters one function.
    fn add(&mut self, signature: &Signature, body: &Block) {
        let first = signature.span().start().line;
        let last = body.span().end().line;
        self.found.push((signature.ident.to_string(), first..=last));
    }
}

impl<'ast> Visit<'ast> for Functions {
    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        self.add(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        self.add(&function.sig, &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast TraitItemFn) {
        if let Some(body) = &function.default {
            self.add(&function.sig, body);
        }
        visit::visit_trait_item_fn(self, function);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the rules say of this text, with line numbers.
    fn violations(text: &str) -> Vec<(usize, String)> {
        let source = Source::parse("a.rs", text).unwrap();
        let found = check(&[source]);
        found.into_iter().map(|v| (v.line, v.text)).collect()
    }

    #[test]
    fn an_open_crate_fails() {
        let root = |path, text| Source::parse(path, text).unwrap();
        let open = [root("fibre-io/src/lib.rs", "//! Story."), root("a.rs", "")];
        assert_eq!(sealed(&open).len(), 1);
        let text = format!("#![cfg_attr(not(loom), {SEALED})]");
        assert!(sealed(&[root("src/lib.rs", &text)]).is_empty());
    }

    #[test]
    fn a_clean_page_passes() {
        let text = "//! Todo lists: `todo!`.\n/// ```no_run\n/// ```\nfn todo() { ignore(); }\n";
        assert_eq!(violations(text), []);
    }

    #[test]
    fn a_file_without_docs_fails() {
        assert_eq!(violations("fn f() {}\n")[0].1, "a file starts with `//!`");
    }

    #[test]
    fn a_wide_comment_fails() {
        let page = |line: &str| format!("//! D.\n{line}\nfn f() {{}}\n");
        let wide = |columns| format!("    // {}", "é".repeat(columns - 7));
        assert_eq!(violations(&page(&wide(COLUMNS))), []);
        assert_eq!(violations(&page(&wide(COLUMNS + 1)))[0].0, 2);
        let row = format!("/// | {} |", "x".repeat(COLUMNS));
        assert_eq!(violations(&page(&row)), []);
        let text = format!("const C: &str = \"\n{}\";", wide(COLUMNS + 1));
        assert_eq!(violations(&page(&text)), []);
    }

    #[test]
    fn the_sizes_have_bounds() {
        let body = |lines: usize| "    f();\n".repeat(lines);
        let fits = format!(
            "//! D.\nfn f() {{\n{}\n// no code\n}}\n",
            body(FUNCTION - 2)
        );
        assert_eq!(violations(&fits), []);
        let long = format!(
            "//! D.\ntrait T {{ fn f() {{\n{}}} }}\n",
            body(FUNCTION - 1)
        );
        assert_eq!(violations(&long)[0].0, 2);
        let file = |lines: usize| format!("//! D.\n{}", "fn f() {}\n\n".repeat(lines));
        assert_eq!(violations(&file(FILE)), []);
        assert_eq!(violations(&file(FILE + 1)).len(), 1);
    }

    #[test]
    fn unfinished_code_fails() {
        let text = "//! D.\nfn f() { todo!() }\nfn g() { std::unimplemented!() }\n#[ignore]\n\
            fn h() {}\n#[ignore = \"slow\"]\nfn i() {}\n/// ```ignore\n/// ```\nfn j() {}\n";
        let lines: Vec<usize> = violations(text).iter().map(|v| v.0).collect();
        assert_eq!(lines, [2, 3, 4, 6, 8]);
    }

    #[test]
    fn pages_have_a_bound() {
        assert_eq!(bounded("a.md", &"x\n".repeat(3), 3), None);
        for text in ["x\n".repeat(4), String::new()] {
            assert_eq!(bounded("a.md", &text, 3).unwrap().place, "a.md");
        }
    }
}
