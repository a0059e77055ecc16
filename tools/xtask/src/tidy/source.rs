//! A source file as the rules see it: its text, its tokens without comments, its syntax tree.
//!
//! *Code lines* are the lines that some token touches; comments, also documentation, are no tokens
//! here. *Test lines* are those of items under `#[cfg(test)]`.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use proc_macro2::{Span, TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Item, Meta};
use walkdir::{DirEntry, WalkDir};

/// One broken rule at one place.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    /// The file relative to the root, or another name of the place.
    pub(crate) place: String,
    /// The line, 0 if the whole file is meant.
    pub(crate) line: usize,
    /// What is wrong.
    pub(crate) text: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.place, self.text),
            line => write!(f, "{}:{line}: {}", self.place, self.text),
        }
    }
}

/// One token: an identifier, a literal, a bracket or a punctuation character.
pub(crate) struct Token {
    /// Its text.
    pub(crate) text: String,
    /// The line it starts on.
    pub(crate) line: usize,
    /// The line it ends on, later than `line` for long literals.
    last_line: usize,
}

/// One parsed file.
pub(crate) struct Source {
    /// Its path relative to the root, with `/`.
    pub(crate) path: String,
    /// Its whole text.
    pub(crate) text: String,
    /// Its tokens in order, without comments.
    pub(crate) tokens: Vec<Token>,
    /// Its syntax tree.
    pub(crate) syntax: syn::File,
    /// The lines of items under `#[cfg(test)]`.
    test_lines: Vec<RangeInclusive<usize>>,
}

impl Source {
    /// Parses one file.
    pub(crate) fn parse(path: &str, text: &str) -> Result<Self> {
        let syntax = syn::parse_file(text).with_context(|| format!("cannot parse {path}"))?;
        let stream: TokenStream = text
            .parse()
            .map_err(|error| anyhow::anyhow!("cannot read {path} as tokens: {error}"))?;
        let lines: Vec<&str> = text.lines().collect();
        let mut tokens = Vec::new();
        flatten(stream, &lines, &mut tokens);
        let mut tests = TestItems::default();
        tests.visit_file(&syntax);
        Ok(Self {
            path: path.to_owned(),
            text: text.to_owned(),
            tokens,
            syntax,
            test_lines: tests.lines,
        })
    }

    /// How many lines of code lie in this range.
    pub(crate) fn code_lines(&self, range: RangeInclusive<usize>) -> usize {
        self.tokens
            .iter()
            .flat_map(|token| token.line..=token.last_line)
            .filter(|line| range.contains(line))
            .collect::<BTreeSet<_>>()
            .len()
    }

    /// Whether the line is inside a literal that began on an earlier one.
    pub(crate) fn is_inside_literal(&self, line: usize) -> bool {
        let around = |token: &Token| token.line < line && line <= token.last_line;
        self.tokens.iter().any(around)
    }

    /// Whether the line belongs to an item under `#[cfg(test)]`.
    pub(crate) fn is_test_line(&self, line: usize) -> bool {
        self.test_lines.iter().any(|range| range.contains(&line))
    }

    /// Whether the file lies below this folder.
    pub(crate) fn is_below(&self, folder: &str) -> bool {
        Path::new(&self.path).starts_with(folder)
    }

    /// A violation at a line of this file.
    pub(crate) fn violation(&self, line: usize, text: impl Into<String>) -> Violation {
        Violation {
            place: self.path.clone(),
            line,
            text: text.into(),
        }
    }
}

/// Parses all Rust files below the root, in the order of their paths.
pub(crate) fn read_all(root: &Path) -> Result<Vec<Source>> {
    let mut sources = Vec::new();
    for path in walk(root) {
        let path = path?;
        if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path)
                .with_context(|| format!("cannot read {}", path.display()))?;
            let path = path.strip_prefix(root)?.to_string_lossy();
            sources.push(Source::parse(&path, &text)?);
        }
    }
    Ok(sources)
}

/// All files of ours below the root, in the order of their paths.
pub(crate) fn walk(root: &Path) -> impl Iterator<Item = walkdir::Result<PathBuf>> {
    let walk = WalkDir::new(root).sort_by_file_name().into_iter();
    let ours = walk.filter_entry(|entry| entry.depth() == 0 || is_ours(entry));
    let files = ours.filter(|entry| !entry.as_ref().is_ok_and(|e| e.file_type().is_dir()));
    files.map(|entry| entry.map(DirEntry::into_path))
}

/// Neither a hidden folder nor a build directory.
fn is_ours(entry: &DirEntry) -> bool {
    let name = entry.file_name().to_string_lossy();
    !(name.starts_with('.') || entry.file_type().is_dir() && name == "target")
}

/// Whether an item is compiled for tests only: `cfg(test)`, or `cfg(all(test, …))`.
pub(crate) fn is_test_only(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let Meta::List(list) = &attribute.meta else {
            return false;
        };
        let condition = list.tokens.to_string();
        list.path.is_ident("cfg") && (condition == "test" || condition.starts_with("all (test ,"))
    })
}

/// Appends the tokens of the stream in order, brackets included, comments left out.
fn flatten(stream: TokenStream, lines: &[&str], tokens: &mut Vec<Token>) {
    for tree in stream {
        if is_comment(tree.span(), lines) {
            continue;
        }
        match tree {
            TokenTree::Group(group) => {
                let text = group.to_string();
                let bracket = |c: Option<char>| c.map(String::from).unwrap_or_default();
                push(bracket(text.chars().next()), group.span_open(), tokens);
                flatten(group.stream(), lines, tokens);
                push(bracket(text.chars().last()), group.span_close(), tokens);
            }
            TokenTree::Ident(ident) => push(ident.to_string(), ident.span(), tokens),
            TokenTree::Punct(punct) => push(punct.as_char().to_string(), punct.span(), tokens),
            TokenTree::Literal(literal) => push(literal.to_string(), literal.span(), tokens),
        }
    }
}

/// Appends one token.
fn push(text: String, span: Span, tokens: &mut Vec<Token>) {
    tokens.push(Token {
        text,
        line: span.start().line,
        last_line: span.end().line,
    });
}

/// Whether the tokens at this place come from a documentation comment.
fn is_comment(span: Span, lines: &[&str]) -> bool {
    let start = span.start();
    let line = lines.get(start.line - 1).copied().unwrap_or_default();
    let rest: String = line.chars().skip(start.column).take(2).collect();
    rest == "//" || rest == "/*"
}

/// Collects the line ranges of items under `#[cfg(test)]`.
#[derive(Default)]
struct TestItems {
    /// One range per item, nested ones not listed again.
    lines: Vec<RangeInclusive<usize>>,
}

impl<'ast> Visit<'ast> for TestItems {
    fn visit_item(&mut self, item: &'ast Item) {
        if is_test_only(item_attributes(item)) {
            let span = item.span();
            self.lines.push(span.start().line..=span.end().line);
        } else {
            visit::visit_item(self, item);
        }
    }
}

/// The attributes of an item of any kind.
pub(crate) fn item_attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::TraitAlias(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Six lines of code, one of them in a test.
    const TEXT: &str = "//! Module.\n\n/// Docs.\nfn f() {\n    // why\n    let _ = \"a\nb\";\n}\n\
        \n/* gone\n gone */\n#[cfg(test)]\nfn g() {}\n";

    #[test]
    fn comments_and_blank_lines_are_not_code() {
        let source = Source::parse("a.rs", TEXT).unwrap();
        assert_eq!(source.code_lines(1..=usize::MAX), 6);
        assert_eq!(source.code_lines(4..=8), 4);
    }

    #[test]
    fn test_items_are_known_by_line() {
        let source = Source::parse("a.rs", TEXT).unwrap();
        assert!(!source.is_test_line(4));
        assert!(source.is_test_line(13));
        let all = Source::parse("b.rs", "#[cfg(all(test, loom))] mod a { fn f() {} }").unwrap();
        assert!(all.is_test_line(1));
        let not = Source::parse("c.rs", "#[cfg(not(test))] mod a { fn f() {} }").unwrap();
        assert!(!not.is_test_line(1));
    }
}
