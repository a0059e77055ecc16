//! Turns of phrase that have to be read twice, as far as a program can find them, and lines that
//! are too wide to be read at all.
//!
//! Pages and the front pages of the crates have none of them. Elsewhere [`LIMITS`] says how many
//! are left of each kind in each folder. More are a violation, and so is a limit far above the
//! count: the numbers only fall. `tidy --phrases` lowers them.
//!
//! Code in backticks and fences is no prose. Reports and other pages that programs write are left
//! alone.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::tidy::prose::Page;
use crate::tidy::source::Violation;

/// The list of what is left: `folder kind count` on each line.
pub(crate) const LIMITS: &str = "tools/xtask/phrase-limits.txt";

/// How far a limit may lie above the count, so that two changes at a time do not collide.
const SLACK: usize = 10;

/// The places of an excess that are shown, at most.
const SHOWN: usize = 10;

/// How a kind of phrase is found: the words, and the place of the one that may end it.
type Find = fn(&[Word], usize) -> bool;

/// The kinds of phrases: their names, what to write instead, and how to find them.
const KINDS: [(&str, &str, Find); 7] = [
    (
        "relative",
        "a preposition before `which`, `whom` or `whose`: make it two sentences",
        |words, at| {
            let relative = ["which", "whom", "whose"].contains(&words[at].lower());
            relative && before(words, at).is_some_and(|word| PREPOSITIONS.contains(&word))
        },
    ),
    ("whose", "`whose`: say `with`, or `its`", |words, at| {
        words[at].lower() == "whose"
    }),
    ("none", "`is none`: say `is not a …`", |words, at| {
        let be = ["is", "are", "was", "were", "be"];
        let is_none = before(words, at).is_some_and(|word| be.contains(&word));
        // That there is none is plain English.
        let there = at.checked_sub(2).map(|there| words[there].text.as_str());
        let exists = ["there", "There"].map(Some).contains(&there);
        words[at].lower() == "none" && is_none && !exists
    }),
    (
        "vain",
        "`in vain`: say `failed`, or `for nothing`",
        |words, at| words[at].lower() == "vain" && before(words, at) == Some("in"),
    ),
    ("better", "`had better`: say `should`", |words, at| {
        words[at].lower() == "better" && before(words, at) == Some("had")
    }),
    (
        "module",
        "`See the module text`: say what it is",
        |words, at| {
            let phrase = ["see", "the", "module", "text"];
            words.get(at.wrapping_sub(3)..=at).is_some_and(|last| {
                let opens = last[0].opens && last[0].text == "See";
                let joined = opens && last[1..].iter().all(|word| word.joined);
                joined && last.iter().map(Word::lower).eq(phrase)
            })
        },
    ),
    (
        "has",
        "a sentence opens with `Has` and an object: say what is done",
        |words, at| {
            let verb = at.checked_sub(1).map(|verb| &words[verb]);
            let opens = verb.is_some_and(|verb| verb.opens && verb.text == "Has");
            opens && words[at].joined && OBJECTS.contains(&words[at].lower())
        },
    ),
];

/// The kinds that concern lines and not words.
const STRAY: (&str, &str) = ("stray", "an asterisk without its twin");
const WIDE: (&str, &str) = ("wide", "a line of more than 120 columns");

/// What makes a relative clause heavy.
const PREPOSITIONS: [&str; 33] = [
    "about", "above", "across", "after", "against", "along", "among", "around", "at", "before",
    "behind", "below", "beside", "between", "beyond", "by", "during", "for", "from", "in", "into",
    "of", "on", "over", "since", "through", "to", "towards", "under", "until", "upon", "with",
    "without",
];

/// What an object begins with, or is.
const OBJECTS: [&str; 23] = [
    "a",
    "all",
    "an",
    "another",
    "each",
    "every",
    "everybody",
    "everything",
    "him",
    "it",
    "its",
    "no",
    "nobody",
    "nothing",
    "others",
    "some",
    "that",
    "the",
    "them",
    "these",
    "this",
    "those",
    "what",
];

/// A word of prose.
struct Word {
    text: String,
    line: usize,
    /// Whether nothing but a blank lies between it and the word before.
    joined: bool,
    /// Whether it begins a sentence, a clause after a colon, or an item.
    opens: bool,
}

impl Word {
    /// The word, with a small letter at its begin.
    fn lower(&self) -> &str {
        // The few words that are looked for begin with a capital at the begin of a sentence only.
        match self.text.as_str() {
            "Whose" => "whose",
            "See" => "see",
            "In" => "in",
            "On" => "on",
            "By" => "by",
            "For" => "for",
            "From" => "from",
            "To" => "to",
            "With" => "with",
            "Of" => "of",
            "At" => "at",
            "After" => "after",
            text => text,
        }
    }
}

/// The word before this one, if the two belong together.
fn before(words: &[Word], at: usize) -> Option<&str> {
    let word = words.get(at.checked_sub(1)?)?;
    words[at].joined.then(|| word.lower())
}

/// The words of a page, in their order.
fn words(page: &Page) -> Vec<Word> {
    let mut words = Vec::new();
    // What lies between the word before and the next one.
    let mut gap = String::from(".");
    for (line, text) in &page.lines {
        if text.trim().is_empty() {
            gap.push('.');
        }
        gap.push(' ');
        let mut rest = text.as_str();
        if let Some(item) = rest.trim_start().strip_prefix(['*', '-', '|', '#']) {
            gap.push('.');
            rest = item;
        }
        while let Some(at) = rest.find(char::is_alphanumeric) {
            gap.push_str(&rest[..at]);
            rest = &rest[at..];
            let is_inside = |c: char| c.is_alphanumeric() || matches!(c, '\'' | '_');
            let end = rest.find(|c| !is_inside(c)).unwrap_or(rest.len());
            words.push(Word {
                text: rest[..end].to_owned(),
                line: *line,
                joined: gap.chars().all(|c| c == ' '),
                opens: gap.contains(['.', '!', '?', ':', ';', '|']),
            });
            gap.clear();
            rest = &rest[end..];
        }
        gap.push_str(rest);
    }
    words
}

/// The first lines of paragraphs with an asterisk too many, or one too few.
fn stray(page: &Page) -> Vec<usize> {
    let mut found = Vec::new();
    for paragraph in page.lines.split(|(_, text)| text.trim().is_empty()) {
        let lines: Vec<&str> = paragraph.iter().map(|(_, text)| text.as_str()).collect();
        let text = lines.join("\n");
        if text.contains("***") || text.matches("**").count() % 2 == 1 {
            found.extend(paragraph.first().map(|(line, _)| *line));
        }
    }
    found
}

/// The set that a file's limits belong to: a folder's, or those of all `pages` or `fronts`, which
/// are zero.
fn set_of(path: &str) -> Option<&str> {
    let written = path.starts_with("docs/results/");
    if written {
        return None;
    }
    let folder = path.split_once('/').map_or("", |(folder, _)| folder);
    if path.starts_with("docs/decisions/") {
        return Some("docs/decisions");
    }
    if path.ends_with(".md") {
        return Some("pages");
    }
    let is_root = path.strip_prefix(folder) == Some("/src/lib.rs");
    if is_root || ["src", "examples"].contains(&folder) {
        return Some("fronts");
    }
    Some(folder)
}

/// Where each kind of phrase is found, by set and kind.
type Found<'a> = BTreeMap<(&'a str, &'static str), Vec<(&'a str, usize)>>;

/// Finds the phrases of all pages.
fn find(pages: &[Page]) -> Found<'_> {
    let mut found = Found::new();
    for page in pages {
        let Some(set) = set_of(&page.path) else {
            continue;
        };
        let mut add = |kind, line| {
            let places = found.entry((set, kind)).or_default();
            places.push((page.path.as_str(), line));
        };
        let words = words(page);
        for (kind, _, find) in KINDS {
            let places = (0..words.len()).filter(|at| find(&words, *at));
            places.for_each(|at| add(kind, words[at].line));
        }
        if page.path.ends_with(".rs") || page.path.ends_with(".md") {
            stray(page).into_iter().for_each(|line| add(STRAY.0, line));
        }
        page.wide.iter().for_each(|(line, _)| add(WIDE.0, *line));
    }
    found
}

/// The limits of a list, by set and kind; or the number of an invalid line.
fn parse(limits: &str) -> Result<BTreeMap<(&str, &'static str), usize>, usize> {
    let mut parsed = BTreeMap::new();
    for (index, line) in limits.lines().enumerate() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let mut fields = line.split(' ');
        let (set, kind, count) = (fields.next(), fields.next(), fields.next());
        let kind = kind.and_then(|kind| kinds().find(|(name, _)| *name == kind));
        let count = count.and_then(|count| count.parse().ok());
        match (set, kind, count, fields.next()) {
            (Some(set), Some((kind, _)), Some(count), None) => {
                parsed.insert((set, kind), count);
            }
            _ => return Err(index + 1),
        }
    }
    Ok(parsed)
}

/// All kinds, with what to write instead.
fn kinds() -> impl Iterator<Item = (&'static str, &'static str)> {
    let words = KINDS.iter().map(|(kind, advice, _)| (*kind, *advice));
    words.chain([STRAY, WIDE])
}

/// No set has more phrases of a kind than its limit, and no limit lies far above the count.
pub(crate) fn check(pages: &[Page], limits: &str) -> Vec<Violation> {
    let list = |line, text: String| Violation {
        place: LIMITS.into(),
        line,
        text,
    };
    let mut limits = match parse(limits) {
        Ok(limits) => limits,
        Err(line) => return vec![list(line, "write `folder kind count`".into())],
    };
    let mut violations = Vec::new();
    for ((set, kind), places) in find(pages) {
        let limit = limits.remove(&(set, kind)).unwrap_or(0);
        let count = places.len();
        if count > limit {
            let advice = kinds().find(|(name, _)| *name == kind).map(|found| found.1);
            let advice = advice.unwrap_or_default();
            let text = format!("{advice} ({set}: {count} of them, at most {limit})");
            violations.extend(
                places
                    .iter()
                    .rev()
                    .take(SHOWN)
                    .map(|(place, line)| Violation {
                        place: (*place).to_owned(),
                        line: *line,
                        text: text.clone(),
                    }),
            );
        } else if count + SLACK < limit {
            violations.push(list(0, too_high(set, kind, count, limit)));
        }
    }
    let gone = limits.into_iter().filter(|(_, limit)| *limit > SLACK);
    violations.extend(gone.map(|((set, kind), limit)| list(0, too_high(set, kind, 0, limit))));
    violations
}

/// That a limit is to be lowered.
fn too_high(set: &str, kind: &str, count: usize, limit: usize) -> String {
    format!("`{set} {kind} {limit}`: only {count} are left; `cargo xtask tidy --phrases` lowers it")
}

/// The list with each limit lowered to the count. An empty list begins with the counts.
pub(crate) fn lowered(pages: &[Page], limits: &str) -> String {
    let old = parse(limits).unwrap_or_default();
    let mut list = String::from(
        "# The phrases that are left, by folder and kind (tools/xtask/src/tidy/phrases.rs). Numbers fall.\n",
    );
    for ((set, kind), places) in find(pages) {
        let limit = match old.get(&(set, kind)) {
            Some(limit) => places.len().min(*limit),
            None if old.is_empty() && !["pages", "fronts"].contains(&set) => places.len(),
            None => 0,
        };
        if limit > 0 {
            let _ = writeln!(list, "{set} {kind} {limit}");
        }
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::prose::Language;

    /// The kinds of phrases in a page of a set without limits, each with its line.
    fn kinds_of(path: &str, text: &str, language: Language) -> Vec<(&'static str, usize)> {
        let pages = [Page::new(path, text, language)];
        let mut found: Vec<_> = find(&pages)
            .into_iter()
            .flat_map(|((_, kind), places)| places.into_iter().map(move |(_, line)| (kind, line)))
            .collect();
        found.sort_by_key(|(_, line)| *line);
        found
    }

    #[test]
    fn each_kind_is_found() {
        let text = "//! The lock for which it waits, of\n//! which it knows.\n//!\n\
            //! Whose it is.\n//! A caller that is none waits in vain.\n//! You had better not.\n\
            //!\n//! See the module text.\n//! Has the next\n//! fibre run: Has it end.\n";
        let found = kinds_of("a/b.rs", text, Language::Rust);
        let expected = [
            ("relative", 1),
            ("relative", 2),
            ("whose", 4),
            ("none", 5),
            ("vain", 5),
            ("better", 6),
            ("module", 8),
            ("has", 9),
            ("has", 10),
        ];
        assert_eq!(found, expected);
        let wide = format!("{}\n{}\n", "word ".repeat(25), "x".repeat(130));
        assert_eq!(kinds_of("a.md", &wide, Language::Markdown), [("wide", 1)]);
        let stray = "//! * ***A**: b.\n//!\n//! **B* is\n//! c.\n//!\n//! **D** is *e*.\n";
        assert_eq!(
            kinds_of("a.rs", stray, Language::Rust),
            [("stray", 1), ("stray", 3)]
        );
    }

    #[test]
    fn what_only_looks_like_one_passes() {
        let text = "//! It waits for `a` which, in its turn, has the lock. It ends. Which one?\n\
            //! It knows what it waits for. Which it is, if there is none.\n//! The better, had it vain in.\n\
            //! A type that has the lock: see the module text.\nlet whose = \"in vain\";\n\
            /// ```\n/// // whose\n/// ```\n/// `whose` Has `the`.\n";
        assert_eq!(kinds_of("a/b.rs", text, Language::Rust), []);
        let wide = "x ".repeat(100);
        let row = format!("|{wide}\n\n```\n{wide}\n```\n");
        assert_eq!(kinds_of("a.md", &row, Language::Markdown), []);
        assert_eq!(
            kinds_of("a/b.rs", &format!("// {wide}"), Language::Rust),
            []
        );
    }

    #[test]
    fn generated_pages_are_left_alone() {
        for (path, set) in [
            ("docs/results/a.md", None),
            ("docs/results/mutants.md", None),
            ("docs/decisions/0001-a.md", Some("docs/decisions")),
            ("docs/c/io.md", Some("pages")),
            ("README.md", Some("pages")),
            ("src/io.rs", Some("fronts")),
            ("fibre-io/src/lib.rs", Some("fronts")),
            ("fibre-io/src/net/lib.rs", Some("fibre-io")),
            ("examples/a.rs", Some("fronts")),
        ] {
            assert_eq!(set_of(path), set, "{path}");
        }
    }

    /// What the rule says of so many phrases in one folder under these limits.
    fn checked(count: usize, limits: &str) -> Vec<Violation> {
        let text = "// One whose lock it is.\n".repeat(count);
        check(&[Page::new("a/b.rs", &text, Language::Rust)], limits)
    }

    #[test]
    fn limits_hold_and_fall() {
        assert_eq!(checked(2, "").len(), 2);
        assert_eq!(checked(2, "# Left\n\na whose 1\n").len(), 2);
        assert_eq!(checked(2, "a vain 2\n").len(), 2);
        assert!(checked(2, "a whose 2\n").is_empty());
        assert!(checked(2, "a whose 12\n").is_empty());
        let found = checked(2, "a whose 13\n");
        assert_eq!((found.len(), found[0].place.as_str()), (1, LIMITS));
        assert_eq!(checked(0, "b whose 11\n").len(), 1);
        assert_eq!(checked(30, "a whose 29\n").len(), SHOWN);
        for line in ["a whose", "a what 2", "a whose two", "a whose 2 3"] {
            assert_eq!(
                checked(0, &format!("# Left\n{line}\n"))[0].line,
                2,
                "{line}"
            );
        }
    }

    #[test]
    fn lowering_never_raises() {
        let text = "// One whose lock it is.\n".repeat(3);
        let page = |path| [Page::new(path, &text, Language::Rust)];
        let list = |path, limits| {
            lowered(&page(path), limits)
                .lines()
                .nth(1)
                .map(str::to_owned)
        };
        assert_eq!(list("a/b.rs", "a whose 5"), Some("a whose 3".into()));
        assert_eq!(list("a/b.rs", "a whose 2"), Some("a whose 2".into()));
        assert_eq!(list("a/b.rs", "b whose 2"), None);
        assert_eq!(list("a/b.rs", ""), Some("a whose 3".into()));
        assert_eq!(list("src/b.rs", ""), None);
    }
}
