//! What a C program says of itself.
//!
//! Its folder is its *family*. The first comment is its *clause*: the functions it is about, a
//! colon, and what is true of them. Further comments, each on a line of its own, are *directives*:
//!
//! * `/* ends: exit 7 */`, `/* ends: signal 13 */`: how it ends if the clause holds, else `exit 0`.
//! * `/* only: ours */`, `/* only: system */`: the one library it is for. In the folder `ours` it
//!   is ours anyway.
//! * `/* flags: -std=c99 -O0 */`: more flags for the compiler; with several such lines it is
//!   compiled once with each.
//! * `/* with: FIBRE_MAIN=1 */`: set in its environment.
//! * `/* mutant: volatile static */`: a macro that must make the program fail, see
//!   [`super::mutants`].
//! * `/* patience: 120 */`: it may run for so many seconds, as it waits for what takes longer on a
//!   busy machine.
//! * `/* not: own */`: it is not for fibres with thread-locals of their own; its clause is about
//!   what these pay for.
//! * `/* unmapped */`: it includes `fibre.h` by itself, so only ours can run it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use walkdir::WalkDir;

/// Where programs lie, relative to the workspace's root.
pub(crate) const FOLDER: &str = "fibre-capi/tests";

/// The folder with folders that are families by themselves.
const CLAUSES: &str = "conformance";

/// The family of clauses that the system's library does not keep to, or that POSIX leaves open.
const OURS: &str = "ours";

/// What is named as a function, and is never called as one.
const ERRNO: &str = "errno";

/// The characters of a file's text that may hold its directives.
const HEAD: usize = 2000;

/// A file, and what it says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Program {
    /// The file.
    pub(crate) path: PathBuf,
    /// Its folder.
    pub(crate) family: String,
    /// The file's name without its end.
    pub(crate) name: String,
    /// The functions it is about.
    pub(crate) functions: Vec<String>,
    /// What is true of them.
    pub(crate) clause: String,
    /// How it ends if that is so.
    pub(crate) ending: Ending,
    /// The one library it is for.
    pub(crate) only: Option<Library>,
    /// Flags for the compiler, of each variant.
    pub(crate) variants: Vec<Vec<String>>,
    /// Added to its environment.
    pub(crate) variables: Vec<(String, String)>,
    /// Macros that must make it fail, besides the usual ones.
    pub(crate) mutants: Vec<String>,
    /// Whether it is for fibres with thread-locals of their own, too.
    pub(crate) own: bool,
    /// How long it may run, if it is not as long as others.
    pub(crate) patience: Option<Duration>,
    /// Whether calls go to ours by the mapping header.
    pub(crate) mapped: bool,
}

/// How a process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// With this code.
    Exit(i32),
    /// By this signal.
    Signal(i32),
}

/// What threads a program is compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Library {
    /// The system's.
    System,
    /// Ours.
    Ours,
}

impl Program {
    /// All programs with one of these words in their path; all, if there is none.
    pub(crate) fn find(root: &Path, words: &[String]) -> Result<Vec<Self>> {
        let mut programs = Vec::new();
        for entry in WalkDir::new(root.join(FOLDER)).sort_by_file_name() {
            let path = entry.context("cannot list the C programs")?.into_path();
            let end = path.extension().and_then(|end| end.to_str());
            let is_named = || {
                let text = path.to_string_lossy();
                words.is_empty() || words.iter().any(|word| text.contains(word.as_str()))
            };
            if matches!(end, Some("c" | "cpp")) && is_named() {
                programs.push(Self::read(root, &path)?);
            }
        }
        Ok(programs)
    }

    /// Reads a file's head.
    fn read(root: &Path, path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path);
        let text = text.with_context(|| format!("cannot read {}", path.display()))?;
        let inside = path.strip_prefix(root.join(FOLDER))?;
        Self::parse(inside, &text)
            .map(|program| Self {
                path: path.to_owned(),
                ..program
            })
            .with_context(|| format!("{}", path.display()))
    }

    /// What a text says of itself, in a file of this path below [`FOLDER`].
    fn parse(inside: &Path, text: &str) -> Result<Self> {
        let folder = inside.parent().unwrap_or(Path::new(""));
        let family = folder.strip_prefix(CLAUSES).unwrap_or(folder);
        let family = family.to_string_lossy().into_owned();
        let name = inside.file_stem().context("a file without a name")?;
        let (functions, clause) = first_comment(text)?;
        let mut program = Self {
            path: inside.to_owned(),
            name: name.to_string_lossy().into_owned(),
            functions,
            clause,
            ending: Ending::Exit(0),
            only: (family == OURS).then_some(Library::Ours),
            variants: Vec::new(),
            variables: Vec::new(),
            mutants: Vec::new(),
            own: true,
            patience: None,
            mapped: true,
            family,
        };
        for (word, value) in directives(text) {
            program.apply(word, value)?;
        }
        if program.variants.is_empty() {
            program.variants.push(Vec::new());
        }
        Ok(program)
    }

    /// Follows a directive; other comments are not directives.
    fn apply(&mut self, word: &str, value: &str) -> Result<()> {
        match word {
            "ends" => self.ending = Ending::parse(value)?,
            "only" => {
                self.only = Some(match value {
                    "ours" => Library::Ours,
                    "system" => Library::System,
                    _ => bail!("`only` is `ours` or `system`, not `{value}`"),
                });
            }
            "flags" => {
                let flags = value.split_whitespace().map(str::to_owned);
                self.variants.push(flags.collect());
            }
            "with" => {
                let (name, value) = value.split_once('=').context("`with` is `NAME=value`")?;
                self.variables.push((name.to_owned(), value.to_owned()));
            }
            "patience" => {
                let seconds = value.parse().context("`patience` is a number of seconds")?;
                self.patience = Some(Duration::from_secs(seconds));
            }
            "mutant" => self.mutants.push(value.to_owned()),
            "not" => match value {
                "own" => self.own = false,
                _ => bail!("`not` is `own`, not `{value}`"),
            },
            "unmapped" => {
                self.mapped = false;
                self.only = Some(Library::Ours);
            }
            _ => {}
        }
        Ok(())
    }

    /// Whether it is written in C++.
    pub(crate) fn is_cpp(&self) -> bool {
        self.path.extension().is_some_and(|end| end == "cpp")
    }

    /// Whether it is to be run with this library.
    pub(crate) fn is_for(&self, library: Library) -> bool {
        self.only.is_none_or(|only| only == library)
    }

    /// Family and name, as people type it.
    pub(crate) fn title(&self) -> String {
        format!("{}/{}", self.family, self.name)
    }
}

impl Ending {
    /// Reads `exit 7` or `signal 13`.
    fn parse(text: &str) -> Result<Self> {
        let numbered = text.split_once(' ');
        let numbered = numbered.and_then(|(word, number)| Some((word, number.parse().ok()?)));
        match numbered {
            Some(("exit", code)) => Ok(Self::Exit(code)),
            Some(("signal", signal)) => Ok(Self::Signal(signal)),
            _ => bail!("`ends` is `exit N` or `signal N`, not `{text}`"),
        }
    }
}

/// The functions and the clause in the comment at a text's beginning.
fn first_comment(text: &str) -> Result<(Vec<String>, String)> {
    let comment = text
        .strip_prefix("/*")
        .and_then(|rest| rest.split_once("*/"));
    let (comment, _) = comment.context("a program begins with its clause, in a comment")?;
    let words = comment.split_whitespace().filter(|word| *word != "*");
    let line = words.collect::<Vec<_>>().join(" ");
    let Some((functions, clause)) = line.split_once(": ") else {
        return Ok((Vec::new(), line));
    };
    let is_called = |word: &&str| word.contains('_') || text.contains(&format!("{word}("));
    let functions = functions.split([',', ' ']);
    let functions =
        functions.filter(|word| !word.is_empty() && (*word == ERRNO || is_called(word)));
    Ok((functions.map(str::to_owned).collect(), clause.to_owned()))
}

/// Words and values of the comments that take a line each.
fn directives(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let head = text
        .char_indices()
        .nth(HEAD)
        .map_or(text, |(end, _)| &text[..end]);
    let comments = head
        .lines()
        .filter_map(|line| line.strip_prefix("/* ")?.strip_suffix(" */"));
    comments.map(|comment| comment.split_once(": ").unwrap_or((comment, "")))
}

#[cfg(test)]
impl Program {
    /// The program of such a file.
    pub(crate) fn of(path: &str, text: &str) -> Result<Self> {
        Self::parse(Path::new(path), text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(path: &str, text: &str) -> Result<Program> {
        Program::of(path, text)
    }

    #[test]
    fn a_program_says_what_it_shows() {
        let text = "/* sem_wait, read and their kin: may wait. */\nread(0, 0, 0);\n";
        let program = parse("conformance/cancel/in_read.c", text).unwrap();
        assert_eq!(program.title(), "cancel/in_read");
        assert_eq!(program.functions, ["sem_wait", "read"]);
        assert_eq!(program.clause, "may wait.");
        assert_eq!(program.ending, Ending::Exit(0));
        assert!(program.is_for(Library::System) && program.is_for(Library::Ours));
        assert_eq!(program.variants, [Vec::<String>::new()]);
    }

    #[test]
    fn directives_are_followed() {
        let text = "/* exit: ends all. */\n/* ends: signal 13 */\n/* flags: -O0 -g */\n\
            /* flags: -std=c99 */\n/* with: FIBRE_MAIN=1 */\n/* patience: 90 */\n\
            /* unmapped */\n/* not: own */\n";
        let program = parse("mapping/one.cpp", text).unwrap();
        assert_eq!(program.title(), "mapping/one");
        assert_eq!(program.ending, Ending::Signal(13));
        assert_eq!(program.patience, Some(Duration::from_secs(90)));
        assert_eq!(program.variants.len(), 2);
        assert_eq!(program.variables[0].0, "FIBRE_MAIN");
        assert!(program.is_cpp() && !program.mapped);
        assert!(!program.is_for(Library::System) && !program.own);
    }

    #[test]
    fn nonsense_is_an_error() {
        assert!(parse("a/b.c", "#include <x.h>\n").is_err());
        assert!(parse("a/b.c", "/* f: x. */\n/* ends: well */\n").is_err());
        assert!(parse("a/b.c", "/* f: x. */\n/* only: theirs */\n").is_err());
        assert!(parse("a/b.c", "/* f: x. */\n/* not: here */\n").is_err());
        assert!(parse("a/b.c", "/* f: x. */\n/* with: NAME */\n").is_err());
        assert!(parse("a/b.c", "/* f: x. */\n/* patience: long */\n").is_err());
    }

    #[test]
    fn what_only_ours_keeps_to_has_its_family() {
        let program = parse("conformance/ours/one.c", "/* f: x. */\n").unwrap();
        assert!(program.is_for(Library::Ours) && !program.is_for(Library::System));
    }
}
