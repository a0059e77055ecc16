//! What came of the mutants: kept in a file, a line each, so that an interrupted run goes on.
//!
//! A result holds as long as its function is the same, wherever that lies by now. Those that
//! survived are tried again if that is asked for: there may be a new test.

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::mutants::scratch::File;

/// What came of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// This test saw it.
    Killed(String),
    /// All tests that come to it pass.
    Survived,
    /// No test comes to it.
    Unreached,
    /// It does not compile.
    Unviable,
}

/// The results, by file and mutant.
#[derive(Debug)]
pub(crate) struct Results {
    path: PathBuf,
    known: HashMap<String, Verdict>,
}

impl Results {
    /// Reads the results of earlier runs.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).unwrap_or_default();
        let mut known = HashMap::new();
        for line in text.lines() {
            let line: Value = serde_json::from_str(line).context("a result is none")?;
            let word = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
            let verdict = match word("verdict").as_str() {
                "survived" => Verdict::Survived,
                "unreached" => Verdict::Unreached,
                "unviable" => Verdict::Unviable,
                _ => Verdict::Killed(word("by")),
            };
            known.insert(word("mutant"), verdict);
        }
        Ok(Self {
            path: path.to_owned(),
            known,
        })
    }

    /// What came of a mutant of this file, if it has been tried.
    pub(crate) fn of(&self, file: &File, index: usize) -> Option<&Verdict> {
        self.known.get(&file.keys[index])
    }

    /// Keeps one more.
    pub(crate) fn keep(&mut self, file: &File, index: usize, verdict: Verdict) -> Result<()> {
        let mutant = file.keys[index].clone();
        let (word, by) = match &verdict {
            Verdict::Killed(by) => ("killed", by.as_str()),
            Verdict::Survived => ("survived", ""),
            Verdict::Unreached => ("unreached", ""),
            Verdict::Unviable => ("unviable", ""),
        };
        let line = json!({ "mutant": mutant, "verdict": word, "by": by });
        let mut kept = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.path)?;
        writeln!(kept, "{line}")?;
        self.known.insert(mutant, verdict);
        Ok(())
    }
}
