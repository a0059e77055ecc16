//! `instructions`: counts what the hot paths execute, and fails if that has grown.
//!
//! The counts are compared with those in `benches/fibre-bench/instructions.toml`, which only this
//! lane writes. How it counts, and what it allows: [`crate::instructions`].

use std::path::PathBuf;

use anyhow::{Result, bail, ensure};
use clap::Args;

use crate::instructions::counter::{Counter, Listed, Outcome};
use crate::instructions::counts::Counts;
use crate::instructions::kept::Kept;
use crate::instructions::setting::Setting;
use crate::instructions::verdict::{self, Verdict};
use crate::lanes::test;
use crate::steps::Steps;
use crate::workspace::{Workspace, require_program};

/// The file of counts.
const KEPT: &str = "benches/fibre-bench/instructions.toml";

/// The programs that have paths: fibre's own, and those of calls with the names of `fibre-libc`,
/// which would be in all of a program.
const PROGRAMS: [&str; 2] = ["paths", "names"];

/// An example: with it, cargo counts the dependencies of tests.
const EXAMPLE: &str = "webserver";

/// What writes it.
const UPDATE: &str = "cargo xtask instructions --update";

/// The profile that is counted: the one that users build with.
const PROFILE: &str = "release";

/// Which paths, and what to do with the counts.
#[derive(Args, Default)]
pub(crate) struct Options {
    /// Writes the counts to the file instead of comparing them
    #[arg(long)]
    update: bool,
    /// Prints the functions of each path, too
    #[arg(long)]
    functions: bool,
    /// The paths to count; all, if none is named
    paths: Vec<String>,
}

/// Runs the lane.
pub(crate) fn run(workspace: &Workspace, steps: &mut Steps, options: &Options) -> Result<()> {
    steps.check("instructions: counter", || {
        require_program("valgrind", "Debian: apt-get install valgrind")?;
        Ok("valgrind is installed".into())
    })?;
    // What the other lanes build in release. Its features add code that these paths do not reach.
    // The example makes cargo take the features that tests have, and so what is built for them.
    let mut build = test::of_release("build");
    build.args(["--profile", PROFILE, "--example", EXAMPLE]);
    for program in PROGRAMS {
        build.args(["--bin", program]);
    }
    steps.run("instructions: build", build)?;
    let mut notes = Vec::new();
    let outcome = steps.check("instructions: count", || {
        Gate::new(workspace, options)?.run(&mut notes)
    });
    for note in notes {
        steps.note(format!("instructions: {note}"));
    }
    outcome
}

/// The comparison, while it is made.
struct Gate<'a> {
    /// What to do.
    options: &'a Options,
    /// What counts.
    counter: Counter,
    /// Where the file lies.
    file: PathBuf,
    /// The file, and what it will be.
    kept: Kept,
    /// What is in use here.
    setting: Setting,
    /// How that differs from what was in use when the file was written.
    differences: Vec<String>,
    /// What is wrong, a text for each path.
    faults: Vec<String>,
    /// The paths that have become cheaper.
    cheaper: Vec<String>,
}

impl<'a> Gate<'a> {
    /// Reads the file, and what is in use.
    fn new(workspace: &'a Workspace, options: &'a Options) -> Result<Self> {
        let counter = Counter {
            programs: PROGRAMS
                .map(|name| workspace.target_dir(PROFILE).join(name))
                .into(),
            folder: workspace.target_dir("instructions"),
            root: workspace.root().to_owned(),
        };
        std::fs::create_dir_all(&counter.folder)?;
        let file = workspace.root().join(KEPT);
        let kept = Kept::read(&file)?;
        let setting = Setting::here(PROFILE)?;
        let recorded = kept.recorded.as_ref();
        Ok(Self {
            options,
            counter,
            file,
            differences: recorded.map_or_else(Vec::new, |then| setting.differences(then)),
            kept,
            setting,
            faults: Vec::new(),
            cheaper: Vec::new(),
        })
    }

    /// Counts, compares, and writes or judges; what a reader must know besides goes to `notes`.
    fn run(mut self, notes: &mut Vec<String>) -> Result<String> {
        notes.extend(self.differences.iter().cloned());
        if self.is_of_another_target() && !self.options.update {
            notes.push("so nothing was compared".into());
            return Ok("not compared".into());
        }
        let (chosen, total) = self.choose()?;
        let mut counted = 0;
        println!("{}", verdict::heading());
        for path in &chosen {
            match self.counter.count(path)? {
                Outcome::Counted(counts) => {
                    counted += 1;
                    self.judge(&path.name, counts);
                }
                Outcome::Unknown(call) => notes.extend(self.pass_over(&path.name, &call)),
            }
        }
        if self.options.update {
            self.kept.recorded = Some(self.setting);
            self.kept.write(&self.file)?;
            return Ok(format!("{KEPT} written"));
        }
        if !self.cheaper.is_empty() {
            let cheaper = self.cheaper.join(", ");
            notes.push(format!("cheaper than kept: {cheaper}; keep it: `{UPDATE}`"));
        }
        self.conclude()?;
        Ok(format!("{counted} of {total} paths"))
    }

    /// Whether the kept counts are of other machine code altogether.
    fn is_of_another_target(&self) -> bool {
        let recorded = self.kept.recorded.as_ref();
        recorded.is_some_and(|recorded| recorded.target() != self.setting.target())
    }

    /// The paths to count, and how many there are. Those that are gone are forgotten, or a fault.
    fn choose(&mut self) -> Result<(Vec<Listed>, usize)> {
        let mut listed = self.counter.list()?;
        let total = listed.len();
        let wanted = &self.options.paths;
        let exists = |name: &str| listed.iter().any(|path| path.name == name);
        for name in wanted {
            ensure!(exists(name), "there is no path `{name}`");
        }
        if self.options.update {
            let all = wanted.is_empty() || self.differences.is_empty();
            let why = self.differences.join("; ");
            ensure!(all, "all paths must be updated together: {why}");
            self.kept.retain(exists);
        }
        let gone = self.kept.names().filter(|name| !exists(name));
        let gone = gone.map(|name| format!("{name}: there is no such path any more"));
        self.faults.extend(gone);
        listed.retain(|path| wanted.is_empty() || wanted.contains(&path.name));
        Ok((listed, total))
    }

    /// Prints the row of a counted path; keeps the count, or compares it.
    fn judge(&mut self, name: &str, counts: Counts) {
        let kept = self.kept.counts(name);
        let tolerance = self.kept.tolerance(name);
        let verdict = Verdict::of(kept, &counts, tolerance);
        println!("{}", verdict::row(name, kept, &counts, verdict));
        if self.options.functions {
            println!("{}", verdict::functions(&counts));
        }
        if self.options.update {
            return self.kept.set_counts(name, counts);
        }
        match (verdict, kept) {
            (Verdict::Dearer, Some(kept)) => {
                let report = verdict::report(name, kept, &counts, tolerance);
                let file = self.counter.file(name);
                let lines = format!("  by line: cg_annotate {}", file.display());
                self.faults.push(format!("{report}\n{lines}"));
            }
            (Verdict::NotKept, _) => self.faults.push(format!("{name}: not in {KEPT}")),
            (Verdict::Cheaper, _) => self.cheaper.push(name.to_owned()),
            (Verdict::Same | Verdict::Dearer, _) => {}
        }
    }

    /// A path that this valgrind cannot run: a fault if another one could, else a note.
    fn pass_over(&mut self, name: &str, call: &str) -> Option<String> {
        println!("{name:<12} valgrind does not know system call {call}");
        let text =
            format!("{name}: not counted, since this valgrind does not know system call {call}");
        if self.kept.counts(name).is_some() && !self.options.update {
            self.faults.push(text);
            return None;
        }
        Some(text)
    }

    /// Fails if anything is wrong. If the setting has changed, that is said first: it may be why.
    fn conclude(&self) -> Result<()> {
        if self.faults.is_empty() {
            return Ok(());
        }
        let causes = self.differences.iter().chain(&self.faults);
        let causes: Vec<&str> = causes.map(String::as_str).collect();
        let causes = causes.join("\n");
        bail!("\n{causes}\nif it is meant to cost that much: `{UPDATE}`")
    }
}
