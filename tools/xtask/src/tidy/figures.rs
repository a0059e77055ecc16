//! What the libraries amount to, as a table: size, unsafety, surface and conditions of each crate.
//!
//! `tidy --figures` prints it for this tree, `tidy --figures PATH` for another checkout, so that a
//! rebuilding can be judged by numbers. Items under `#[cfg(test)]` count as tests, not as code.

use std::collections::BTreeSet;

use crate::tidy::source::{Source, Token};

/// The folders with the sources of the libraries.
const LIBRARIES: [&str; 10] = [
    "fibre-core/src",
    "fibre-sync/src",
    "fibre-io/src",
    "fibre-inspect/src",
    "exts/actors/src",
    "exts/events/src",
    "exts/tasks/src",
    "exts/hyper/src",
    "fibre-capi/src",
    "src",
];

/// How a safety comment begins.
const SAFETY: &str = "SAFETY:";

/// What some files amount to.
#[derive(Debug, Default, PartialEq, Eq)]
struct Figures {
    /// Files.
    files: usize,
    /// Code lines outside of test items.
    code: usize,
    /// Code lines of test items.
    tests: usize,
    /// Lines of comments, documentation included.
    comments: usize,
    /// `unsafe { … }`, outside of test items.
    unsafe_blocks: usize,
    /// The different texts of safety comments, outside of test items.
    safety: BTreeSet<String>,
    /// Items and fields that are `pub` without a restriction.
    public: usize,
    /// Conditions of compilation other than `test`.
    conditions: usize,
}

impl Figures {
    /// What one file amounts to.
    fn of(source: &Source) -> Self {
        let is_code = |token: &&Token| !source.is_test_line(token.line);
        let tokens: Vec<&Token> = source.tokens.iter().filter(is_code).collect();
        let all = source.code_lines(0..=usize::MAX);
        let code: BTreeSet<usize> = tokens.iter().map(|token| token.line).collect();
        let pairs = |first: &str, then: &dyn Fn(&str) -> bool| {
            let pairs = tokens.windows(2);
            pairs
                .filter(|pair| pair[0].text == first && then(&pair[1].text))
                .count()
        };
        let conditions = tokens.windows(4).filter(|four| {
            let texts: Vec<&str> = four.iter().map(|token| token.text.as_str()).collect();
            let attribute = texts[..2] == ["[", "cfg"] || texts[..2] == ["[", "cfg_attr"];
            let asked = texts[..2] == ["cfg", "!"];
            (attribute || asked) && texts[3] != "test"
        });
        Self {
            files: 1,
            code: code.len(),
            tests: all.saturating_sub(code.len()),
            comments: comment_lines(source).count(),
            unsafe_blocks: pairs("unsafe", &|next| next == "{"),
            safety: safety_texts(source).into_iter().collect(),
            public: pairs("pub", &|next| next != "("),
            conditions: conditions.count(),
        }
    }

    /// Adds those of other files.
    fn add(&mut self, other: Self) {
        self.files += other.files;
        self.code += other.code;
        self.tests += other.tests;
        self.comments += other.comments;
        self.unsafe_blocks += other.unsafe_blocks;
        self.safety.extend(other.safety);
        self.public += other.public;
        self.conditions += other.conditions;
    }

    /// One row of the table.
    fn row(&self, name: &str) -> String {
        // Conditions per 100 lines with one decimal, without floating point.
        let tenths = (1000 * self.conditions).checked_div(self.code).unwrap_or(0);
        format!(
            "| {name} | {} | {} | {} | {} | {} | {} | {} | {}.{} |\n",
            self.files,
            self.code,
            self.tests,
            self.comments,
            self.unsafe_blocks,
            self.safety.len(),
            self.public,
            tenths / 10,
            tenths % 10
        )
    }
}

/// The table for these sources.
pub(crate) fn table(sources: &[Source]) -> String {
    let mut table = String::from(
        "| crate | files | code lines | test lines | comment lines | unsafe blocks | safety texts | pub | cfg per 100 |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    let mut all = Figures::default();
    for library in LIBRARIES {
        let mut figures = Figures::default();
        for source in sources.iter().filter(|source| source.is_below(library)) {
            figures.add(Figures::of(source));
        }
        table += &figures.row(library);
        all.add(figures);
    }
    table += &all.row("all");
    table
}

/// The lines that are comments and nothing else, without their marks.
fn comment_lines(source: &Source) -> impl Iterator<Item = &str> {
    let lines = source.text.lines().enumerate();
    lines.filter_map(|(index, line)| {
        let comment = line.trim_start().strip_prefix("//")?;
        let comment = comment.trim_start_matches(['/', '!']).trim();
        (!source.is_inside_literal(index + 1)).then_some(comment)
    })
}

/// The texts of the safety comments outside of test items, each on one line.
fn safety_texts(source: &Source) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    let mut open = false;
    for (index, line) in source.text.lines().enumerate() {
        let comment = line.trim_start().strip_prefix("// ");
        let begins = comment.and_then(|text| text.strip_prefix(SAFETY));
        match (begins, comment, texts.last_mut()) {
            (Some(text), ..) if !source.is_test_line(index + 1) => {
                texts.push(text.trim().to_owned());
                open = true;
            }
            (None, Some(text), Some(last)) if open => {
                last.push(' ');
                last.push_str(text.trim());
            }
            _ => open = false,
        }
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "//! Story.\n\
        /// Docs.\n\
        #[cfg(loom)]\n\
        pub struct A;\n\
        #[cfg(not(loom))]\n\
        pub(crate) fn f() {\n\
        \x20   // SAFETY: by the\n\
        \x20   // caller.\n\
        \x20   unsafe { g() };\n\
        \x20   // SAFETY: by the caller.\n\
        \x20   unsafe { g() };\n\
        }\n\
        /// # Safety\n\
        unsafe fn g() {}\n\
        #[cfg(test)]\n\
        mod tests {\n\
        \x20   pub fn h() { unsafe { super::g() } }\n\
        }\n";

    #[test]
    fn a_file_is_counted() {
        let figures = Figures::of(&Source::parse("src/a.rs", TEXT).unwrap());
        assert_eq!((figures.code, figures.tests), (8, 4));
        assert_eq!((figures.unsafe_blocks, figures.safety.len()), (2, 1));
        assert_eq!((figures.public, figures.conditions), (1, 2));
        assert_eq!(figures.comments, 6);
    }

    #[test]
    fn the_table_adds_up() {
        let of = |path| Source::parse(path, TEXT).unwrap();
        let table = table(&[of("src/a.rs"), of("fibre-io/src/b.rs"), of("tests/c.rs")]);
        let row = |name: &str| {
            let row = table.lines().find(|line| line.starts_with(name));
            row.unwrap_or_default().to_owned()
        };
        assert_eq!(row("| src "), "| src | 1 | 8 | 4 | 6 | 2 | 1 | 1 | 25.0 |");
        assert_eq!(
            row("| all "),
            "| all | 2 | 16 | 8 | 12 | 4 | 1 | 2 | 25.0 |"
        );
    }
}
