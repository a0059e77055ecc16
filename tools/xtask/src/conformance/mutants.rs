//! Shows that a program can fail.
//!
//! A *mutant* is the program with one function made wrong by a macro: it does nothing and returns
//! 0, or it does nothing and fails. If the program then ends as it should, it has not noticed: the
//! mutant *survives*. A program shows nothing if none of its mutants is caught. First the functions
//! that the clause names take their turn, then the others that the text calls, until one is caught.
//!
//! The macro comes after the system's headers and before everything else, so that what the
//! program's own header does is wrong, too.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::conformance::program::{Library, Program};
use crate::conformance::trial::{self, Bench, Outcome, Setting};

/// How long a mutant may run. One that hangs is caught.
const PATIENCE: Duration = Duration::from_secs(4);

/// Words in calls that no mutant is made of: the header's own, and the language's.
const NOT_MUTATED: [&str; 20] = [
    "main",
    "test",
    "start",
    "finish",
    "watch",
    "sizeof",
    "while",
    "for",
    "if",
    "switch",
    "return",
    "defined",
    "on_both",
    "let_block",
    "in_ms",
    "is_past",
    "bad_time",
    "memset",
    "malloc",
    "signal",
];

/// A way to make a program wrong.
struct Mutant {
    /// What is wrong, for people.
    what: String,
    /// The lines of it.
    lines: String,
}

/// What is known of a program's ability to fail.
#[derive(Debug, Clone, Default)]
pub(crate) struct Verdict {
    /// Mutants that it noticed.
    pub(crate) caught: Vec<String>,
    /// Mutants that it did not notice.
    pub(crate) survived: Vec<String>,
}

/// Tries the mutants of a program.
pub(crate) fn judge(bench: &Bench, root: &Path, program: &Program) -> Result<Verdict> {
    let text = fs::read_to_string(&program.path)?;
    let mut verdict = Verdict::default();
    for mutant in program.mutants.iter().map(|macro_| Mutant::written(macro_)) {
        let what = mutant.what.clone();
        let compiles = mutant.enter(bench, root, program, &text, &mut verdict)?;
        ensure!(
            compiles,
            "{}: its mutant {what} does not compile",
            program.title()
        );
    }
    for function in &program.functions {
        for mutant in Mutant::of(function) {
            mutant.enter(bench, root, program, &text, &mut verdict)?;
        }
    }
    for function in called(&text) {
        for mutant in Mutant::of(function) {
            if verdict.caught.is_empty() && !program.functions.iter().any(|named| named == function)
            {
                mutant.enter(bench, root, program, &text, &mut verdict)?;
            }
        }
    }
    Ok(verdict)
}

impl Mutant {
    /// A macro that the program brings: name and body.
    fn written(macro_: &str) -> Self {
        Self {
            what: format!("`{macro_}`"),
            lines: format!("#define {macro_}\n"),
        }
    }

    /// The mutants of a function.
    fn of(function: &str) -> Vec<Self> {
        let mutant = |what: &str, lines: String| Self {
            what: format!("`{function}` {what}"),
            lines,
        };
        match function {
            "errno" => vec![mutant(
                "is shared by all threads",
                "static int shared_errno;\n#undef errno\n#define errno shared_errno\n".into(),
            )],
            "pthread_cleanup_push" | "pthread_cleanup_pop" => vec![mutant(
                "does nothing",
                "#undef pthread_cleanup_push\n#undef pthread_cleanup_pop\n\
                 #define pthread_cleanup_push(f, a) { (void)(f), (void)(a);\n\
                 #define pthread_cleanup_pop(e) }\n"
                    .into(),
            )],
            _ => vec![
                mutant(
                    "does nothing",
                    format!("#define {function}(...) ((__typeof__({function}(__VA_ARGS__)))0)\n"),
                ),
                mutant(
                    "fails",
                    format!(
                        "#define {function}(...) (errno = ENOSYS, (__typeof__({function}(__VA_ARGS__)))-1)\n"
                    ),
                ),
            ],
        }
    }

    /// Tries it, and enters what came of it. Where it cannot be compiled it says nothing, and this
    /// is `false`.
    fn enter(
        self,
        bench: &Bench,
        root: &Path,
        program: &Program,
        text: &str,
        verdict: &mut Verdict,
    ) -> Result<bool> {
        let (library, setting) = match program.is_for(Library::System) {
            true => (Library::System, Setting::System),
            false => (Library::Ours, Setting::Ours(2)),
        };
        let mutated = self.mutated(bench, root, program, text)?;
        let Ok(compiled) = bench.compile(&mutated, 0, library)? else {
            return Ok(false);
        };
        match trial::run_for(&mutated, &compiled, setting, PATIENCE)? {
            Outcome::Passed => verdict.survived.push(self.what),
            Outcome::Failed(_) => verdict.caught.push(self.what),
        }
        Ok(true)
    }

    /// Writes the program with this mutation.
    fn mutated(
        &self,
        bench: &Bench,
        root: &Path,
        program: &Program,
        text: &str,
    ) -> Result<Program> {
        let header = root.join(crate::conformance::program::FOLDER);
        let header = header.join("conformance/check.h");
        let header = fs::read_to_string(header).context("cannot read check.h")?;
        let includes = |text: &str| {
            let lines = text.lines().filter(|line| line.starts_with("#include <"));
            lines.map(|line| format!("{line}\n")).collect::<String>()
        };
        let mut mutated = program.clone();
        let end = if program.is_cpp() { "cpp" } else { "c" };
        let file = format!("{}.mutant.{end}", program.title().replace('/', "-"));
        mutated.path = bench.folder.join(file);
        mutated.name.push_str(".mutant");
        mutated.variants.truncate(1);
        let folder = program.path.parent().context("a file without a folder")?;
        for flag in ["-w".as_ref(), "-iquote".as_ref(), folder.as_os_str()] {
            mutated.variants[0].push(flag.to_string_lossy().into_owned());
        }
        let system = includes(&header) + &includes(text);
        let source = format!("#define _GNU_SOURCE\n{system}{}{text}", self.lines);
        fs::write(&mutated.path, source)?;
        Ok(mutated)
    }
}

/// The functions that a text calls, each once.
fn called(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for (at, _) in text.match_indices('(') {
        let before = &text[..at];
        let in_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let name = &before[before.trim_end_matches(in_name).len()..];
        let is_own = text.contains(&format!("static void *{name}("))
            || text.contains(&format!("static void {name}("));
        let is_new = name.starts_with(|c: char| c.is_ascii_lowercase())
            && !names.contains(&name)
            && !NOT_MUTATED.contains(&name);
        if is_new && !is_own {
            names.push(name);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_found_once_each() {
        let text = "static void *run(void *x)\n{ OK(sem_wait(&s)); sem_wait(&s); if (read(0, x, 1)) run(0); }\n";
        assert_eq!(called(text), ["sem_wait", "read"]);
    }

    #[test]
    fn each_function_has_mutants() {
        for function in ["errno", "pthread_cleanup_push", "read"] {
            assert!(
                Mutant::of(function)
                    .iter()
                    .all(|mutant| !mutant.lines.is_empty())
            );
        }
        assert_eq!(Mutant::of("read").len(), 2);
    }
}
