//! What valgrind's tool cachegrind writes, and the count that two such files make.
//!
//! ```text
//! fl=FILE          what follows comes from this source file,
//! fn=FUNCTION      and is part of this function in the program:
//! LINE COUNT       so many instructions were executed for this line
//! summary: TOTAL
//! ```
//!
//! The function is the one that the instruction's address lies in, by the symbol table. Code that
//! was inlined is charged to the function it was inlined into, but under the file it comes from; so
//! function and file together tell where to look.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use crate::instructions::counts::{Counts, NEGLIGIBLE};

/// Instructions of one run of a program, by place.
#[derive(Debug, PartialEq)]
pub(crate) struct Profile(BTreeMap<Place, u64>);

/// Where an instruction belongs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    /// The function in the program.
    function: String,
    /// The source: a file of this workspace, or the name of a crate. `None` for what is not Rust:
    /// its sources are not known everywhere.
    origin: Option<String>,
}

impl Place {
    /// The place of a function and a source file as valgrind names them. Only names of Rust have
    /// paths in them.
    fn new(function: &str, file: &str, root: &Path) -> Self {
        Self {
            function: function.to_owned(),
            origin: function.contains("::").then(|| origin(file, root)),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.origin {
            Some(origin) => write!(f, "{} ({origin})", self.function),
            None => f.write_str(&self.function),
        }
    }
}

/// The name of a source that is the same wherever the workspace lies and whatever version of a
/// crate is used.
fn origin(file: &str, root: &Path) -> String {
    if let Ok(own) = Path::new(file).strip_prefix(root) {
        return own.display().to_string();
    }
    if let Some((_, below)) = file.split_once("/registry/src/") {
        let folder = below.split('/').nth(1).unwrap_or(below);
        let name = folder
            .rsplit_once('-')
            .map_or(folder, |(name, _version)| name);
        return name.to_owned();
    }
    if file.starts_with("/rustc/") || file.starts_with("library/") {
        return "std".into();
    }
    "elsewhere".into()
}

impl Profile {
    /// Parses a file of cachegrind for one kind of event; `root` is the workspace.
    pub(crate) fn parse(text: &str, root: &Path) -> Result<Self> {
        let mut places = BTreeMap::new();
        let mut file = "";
        let mut place = None;
        let mut summary = None;
        for (index, line) in text.lines().enumerate() {
            if let Some(name) = line.strip_prefix("fl=") {
                file = name;
            } else if let Some(name) = line.strip_prefix("fn=") {
                place = Some(Place::new(name, file, root));
            } else if let Some(total) = line.strip_prefix("summary:") {
                summary = Some(number(total)?);
            } else if line.starts_with(|first: char| first.is_ascii_digit()) {
                let (_, count) = line.split_once(' ').unwrap_or_default();
                let count = number(count).with_context(|| format!("line {}", index + 1))?;
                let place = place.clone().context("a count before any function")?;
                *places.entry(place).or_insert(0) += count;
            } else if line.starts_with("events:") {
                ensure!(line == "events: Ir", "not instructions alone: {line}");
            } else if !(line.starts_with("desc:") || line.starts_with("cmd:")) {
                bail!("line {} is not understood: {line}", index + 1);
            }
        }
        let sum: u64 = places.values().sum();
        ensure!(
            summary == Some(sum),
            "the counts add up to {sum}, the summary is {summary:?}"
        );
        Ok(Self(places))
    }

    /// What one operation executes, from a run of so many more `operations` than the run of `few`.
    pub(crate) fn per_operation(&self, few: &Self, operations: u64) -> Counts {
        let mut counts = Counts::default();
        for place in self
            .0
            .keys()
            .chain(few.0.keys().filter(|place| !self.0.contains_key(*place)))
        {
            let total = |profile: &Self| profile.0.get(place).map_or(0.0, |count| *count as f64);
            let count = (total(self) - total(few)) / operations as f64;
            if place.origin.is_some() {
                counts.rust += count;
            } else {
                counts.libc += count;
            }
            if count >= NEGLIGIBLE {
                counts.functions.insert(place.to_string(), count);
            }
        }
        counts
    }
}

/// The one number in a text.
fn number(text: &str) -> Result<u64> {
    let text = text.trim();
    text.parse()
        .with_context(|| format!("not a number: `{text}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A profile of a path with a loop that has executed this for each operation, besides what it
    /// took to start.
    fn profile(operations: u64, fifo: u64, malloc: u64) -> String {
        let (fifo, malloc) = (operations * fifo, operations * malloc);
        let run = operations * 20 + 7;
        format!(
            "desc: I1 cache: 32768 B\ncmd: target/release/paths yield {operations}\n\
             events: Ir\nfl=./malloc/malloc.c\nfn=malloc\n10 {malloc}\n\
             fl=/project/core/src/processor.rs\nfn=core::Processor::run\n31 7\n32 {}\n\
             fl=/project/core/src/fifo.rs\nfn=core::Processor::run\n5 {fifo}\n\
             summary: {}\n",
            run - 7,
            run + fifo + malloc
        )
    }

    /// The count that two such runs make.
    fn counts(fifo: u64, malloc: u64) -> Counts {
        let parse = |text: String| Profile::parse(&text, Path::new("/project")).unwrap();
        let few = parse(profile(100, fifo, malloc));
        parse(profile(1100, fifo, malloc)).per_operation(&few, 1000)
    }

    #[test]
    fn starting_cancels_and_languages_are_apart() {
        let counts = counts(3, 50);
        assert_eq!((counts.rust, counts.libc), (23.0, 50.0));
        let functions: Vec<(&str, f64)> =
            counts.functions.iter().map(|(n, c)| (&**n, *c)).collect();
        assert_eq!(
            functions,
            [
                ("core::Processor::run (core/src/fifo.rs)", 3.0),
                ("core::Processor::run (core/src/processor.rs)", 20.0),
                ("malloc", 50.0),
            ]
        );
    }

    #[test]
    fn what_ended_in_the_longer_run_counts_as_less() {
        let parse = |text: &str| Profile::parse(text, Path::new("/project")).unwrap();
        let few = parse("events: Ir\nfl=a\nfn=f\n1 10\nfl=a\nfn=g\n1 5\nsummary: 15\n");
        let many = parse("events: Ir\nfl=a\nfn=f\n1 30\nsummary: 30\n");
        assert_eq!(many.per_operation(&few, 5).libc, 3.0);
    }

    #[test]
    fn origins_do_not_depend_on_the_machine() {
        let origin = |file| origin(file, Path::new("/home/me/fibre"));
        assert_eq!(origin("/home/me/fibre/src/lib.rs"), "src/lib.rs");
        assert_eq!(
            origin("/home/me/registry/src/index-1949/parking_lot-0.12.3/src/a.rs"),
            "parking_lot"
        );
        assert_eq!(origin("/rustc/5980/library/core/src/cell.rs"), "std");
        assert_eq!(origin("library/std/src/thread/mod.rs"), "std");
        assert_eq!(origin("???"), "elsewhere");
    }

    #[test]
    fn a_file_that_is_cut_off_or_strange_is_an_error() {
        let error = |text: &str| {
            let parsed = Profile::parse(text, Path::new("/project"));
            format!("{:#}", parsed.unwrap_err())
        };
        let text = profile(10, 1, 1);
        assert!(error(text.rsplit_once("summary").unwrap().0).contains("the summary is None"));
        assert!(error(&text.replace("31 7", "31 8")).contains("add up"));
        assert!(error(&text.replace("31 7", "31 x")).contains("not a number"));
        assert!(error(&text.replace("31 7", "+3 7")).contains("not understood"));
        assert!(error(&text.replace("events: Ir", "events: Ir I1mr")).contains("Ir I1mr"));
        assert!(error("events: Ir\n1 1\nsummary: 1\n").contains("before any function"));
    }
}
