//! The English of comments and pages, as far as a program can judge it: a sentence names its actor,
//! and a line of documentation says of what it speaks.
//!
//! * [`openings`]: no sentence opens with a relative `Who`: the reader looks for its verb. A
//!   question may. This holds for Rust, C and Markdown; code in backticks and fences is no prose.
//! * [`headless`]: the only line of an item's or a field's documentation has a word of its own. So
//!   it neither consists of pronouns and the like ("One more."), nor opens with a preposition
//!   ("Of its step."), nor hangs on a pronoun ("Those that found none."). Variants are left alone,
//!   as their names are what such a line goes on from, and so are tests, which tell a situation.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{
    Attribute, Expr, Field, ImplItemConst, ImplItemFn, Item, Lit, Meta, TraitItemConst,
    TraitItemFn, TraitItemType,
};

use crate::tidy::source::{self, Source, Violation};

/// A file with prose in it.
pub(crate) struct Page {
    /// Its path relative to the root, with `/`.
    pub(super) path: String,
    /// The lines of prose, each with its number. Other lines are empty, and so separate paragraphs.
    pub(super) lines: Vec<(usize, String)>,
    /// The lines of a page that are too wide, each with its columns.
    pub(super) wide: Vec<(usize, usize)>,
}

/// Columns of a line of Markdown, at most. Rows of tables and lines of one word cannot be wrapped.
pub(super) const COLUMNS: usize = 120;

/// The languages with prose, by what their files' names end with.
const LANGUAGES: [(&str, Language); 4] = [
    ("rs", Language::Rust),
    ("c", Language::C),
    ("h", Language::C),
    ("md", Language::Markdown),
];

/// How prose is told from code.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    /// Comments over whole lines.
    Rust,
    /// Both kinds of comments.
    C,
    /// Everything but fences.
    Markdown,
}

/// Reads all files with prose below the root.
pub(crate) fn read_all(root: &Path) -> Result<Vec<Page>> {
    let mut pages = Vec::new();
    for path in source::walk(root) {
        let path = path?;
        let ending = path.extension().and_then(|ending| ending.to_str());
        let language = LANGUAGES.iter().find(|(of, _)| Some(*of) == ending);
        if let Some((_, language)) = language {
            let text = fs::read_to_string(&path)
                .with_context(|| format!("cannot read {}", path.display()))?;
            let path = path.strip_prefix(root)?.to_string_lossy();
            pages.push(Page::new(&path, &text, *language));
        }
    }
    Ok(pages)
}

impl Page {
    /// The prose of a file's text.
    pub(super) fn new(path: &str, text: &str, language: Language) -> Self {
        let (mut lines, mut wide) = (Vec::new(), Vec::new());
        let (mut fenced, mut in_comment) = (false, false);
        let (mut indented, mut was_empty) = (false, true);
        for (index, line) in text.lines().enumerate() {
            let prose = match language {
                Language::Rust => line.trim_start().strip_prefix("//"),
                Language::C => c_comment(line, &mut in_comment),
                Language::Markdown => {
                    // A block of code may be indented instead of fenced.
                    indented = line.starts_with("    ") && (indented || was_empty);
                    was_empty = line.trim().is_empty();
                    Some(line).filter(|_| fenced || !indented)
                }
            };
            let prose = prose.map(|prose| match language {
                Language::Markdown => prose,
                Language::Rust => prose.trim_start_matches(['/', '!']),
                Language::C => prose.trim_start_matches(['/', '!', '*']),
            });
            let fence = prose.is_some_and(|prose| prose.trim_start().starts_with("```"));
            fenced = match prose {
                Some(_) => fenced != fence,
                // The end of a comment ends whatever was open in it.
                None => false,
            };
            let prose = prose.filter(|_| !fenced && !fence).unwrap_or_default();
            let columns = prose.chars().count();
            if language == Language::Markdown && columns > COLUMNS && can_be_wrapped(prose) {
                wide.push((index + 1, columns));
            }
            lines.push((index + 1, without_code(prose)));
        }
        Self {
            path: path.to_owned(),
            lines,
            wide,
        }
    }

    /// The sentence that begins at this byte of this line, up to its mark or the paragraph's end.
    fn sentence(&self, index: usize, start: usize) -> String {
        let rest = self.lines[index + 1..].iter();
        let rest = rest.map(|(_, line)| line.trim());
        let first = std::iter::once(&self.lines[index].1[start..]);
        let paragraph: Vec<&str> = first.chain(rest).take_while(|l| !l.is_empty()).collect();
        let paragraph = paragraph.join(" ");
        let mut ends = paragraph.match_indices(['.', '!', '?']);
        let end = ends.find(|(at, _)| {
            let after = &paragraph[at + 1..];
            after.is_empty() || after.starts_with([' ', '"', ')'])
        });
        let end = end.map_or(paragraph.len(), |(at, mark)| at + mark.len());
        paragraph[..end].to_owned()
    }
}

/// Whether a line of Markdown can go on in the next one: it is not a row of a table, a picture, or
/// one word.
fn can_be_wrapped(line: &str) -> bool {
    let words = line.split_whitespace().filter(|word| word.len() > 1);
    !line.starts_with(['|', '!']) && words.count() > 1
}

/// The part of a line of C that lies in a comment.
fn c_comment<'a>(line: &'a str, in_comment: &mut bool) -> Option<&'a str> {
    let opened = match (line.find("/*"), line.find("//")) {
        _ if *in_comment => Some(0),
        (Some(at), _) => Some(at + 2),
        (None, at) => return at.map(|at| &line[at..]),
    };
    let comment = &line[opened?..];
    let end = comment.find("*/");
    *in_comment = end.is_none();
    Some(&comment[..end.unwrap_or(comment.len())])
}

/// The line with a backtick in place of what stands in backticks.
fn without_code(line: &str) -> String {
    let parts = line.split('`').enumerate();
    let prose = parts.filter(|(index, _)| index % 2 == 0);
    let prose: Vec<&str> = prose.map(|(_, part)| part).collect();
    prose.join("`")
}

/// No sentence opens with `Who` or `Whom`, unless it asks.
pub(crate) fn openings(pages: &[Page]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for page in pages {
        for (index, (number, line)) in page.lines.iter().enumerate() {
            let words = line.split(|c: char| !c.is_alphanumeric());
            for word in words.filter(|word| matches!(*word, "Who" | "Whom")) {
                let start = word.as_ptr().addr() - line.as_ptr().addr();
                if !page.sentence(index, start).ends_with('?') {
                    violations.push(Violation {
                        place: page.path.clone(),
                        line: *number,
                        text: format!("a sentence opens with \"{word}\": name the actor"),
                    });
                }
            }
        }
    }
    violations
}

/// Words that say nothing without another one.
const CLOSED: &str =
    "a an the this that these those it itself its they them their he his him we our
    ours us you your one ones two another other others all both each every either neither none
    nobody nothing something somebody everything everybody anything anybody any some such same many
    much more most less few fewer least enough no not yet still now then there here so too also
    again else just only ever never once already of for with from by to in on at as into out without
    until since while up down above below before after than between is are be was has have had will
    may must do did and or but if when where how which what who whom whose why whether see first
    last next";

/// What a question or a clause begins with that is a fine line if it goes on: "How many there are."
const QUESTIONS: [&str; 8] = [
    "How", "What", "When", "Where", "Whether", "Which", "Whose", "Why",
];

/// What an opening of two words is, if it leaves the reader to find what is meant.
const PREPOSITIONS: [&str; 13] = [
    "As", "At", "Between", "By", "For", "From", "In", "Into", "Of", "Since", "To", "With",
    "Without",
];

/// Pronouns that a line hangs on if one of [`HOOKS`] follows.
const PRONOUNS: [&str; 9] = [
    "Another", "Any", "More", "Nobody", "None", "Nothing", "One", "Some", "Those",
];

/// What hangs on a pronoun.
const HOOKS: [&str; 10] = [
    "by", "for", "from", "more", "that", "which", "who", "with", "without", "yet",
];

/// The only line of an item's documentation says of what it speaks.
pub(crate) fn headless(sources: &[Source]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for source in sources {
        let mut docs = Docs::default();
        docs.visit_file(&source.syntax);
        let headless = docs.single.iter().filter(|(_, doc)| is_headless(doc));
        violations.extend(headless.map(|(line, doc)| {
            source.violation(*line, format!("documentation without a head: \"{doc}\""))
        }));
    }
    violations
}

/// Whether a line has no word that it is about.
fn is_headless(doc: &str) -> bool {
    let words: Vec<&str> = doc
        .split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '\'' | '`' | '[')))
        .filter(|word| !word.is_empty())
        .collect();
    let closed = |word: &&str| {
        let word = word.to_lowercase();
        CLOSED.split_whitespace().any(|closed| closed == word)
    };
    let (first, second) = match *words {
        [] => return true,
        [first] => (first, ""),
        [first, second, ..] => (first, second),
    };
    if QUESTIONS.contains(&first) && words.len() > 2 {
        return false;
    }
    let asks = QUESTIONS.iter().any(|word| word.to_lowercase() == second);
    let measures = matches!(second, "many" | "much" | "most" | "least");
    words.iter().all(closed)
        || PREPOSITIONS.contains(&first) && !asks && !measures && !doc.contains([',', ':'])
        || PRONOUNS.contains(&first) && HOOKS.contains(&second)
        || (first, second) == ("Those", "of")
}

/// Collects the documentation of items and fields that is one line.
#[derive(Default)]
struct Docs {
    /// Each with its line.
    single: Vec<(usize, String)>,
}

impl Docs {
    /// Looks at the attributes of one item.
    fn look(&mut self, attributes: &[Attribute]) {
        if attributes.iter().any(|a| a.path().is_ident("test")) {
            return;
        }
        let mut docs = attributes.iter().filter_map(|attribute| {
            let Meta::NameValue(pair) = &attribute.meta else {
                return None;
            };
            let Expr::Lit(literal) = &pair.value else {
                return None;
            };
            let Lit::Str(text) = &literal.lit else {
                return None;
            };
            let line = attribute.span().start().line;
            (pair.path.is_ident("doc")).then(|| (line, text.value().trim().to_owned()))
        });
        if let (Some(doc), None) = (docs.next(), docs.next()) {
            self.single.push(doc);
        }
    }
}

impl<'ast> Visit<'ast> for Docs {
    fn visit_item(&mut self, item: &'ast Item) {
        self.look(source::item_attributes(item));
        visit::visit_item(self, item);
    }

    fn visit_field(&mut self, field: &'ast Field) {
        self.look(&field.attrs);
    }

    // The fields of a variant go on from its name, too.
    fn visit_variant(&mut self, _: &'ast syn::Variant) {}

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        self.look(&function.attrs);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_impl_item_const(&mut self, constant: &'ast ImplItemConst) {
        self.look(&constant.attrs);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast TraitItemFn) {
        self.look(&function.attrs);
        visit::visit_trait_item_fn(self, function);
    }

    fn visit_trait_item_const(&mut self, constant: &'ast TraitItemConst) {
        self.look(&constant.attrs);
    }

    fn visit_trait_item_type(&mut self, associated: &'ast TraitItemType) {
        self.look(&associated.attrs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines with sentences that open as they should not.
    fn opening_lines(text: &str, language: Language) -> Vec<usize> {
        let pages = [Page::new("a", text, language)];
        openings(&pages).iter().map(|v| v.line).collect()
    }

    #[test]
    fn sentences_that_open_with_who_fail() {
        let rust = "//! Who writes it.\n\n// It ends. Who waits\n// goes on.\nlet a = 1;\n";
        assert_eq!(opening_lines(rust, Language::Rust), [1, 3]);
        let c =
            "/* Who runs. */\nint a; /* Told\n * to all. Whom it\n * serves. */\n// Who else.\n";
        assert_eq!(opening_lines(c, Language::C), [1, 3, 5]);
        let page = "# Who is measured\n\n* Who waits, waits.\n";
        assert_eq!(opening_lines(page, Language::Markdown), [1, 3]);
    }

    #[test]
    fn questions_and_code_may_open_with_who() {
        let rust = "// Who knows\n// it? The one who waits. Whoever does.\nlet a = \"Who\";\n\
            \n/// ```\n/// // Who runs.\n/// ```\n/// `Who` is here.\nfn f() {}\n";
        assert!(opening_lines(rust, Language::Rust).is_empty());
        let c = "char *a = \"Who\"; /* The \n * one. */ char *b = \"Who\";\n";
        assert!(opening_lines(c, Language::C).is_empty());
        let page = "Who knows?\n\n```\nWho\n```\n`Who`\n";
        assert!(opening_lines(page, Language::Markdown).is_empty());
    }

    #[test]
    fn lines_without_a_head_fail() {
        for doc in [
            "One more.",
            "Nobody.",
            "Of its step.",
            "How many.",
            "See above.",
            "Those that found none.",
            "Those of Rust code.",
            "One without permits.",
            "With the lock given back too early.",
            "As C sees it.",
        ] {
            assert!(is_headless(doc), "{doc}");
        }
    }

    #[test]
    fn lines_with_a_head_pass() {
        for doc in [
            "Its id.",
            "How many there are.",
            "In which settings to run.",
            "One of the signals, if one has come.",
            "In debug builds, panics if the caller has the mutex.",
            "See [`Other`].",
            "`SIG_HOLD`.",
            "Adds one.",
        ] {
            assert!(!is_headless(doc), "{doc}");
        }
    }

    #[test]
    fn docs_of_items_and_fields_are_looked_at() {
        let text = "//! D.\n/// One more.\nfn f() {}\nstruct S {\n    /// Ours.\n    a: u8,\n}\n\
            enum E {\n    /// Nothing.\n    None,\n}\n/// All.\n#[test]\nfn g() {}\n\
            /// One.\n///\n/// More of it.\ntrait T {\n    /// None.\n    fn h();\n}\n";
        let sources = [Source::parse("a.rs", text).unwrap()];
        let lines: Vec<usize> = headless(&sources).iter().map(|v| v.line).collect();
        assert_eq!(lines, [2, 5, 19]);
    }
}
