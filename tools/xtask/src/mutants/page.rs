//! The results as a page: figures for each file, and each survivor with the argument for it.
//!
//! Arguments are written by people, in a file of their own, and belong to a mutant by its file, its
//! function and what is wrong. One that belongs to no mutant is an error: the code has changed.

use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};
use toml::{Table, Value};

use crate::mutants::mutant::Mutant;
use crate::mutants::results::{Results, Verdict};
use crate::mutants::scratch::File;

/// Where the page is.
pub(crate) const PAGE: &str = "docs/results/mutants.md";
/// Where the arguments are.
pub(crate) const ARGUMENTS: &str = "tools/xtask/mutants.toml";

/// Why some survivors stay.
#[derive(Debug)]
struct Argument {
    file: String,
    /// Any, if empty.
    function: String,
    /// A part of what is wrong; any, if empty.
    what: String,
    because: String,
    /// Whether it is no mistake at all, so that no test could see it.
    equivalent: bool,
}

impl Argument {
    /// Whether it is about this mutant.
    fn is_about(&self, file: &File, mutant: &Mutant) -> bool {
        let function = self.function.is_empty() || self.function == mutant.function;
        self.file == file.subject.file && function && mutant.what.contains(&self.what)
    }
}

/// Reads the arguments.
fn arguments(text: &str) -> Result<Vec<Argument>> {
    let table: Table = text.parse().context("the arguments are no TOML")?;
    let survivors = table.get("survivor").and_then(Value::as_array);
    let read = |survivor: &Value| {
        let word = |name: &str| {
            survivor
                .get(name)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        Argument {
            file: word("file"),
            function: word("function"),
            what: word("what"),
            because: word("because"),
            equivalent: survivor
                .get("equivalent")
                .and_then(Value::as_bool)
                .unwrap_or(false),
        }
    };
    Ok(survivors.into_iter().flatten().map(read).collect())
}

/// The figures of one file, or of all.
#[derive(Debug, Default, Clone, Copy)]
struct Figures {
    killed: usize,
    survived: usize,
    unreached: usize,
    equivalent: usize,
    untried: usize,
}

impl Figures {
    /// Adds another file's.
    fn add(&mut self, other: Self) {
        self.killed += other.killed;
        self.survived += other.survived;
        self.unreached += other.unreached;
        self.equivalent += other.equivalent;
        self.untried += other.untried;
    }

    /// Whether there is anything to tell.
    fn is_any_tried(&self) -> bool {
        self.killed + self.survived + self.unreached > 0
    }

    /// A row of the table.
    fn row(&self, name: &str) -> String {
        let tried = self.killed + self.survived + self.unreached - self.equivalent;
        let share = match tried {
            0 => "–".to_owned(),
            _ => format!("{:.0} %", 100.0 * self.killed as f64 / tried as f64),
        };
        format!(
            "| {name} | {} | {} | {} | {} | {} | {share} |",
            self.killed, self.survived, self.unreached, self.equivalent, self.untried
        )
    }
}

/// The page.
pub(crate) fn page(root: &Path, files: &[File], results: &Results) -> Result<String> {
    let text = std::fs::read_to_string(root.join(ARGUMENTS))?;
    let arguments = arguments(&text)?;
    for argument in &arguments {
        let own = |file: &File| {
            let mut mutants = file.mutants.iter();
            mutants.any(|mutant| argument.is_about(file, mutant))
        };
        if !files.iter().any(own) {
            bail!("{ARGUMENTS}: no mutant is meant by {argument:?}");
        }
    }
    let (mut page, mut all) = (INTRODUCTION.to_owned(), Figures::default());
    let mut survivors = String::new();
    for file in files {
        let (figures, rows) = account(file, &arguments, results);
        if figures.is_any_tried() {
            writeln!(page, "{}", figures.row(&format!("`{}`", file.subject.file)))?;
        }
        if !rows.is_empty() {
            let heading = "| line | function | mistake | why it stays |\n|---|---|---|---|";
            writeln!(survivors, "\n### {}\n\n{heading}", file.subject.file)?;
            rows.iter().for_each(|row| survivors.push_str(row));
        }
        all.add(figures);
    }
    writeln!(page, "{}", all.row("all"))?;
    page.push_str(SURVIVORS);
    page.push_str(&survivors);
    Ok(page)
}

/// The figures of a file, and a row for each mutant that nobody has seen.
fn account(file: &File, arguments: &[Argument], results: &Results) -> (Figures, Vec<String>) {
    let (mut figures, mut rows) = (Figures::default(), Vec::new());
    for (index, mutant) in file.mutants.iter().enumerate() {
        let fate = match results.of(file, index) {
            Some(Verdict::Unviable) => continue,
            None => {
                figures.untried += 1;
                continue;
            }
            Some(Verdict::Killed(_)) => {
                figures.killed += 1;
                continue;
            }
            Some(Verdict::Survived) => {
                figures.survived += 1;
                "(no test sees it)"
            }
            Some(Verdict::Unreached) => {
                figures.unreached += 1;
                "(no test comes to it)"
            }
        };
        let argument = arguments
            .iter()
            .find(|argument| argument.is_about(file, mutant));
        figures.equivalent += usize::from(argument.is_some_and(|argument| argument.equivalent));
        let because = argument.map_or(fate, |argument| &argument.because);
        let what = mutant.what.replace('|', "\\|");
        let (line, function) = (mutant.line, &mutant.function);
        rows.push(format!("| {line} | `{function}` | {what} | {because} |\n"));
    }
    (figures, rows)
}

/// The beginning of the page.
const INTRODUCTION: &str = include_str!("introduction.md");

/// What comes before the survivors.
const SURVIVORS: &str = "\n## Survivors\n\n\
    Mutants that no test of their lane sees, and why they stay. The words come from `tools/xtask/mutants.toml`;\n\
    where nobody has written any, the table says what happened.\n";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutants::find::find;
    use crate::mutants::keys::Keys;
    use crate::mutants::listed::Listed;
    use crate::mutants::subjects::SUBJECTS;
    use std::collections::BTreeSet;

    /// A file with four statements; their results are kept at this path.
    fn tried(path: &Path) -> (File, Results) {
        let text = "fn f() { a(); b(); c(); d(); e(); }".to_owned();
        let mutants = find(&text, &Listed::default()).unwrap();
        let file = File {
            subject: &SUBJECTS[0],
            keys: Keys::default().of(&mutants),
            mutants,
            text,
            first: 1,
            out: BTreeSet::new(),
        };
        let mut results = Results::read(path).unwrap();
        let verdicts = [
            Verdict::Killed("a test".into()),
            Verdict::Survived,
            Verdict::Unreached,
            Verdict::Unviable,
        ];
        for (index, verdict) in verdicts.into_iter().enumerate() {
            results.keep(&file, index, verdict).unwrap();
        }
        (file, results)
    }

    #[test]
    fn results_are_kept_and_counted() {
        let path = std::env::temp_dir().join(format!("mutants-{}.jsonl", std::process::id()));
        let (file, _) = tried(&path);
        let results = Results::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(results.of(&file, 1), Some(&Verdict::Survived));
        assert_eq!(results.of(&file, 4), None);
        let text = format!(
            "[[survivor]]\nfile = \"{}\"\nfunction = \"f\"\nwhat = \"b();\"\n\
             because = \"it is a hint\"\nequivalent = true\n",
            file.subject.file
        );
        let (figures, rows) = account(&file, &arguments(&text).unwrap(), &results);
        assert_eq!(figures.row("all"), "| all | 1 | 1 | 1 | 1 | 1 | 50 % |");
        assert!(rows[0].contains("it is a hint") && rows[1].contains("no test comes to it"));
        assert_eq!(rows.len(), 2);
    }

    /// What is known of a function follows it, and ends with a change of it.
    #[test]
    fn results_belong_to_functions() {
        let keys = |text: &str| {
            let mutants = find(text, &Listed::default()).unwrap();
            Keys::default().of(&mutants)
        };
        let (text, changed) = ("fn f() { a(); a(); }", "fn f() { a(); a(); c(); }");
        let known = keys(text);
        assert_eq!(known.len(), 2);
        assert_ne!(known[0], known[1]);
        let moved = format!("use c::a;\nfn g() {{ b(); }}\n{}", text.replace(' ', "\n"));
        assert_eq!(keys(&moved)[1..], known);
        assert_eq!(keys(&format!("impl B {{ {text} }}")), known);
        assert_ne!(keys(changed)[0], known[0]);
        let mut both = Keys::default();
        let mutants = find(text, &Listed::default()).unwrap();
        assert_ne!(both.of(&mutants), both.of(&mutants));
    }

    #[test]
    fn all_arguments_are_about_something() {
        let workspace = crate::workspace::Workspace::find().unwrap();
        let text = std::fs::read_to_string(workspace.root().join(ARGUMENTS)).unwrap();
        for argument in arguments(&text).unwrap() {
            assert!(SUBJECTS.iter().any(|subject| subject.file == argument.file));
            assert!(!argument.because.is_empty(), "{argument:?}");
            let source = std::fs::read_to_string(workspace.root().join(&argument.file)).unwrap();
            let name = argument.function.rsplit("::").next().unwrap_or_default();
            let is_there = name.is_empty() || source.contains(&format!("fn {name}"));
            assert!(is_there, "there is no such function: {argument:?}");
        }
    }
}
