//! `fibre-check`: what keeps a compiled program from running on fibres.
//!
//! ```text
//! fibre-check [--calls | --thread-locals] FILE...
//! fibre-check --library libfibre-rt.so
//! ```
//!
//! Looks into objects, archives, libraries and programs (ELF, 64 bits), and lists
//!
//! * thread-local variables with their sizes: each kernel thread has one, and not each fibre
//!   (docs/c/thread-locals.md);
//! * functions of threads, waiting, input and output that still reach the system's library: those
//!   that `fibre_pthread.h` would have mapped, had it been included, and those that it leaves to
//!   the system, with the reason.
//!
//! Of a program, its objects are what to look at: a linked program shows only what it imports, and
//! a library that it uses may call what it likes on its own threads. `--library` instead asks
//! whether a library has a function for every mapped name.
//!
//! docs/c/fibre-check.md is its manual. Exit code: 0 if there is nothing to tell, 1 if there is, 2
//! if a file cannot be read or the arguments make no sense.

#![deny(unreachable_pub, unnameable_types)]

mod mapping;
mod survey;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use mapping::{Mapping, Meaning};
use survey::Survey;

/// What is printed for arguments that make no sense.
const USAGE: &str =
    "usage: fibre-check [--calls | --thread-locals] FILE...\n       fibre-check --library FILE";

/// What to look for.
#[derive(Clone, Copy, PartialEq)]
enum Subject {
    /// Calls and thread-locals.
    All,
    /// Only calls.
    Calls,
    /// Only thread-locals.
    ThreadLocals,
    /// Whether this is the library.
    Library,
}

/// How much was found.
#[derive(Default)]
struct Tally {
    /// Thread-locals.
    thread_locals: usize,
    /// Calls that the header would have mapped.
    unmapped: usize,
    /// Calls that are left to the system.
    left: usize,
}

fn main() -> ExitCode {
    let Some((subject, files)) = arguments() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let mapping = Mapping::read();
    let mut tally = Tally::default();
    for file in &files {
        let surveys = match survey::look(file) {
            Ok(surveys) => surveys,
            Err(error) => {
                eprintln!("fibre-check: {}: {error}", file.display());
                return ExitCode::from(2);
            }
        };
        if subject == Subject::Library {
            return library(&mapping, file, &surveys);
        }
        for survey in &surveys {
            if subject != Subject::Calls {
                tally.thread_locals += tell_thread_locals(survey);
            }
            if subject != Subject::ThreadLocals {
                tell_calls(&mapping, survey, &mut tally);
            }
        }
    }
    verdict(&tally)
}

/// What the command line asks for.
fn arguments() -> Option<(Subject, Vec<PathBuf>)> {
    let mut subject = Subject::All;
    let mut files = Vec::new();
    for argument in std::env::args_os().skip(1) {
        match argument.to_str() {
            Some("--calls") => subject = Subject::Calls,
            Some("--thread-locals") => subject = Subject::ThreadLocals,
            Some("--library") => subject = Subject::Library,
            Some(option) if option.starts_with('-') => return None,
            _ => files.push(PathBuf::from(argument)),
        }
    }
    (!files.is_empty()).then_some((subject, files))
}

/// Lists the thread-locals of one object, and counts them.
fn tell_thread_locals(survey: &Survey) -> usize {
    for variable in &survey.thread_locals {
        let size = if variable.defined {
            format!("{} bytes", variable.size)
        } else {
            "defined elsewhere".to_owned()
        };
        println!(
            "{}: thread-local `{}`, {size}: one for each kernel thread",
            survey.name, variable.name
        );
    }
    if survey.thread_locals.is_empty() && survey.segment > 0 {
        println!(
            "{}: {} bytes of thread-locals without names",
            survey.name, survey.segment
        );
        return 1;
    }
    survey.thread_locals.len()
}

/// Lists the calls of one object that reach the system's library, and counts them.
fn tell_calls(mapping: &Mapping, survey: &Survey, tally: &mut Tally) {
    for name in &survey.wanted {
        match mapping.meaning(name) {
            Some(Meaning::Mapped(ours)) => {
                tally.unmapped += 1;
                println!(
                    "{}: `{name}` reaches the system's library, not `{ours}`",
                    survey.name
                );
            }
            Some(Meaning::Left(reason)) => {
                tally.left += 1;
                println!("{}: `{name}` is the system's: {reason}", survey.name);
            }
            Some(Meaning::Unknown) => {
                tally.left += 1;
                println!("{}: `{name}` is not known to the mapping", survey.name);
            }
            None => {}
        }
    }
}

/// Says whether a library has all that mapped programs call.
fn library(mapping: &Mapping, file: &Path, surveys: &[Survey]) -> ExitCode {
    let needed = mapping.needed();
    let is_missing = |name: &&&str| !surveys.iter().any(|survey| survey.offered.contains(**name));
    let missing: Vec<_> = needed.iter().filter(is_missing).collect();
    for name in &missing {
        println!(
            "{}: no `{name}`, which a mapped name becomes",
            file.display()
        );
    }
    println!(
        "{} of {} functions are there",
        needed.len() - missing.len(),
        needed.len()
    );
    ExitCode::from(u8::from(!missing.is_empty()))
}

/// The last line, and the exit code.
fn verdict(tally: &Tally) -> ExitCode {
    let Tally {
        thread_locals,
        unmapped,
        left,
    } = tally;
    if thread_locals + unmapped + left == 0 {
        println!("nothing reaches the system's threads, and there are no thread-locals");
        return ExitCode::SUCCESS;
    }
    println!(
        "{thread_locals} thread-locals, {unmapped} calls that were not mapped, {left} that are left to the system"
    );
    ExitCode::FAILURE
}
