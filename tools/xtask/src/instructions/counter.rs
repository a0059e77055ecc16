//! Running a path under valgrind, and counting what one operation takes.
//!
//! Each path runs twice, with few and with many operations; the difference is free of what it costs
//! to start, to warm up and to end.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result};

use crate::instructions::counts::Counts;
use crate::instructions::profile::Profile;

/// Operations of the shorter run: enough that everything is warm.
const FEW: u64 = 12_800;

/// Seconds that one run may take; they take about one.
const LIMIT: &str = "120";

/// A path as the program lists it.
pub(crate) struct Listed {
    /// Its name.
    pub(crate) name: String,
    /// How many operations to count.
    operations: u64,
    /// The program that has it.
    program: PathBuf,
}

/// What became of running a path to count it.
#[must_use]
pub(crate) enum Outcome<T> {
    /// It was counted, with this result.
    Counted(T),
    /// valgrind does not know the system call of this number, which the path needs.
    Unknown(String),
}

/// The programs that have paths, to be run under valgrind.
pub(crate) struct Counter {
    /// The programs.
    pub(crate) programs: Vec<PathBuf>,
    /// Where valgrind's files go.
    pub(crate) folder: PathBuf,
    /// The workspace, which names of sources are relative to.
    pub(crate) root: PathBuf,
}

impl Counter {
    /// The paths of all programs.
    pub(crate) fn list(&self) -> Result<Vec<Listed>> {
        let mut all = Vec::new();
        for program in &self.programs {
            let output = Command::new(program)
                .output()
                .with_context(|| format!("cannot start {}", program.display()))?;
            let text = String::from_utf8_lossy(&output.stdout);
            let paths: Option<Vec<Listed>> =
                text.lines().map(|line| listed(program, line)).collect();
            let paths = paths.filter(|paths| !paths.is_empty());
            all.extend(paths.with_context(|| format!("this is no list of paths: {text}"))?);
        }
        Ok(all)
    }

    /// Counts one path.
    pub(crate) fn count(&self, path: &Listed) -> Result<Outcome<Counts>> {
        let few = self.profile(path, "few", FEW)?;
        let many = self.profile(path, "many", FEW + path.operations)?;
        Ok(match (few, many) {
            (Outcome::Counted(few), Outcome::Counted(many)) => {
                Outcome::Counted(many.per_operation(&few, path.operations))
            }
            (Outcome::Unknown(call), _) | (_, Outcome::Unknown(call)) => Outcome::Unknown(call),
        })
    }

    /// The file that the longer run of a path leaves.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.many"))
    }

    /// Runs a path so often, and reads what valgrind has written.
    fn profile(&self, path: &Listed, length: &str, operations: u64) -> Result<Outcome<Profile>> {
        let name = &path.name;
        let file = self.folder.join(format!("{name}.{length}"));
        let output = self.valgrind(&file, path, operations)?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let call = refused_system_call(&said).map(Outcome::Unknown);
            return call.with_context(|| format!("{name} failed: {}\n{said}", output.status));
        }
        let profile = Profile::parse(&fs::read_to_string(&file)?, &self.root);
        let profile = profile.with_context(|| format!("cannot read {}", file.display()))?;
        Ok(Outcome::Counted(profile))
    }

    /// Runs a path under valgrind, which writes to `file`; with the runtime's default settings.
    fn valgrind(&self, file: &Path, path: &Listed, operations: u64) -> Result<Output> {
        let mut command = Command::new("timeout");
        command.args(["--kill-after=10", LIMIT, "valgrind"]);
        command.args(["--tool=cachegrind", "--cache-sim=no"]);
        command.arg(format!("--cachegrind-out-file={}", file.display()));
        command
            .arg(&path.program)
            .args([&path.name, &operations.to_string()]);
        let settings = env::vars_os().map(|(name, _)| name);
        for name in settings.filter(|name| name.to_string_lossy().starts_with("FIBRE_")) {
            command.env_remove(name);
        }
        command.output().context("cannot start valgrind")
    }
}

/// A line of a program's list.
fn listed(program: &Path, line: &str) -> Option<Listed> {
    let (name, operations) = line.split_once(' ')?;
    Some(Listed {
        name: name.to_owned(),
        operations: operations.parse().ok()?,
        program: program.to_owned(),
    })
}

/// The number of a system call that valgrind has refused, by what it prints.
fn refused_system_call(said: &str) -> Option<String> {
    let (_, after) = said.split_once("WARNING: unhandled ")?;
    let (_, number) = after.lines().next()?.split_once("syscall: ")?;
    Some(number.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_system_call_is_recognised() {
        let said = "==7== Command: paths echo 100\n\
            --7-- WARNING: unhandled amd64-linux syscall: 441\n--7-- You may be able to\n";
        assert_eq!(refused_system_call(said).as_deref(), Some("441"));
        assert_eq!(refused_system_call("==7== I   refs: 100\n"), None);
    }

    #[test]
    fn a_path_is_listed_with_its_operations() {
        let listed = |line| listed(Path::new("paths"), line);
        let path = listed("spawn-100 64000").unwrap();
        assert_eq!((&*path.name, path.operations), ("spawn-100", 64_000));
        assert!(listed("spawn-100").is_none());
    }
}
