//! A stack in one line, and its place in the program.

use crate::form::text::{is_of, is_plumbing, short, shown};
use crate::names::cut;
use crate::stack::unwind::End;
use crate::symbols::Symbols;
use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The most functions in a line.
const MOST: usize = 6;

/// How the names of functions begin that are not the program's own, besides those of libraries.
const FOREIGN: [&str; 7] = [
    "std::",
    "core::",
    "alloc::",
    "fibre::",
    "fibre_core::",
    "fibre_sync::",
    "fibre_io::",
];

/// A stack in one line.
#[derive(Debug)]
pub(crate) struct Line {
    /// Its functions, the innermost first.
    pub text: String,
    /// A number for the innermost function of the program and the fibre's first one.
    pub place: u64,
}

/// The line of a running thread's stack.
pub(crate) fn of(frames: &[usize], end: End, symbols: &mut Symbols<'_>) -> Line {
    let frames = frames.iter().enumerate();
    let frames: Vec<_> = frames
        .map(|(depth, address)| (*address, symbols.look_up(*address, depth > 0)))
        .collect();
    let shown = shown(&frames, end == End::Entry);
    let called = |at: usize| {
        let (address, code, function) = &shown[at];
        let function = &code.functions[*function];
        let name = match (&function.name, &code.module) {
            (Some(name), _) => cut(name).into_owned(),
            (None, Some((module, offset))) => format!("{module}+{offset:#x}"),
            (None, None) => format!("{address:#x}"),
        };
        (name, function, code.module.as_ref())
    };
    let is_own = |at: &usize| {
        let (_, function, module) = called(*at);
        let library = module.is_some_and(|(name, _)| name.contains(".so") || name.starts_with('['));
        !library && !is_of(function, &FOREIGN) && !is_plumbing(function)
    };
    // Where all is in a library, the line still says where.
    let own = (0..shown.len()).find(is_own).unwrap_or(0);
    let mut place = DefaultHasher::new();
    if !shown.is_empty() {
        let [innermost, entry] = [own, shown.len() - 1].map(|at| called(at).0);
        (innermost, entry).hash(&mut place);
    }
    let mut text = String::new();
    let last = MOST.max(own + 1).min(shown.len());
    for at in 0..last {
        // Between the innermost functions and the program's own some may be left out.
        if own >= MOST && (MOST / 2..own).contains(&at) {
            if at == MOST / 2 {
                text.push_str("… ← ");
            }
            continue;
        }
        let (name, function, _) = called(at);
        text.push_str(&name);
        if let Some((file, line)) = function.place.as_ref().filter(|_| at == own) {
            let _ = write!(text, " ({}:{line})", short(file));
        }
        if at + 1 < last {
            text.push_str(" ← ");
        }
    }
    if shown.len() > last {
        text.push_str(" ← …");
    }
    if shown.is_empty() {
        let reason = match end {
            End::Missing(reason) => reason,
            _ => "its stack cannot be walked",
        };
        let _ = write!(text, "a place that is not known: {reason}");
    }
    Line {
        text,
        place: place.finish(),
    }
}
