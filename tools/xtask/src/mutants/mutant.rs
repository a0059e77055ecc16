//! One mistake, and how it is woven into a file.
//!
//! All mutants of a file are woven into it at once. Each asks a function, with its number, whether
//! it is the one that is to act: `a < b` becomes `(if mutant(7) { a <= b } else { a < b })`. So the
//! file is compiled once, and an environment variable chooses the mistake when a test runs.

use std::collections::BTreeSet;
use std::fmt;

/// What kind of mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// A memory ordering is weaker.
    Ordering,
    /// A statement is left out.
    Statement,
    /// A condition is always true, or never.
    Condition,
    /// One that cargo-mutants makes: a function returns at once, an operator is another one.
    Listed,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Ordering => "ordering",
            Self::Statement => "statement",
            Self::Condition => "condition",
            Self::Listed => "cargo-mutants",
        })
    }
}

/// One mistake in one file.
#[derive(Debug, Clone)]
pub(crate) struct Mutant {
    pub(crate) kind: Kind,
    /// Where it is, from 1 on.
    pub(crate) line: usize,
    /// The function that it is in, with the type that has it.
    pub(crate) function: String,
    /// What distinguishes the text of that function from others.
    pub(crate) code: u64,
    /// What is wrong.
    pub(crate) what: String,
    /// How it is woven in.
    wrap: Wrap,
}

/// Text around a part of a file. `§` stands for the question whether the mutant is to act.
#[derive(Debug, Clone)]
struct Wrap {
    /// Where the part begins and ends, in bytes.
    part: (usize, usize),
    before: String,
    after: String,
}

impl Mutant {
    /// A mistake at `part` of the text, made by what stands before and after that.
    pub(crate) fn new(
        kind: Kind,
        (line, function, code): (usize, &str, u64),
        what: String,
        part: (usize, usize),
        (before, after): (String, &str),
    ) -> Self {
        Self {
            kind,
            line,
            function: function.to_owned(),
            code,
            what,
            wrap: Wrap {
                part,
                before,
                after: after.to_owned(),
            },
        }
    }

    /// Whether what is woven in for it contains this byte of the woven text.
    fn owns(&self, starts: &Placed, byte: usize) -> bool {
        let within = |(start, length): (usize, usize)| (start..start + length).contains(&byte);
        within(starts.before) || within(starts.after)
    }
}

/// Where the two texts of a mutant lie in the woven text: their beginnings and lengths.
#[derive(Debug, Clone, Copy, Default)]
struct Placed {
    before: (usize, usize),
    after: (usize, usize),
}

/// A file with all its mutants.
#[derive(Debug)]
pub(crate) struct Woven {
    pub(crate) text: String,
    /// Where each mutant lies in it; `None` for those that were left out.
    placed: Vec<Option<Placed>>,
}

/// Weaves mutants into a text, but for those that are `out`. The first one has the number `first`,
/// the others follow; `hook` is the path of the function that is asked.
pub(crate) fn weave(
    text: &str,
    mutants: &[Mutant],
    out: &BTreeSet<usize>,
    (hook, first): (&str, usize),
) -> Woven {
    // At one place what ends comes before what begins; of those that begin the outer one comes
    // first, which has been found first, and of those that end the inner one.
    let mut pieces = Vec::new();
    for (index, mutant) in mutants.iter().enumerate() {
        if !out.contains(&index) {
            let (start, end) = mutant.wrap.part;
            pieces.push((start, true, index as isize, index));
            pieces.push((end, false, -(index as isize), index));
        }
    }
    pieces.sort_unstable();
    let mut woven = String::with_capacity(2 * text.len());
    let mut placed = vec![None; mutants.len()];
    let mut done = 0;
    for (at, begins, _, index) in pieces {
        woven.push_str(&text[done..at]);
        done = at;
        let wrap = &mutants[index].wrap;
        let piece = if begins { &wrap.before } else { &wrap.after };
        let piece = piece.replace('§', &format!("{hook}({})", first + index));
        let place = placed[index].get_or_insert_with(Placed::default);
        let own = (woven.len(), piece.len());
        *(if begins {
            &mut place.before
        } else {
            &mut place.after
        }) = own;
        woven.push_str(&piece);
    }
    woven.push_str(&text[done..]);
    Woven {
        text: woven,
        placed,
    }
}

impl Woven {
    /// The mutants that an error at this byte of the woven text is about: those with the text that
    /// it lies in, else all of the same function as the one before it.
    pub(crate) fn blamed(&self, mutants: &[Mutant], byte: usize) -> Vec<usize> {
        let there = |index: usize| Some((index, self.placed[index]?));
        let all = || (0..mutants.len()).filter_map(there);
        let owners: Vec<usize> = all()
            .filter(|(index, placed)| mutants[*index].owns(placed, byte))
            .map(|(index, _)| index)
            .collect();
        if !owners.is_empty() {
            return owners;
        }
        let last = all()
            .filter(|(_, placed)| placed.before.0 <= byte)
            .max_by_key(|(_, placed)| placed.before.0);
        let Some((last, _)) = last else {
            return Vec::new();
        };
        let same = all()
            .map(|(index, _)| index)
            .filter(|index| mutants[*index].function == mutants[last].function);
        // Mostly something is not initialised, or moved, without a statement.
        let statement = |index: &usize| mutants[*index].kind == Kind::Statement;
        let (statements, others): (Vec<_>, Vec<_>) = same.partition(statement);
        match statements.is_empty() {
            true => others,
            false => statements,
        }
    }
}
