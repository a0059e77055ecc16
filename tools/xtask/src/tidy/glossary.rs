//! The words of names: a room of a crate, and a type of fibre-core that other modules see, is named
//! by words of the field (tools/xtask/field-words.txt) or by words that docs/GLOSSARY.md explains.
//!
//! So a reader who meets an unknown word in a name finds it there, and whoever invents one has to
//! say what it means, or finds that the field has a word for it. The rule knows words, not senses:
//! a word of the field that is used in a sense of our own has to be put into the glossary by hand.
//!
//! Nobody learns a long list of words, so the glossary is bounded.

use std::collections::BTreeSet;

use syn::visit::{self, Visit};
use syn::{Ident, Item, Visibility};

use crate::tidy::rooms::Rooms;
use crate::tidy::source::{Source, Violation, is_test_only, item_attributes};

/// The page that explains words.
pub(crate) const PATH: &str = "docs/GLOSSARY.md";

/// The words that need no explanation.
pub(crate) const FIELD: &str = "tools/xtask/field-words.txt";

/// The crate with the types that are looked at.
const TYPES: &str = "fibre-core/src";

/// Rows of the glossary, at most.
const ROWS: usize = 60;

/// The glossary is no longer than a reader can be asked to learn.
pub(crate) fn bounded(glossary: &str) -> Option<Violation> {
    let rows = rows(glossary).count();
    (rows > ROWS).then(|| Violation {
        place: PATH.into(),
        line: 0,
        text: format!("{rows} words, at most {ROWS}: use the field's words, or fewer names"),
    })
}

/// The words of each row of the glossary's table, without its head.
fn rows(glossary: &str) -> impl Iterator<Item = &str> {
    let rows = glossary.lines().filter_map(|line| line.strip_prefix("| "));
    let words = rows.filter_map(|row| row.split(" |").next());
    words.filter(|words| *words != "word")
}

/// The words that names may have.
pub(crate) struct Words(BTreeSet<String>);

impl Words {
    /// Those of the field, which are separated by spaces and lines, and those in the first column
    /// of the glossary's table.
    pub(crate) fn new(field: &str, glossary: &str) -> Self {
        let field = field.split_whitespace().map(str::to_owned);
        let explained = rows(glossary);
        let explained = explained.flat_map(|words| words.split(", ").map(str::to_owned));
        Self(field.chain(explained).collect())
    }

    /// Checks the names of these rooms.
    pub(crate) fn check_rooms(&self, folder: &str, rooms: &Rooms<'_>) -> Vec<Violation> {
        let names = rooms.arrows().map(|(room, _)| room);
        let unknown = names.flat_map(|room| self.unknown(room).map(move |word| (room, word)));
        unknown
            .map(|(room, word)| Violation {
                place: format!("{folder}/src"),
                line: 0,
                text: complaint(room, &word),
            })
            .collect()
    }

    /// Checks the names of types.
    pub(crate) fn check_types(&self, sources: &[Source]) -> Vec<Violation> {
        let mut violations = Vec::new();
        for source in sources.iter().filter(|source| source.is_below(TYPES)) {
            let mut types = Types::default();
            types.visit_file(&source.syntax);
            for (name, line) in types.0 {
                let words = self.unknown(&name);
                violations
                    .extend(words.map(|word| source.violation(line, complaint(&name, &word))));
            }
        }
        violations
    }

    /// The words of a name that are neither known nor the plural of a known one.
    fn unknown(&self, name: &str) -> impl Iterator<Item = String> {
        let words = words_of(name).into_iter();
        words.filter(|word| {
            let singular = word.strip_suffix('s').unwrap_or(word);
            !self.0.contains(word) && !self.0.contains(singular)
        })
    }
}

/// What is wrong with a name that has an unknown word.
fn complaint(name: &str, word: &str) -> String {
    format!("`{name}`: explain `{word}` in {PATH}, or use a word of the field ({FIELD})")
}

/// The words of a name in snake case or camel case, in lower case.
fn words_of(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for letter in name.chars() {
        if letter == '_' || letter.is_uppercase() {
            words.push(String::new());
        }
        if letter != '_' {
            words
                .last_mut()
                .unwrap_or(&mut String::new())
                .extend(letter.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Collects the names of types that other modules see, with their lines.
#[derive(Default)]
struct Types(Vec<(String, usize)>);

impl Types {
    /// Enters one type.
    fn add(&mut self, name: &Ident, visibility: &Visibility) {
        if !matches!(visibility, Visibility::Inherited) {
            self.0.push((name.to_string(), name.span().start().line));
        }
    }
}

impl<'ast> Visit<'ast> for Types {
    fn visit_item(&mut self, item: &'ast Item) {
        if is_test_only(item_attributes(item)) {
            return;
        }
        match item {
            Item::Enum(item) => self.add(&item.ident, &item.vis),
            Item::Struct(item) => self.add(&item.ident, &item.vis),
            Item::Trait(item) => self.add(&item.ident, &item.vis),
            Item::Union(item) => self.add(&item.ident, &item.vis),
            _ => {}
        }
        visit::visit_item(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::modules;

    /// A list of the field, and a glossary.
    fn words() -> Words {
        Words::new(
            "queue lock\nwait",
            "| word | meaning |\n|---|---|\n| driver, halt | how |\n",
        )
    }

    /// What the types of a file break.
    fn of_types(text: &str) -> Vec<String> {
        let sources = [Source::parse("fibre-core/src/a.rs", text).unwrap()];
        let found = words().check_types(&sources).into_iter();
        found.map(|violation| violation.text).collect()
    }

    #[test]
    fn known_words_pass() {
        assert!(
            of_types("pub struct WaitQueue; pub(crate) enum Halt {} pub trait Locks {}").is_empty()
        );
        assert!(of_types("struct Whereabouts; #[cfg(test)] mod t { pub struct Foo; }").is_empty());
    }

    /// The head of the table is no row of it, and no word that names may have.
    #[test]
    fn a_long_glossary_fails() {
        let page = |rows| {
            format!(
                "| word | meaning |\n|---|---|\n{}",
                "| a | b |\n".repeat(rows)
            )
        };
        assert!(bounded(&page(ROWS)).is_none());
        let found = bounded(&page(ROWS + 1)).unwrap();
        assert!(found.text.starts_with("61 words, at most 60"));
        assert_eq!(of_types("pub struct Word;").len(), 1);
    }

    #[test]
    fn an_unknown_word_fails() {
        let found = of_types("mod a { pub struct MoodQueue; }");
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("`MoodQueue`: explain `mood`"));
    }

    #[test]
    fn rooms_have_known_words() {
        let sources = ["lib.rs", "wait_queue.rs", "attic/mod.rs"]
            .map(|file| Source::parse(&format!("a/src/{file}"), "").unwrap());
        let rooms = Rooms::new("a", &sources, &modules::imports(&sources, "a")[0]);
        let found = words().check_rooms("a", &rooms);
        assert_eq!(found.len(), 1);
        assert!(found[0].text.contains("`attic`"));
    }

    #[test]
    fn names_are_split_into_words() {
        assert_eq!(words_of("WaitObject"), ["wait", "object"]);
        assert_eq!(words_of("cpu_set"), ["cpu", "set"]);
        assert_eq!(words_of("Nemesis"), ["nemesis"]);
    }
}
