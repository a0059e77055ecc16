//! What cargo-mutants would change: functions that return at once, other operators, missing signs
//! and arms.
//!
//! cargo-mutants knows which values a function of some type may return, and what operators stand in
//! for each other; its list is taken over. Its own runs build the crate anew for each mutant, and
//! its tests see one lane only, so the mutants are woven in here.

use std::collections::{HashMap, HashSet};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use proc_macro2::{LineColumn, Span};
use serde_json::Value;

/// A line and a column, both from 1 on.
type Place = (usize, usize);

/// The list, of one file.
#[derive(Debug, Default)]
pub(crate) struct Listed {
    /// What a function may return, by where it ends.
    values: HashMap<Place, Vec<String>>,
    /// What may stand instead of an operator, by where that begins.
    operators: HashMap<Place, Vec<String>>,
    /// Where a sign, or an arm of a match, begins that may be left out.
    deleted: HashSet<Place>,
}

/// The whole list, by files.
pub(crate) type Lists = HashMap<String, Listed>;

/// Asks cargo-mutants for its list of the workspace.
pub(crate) fn ask() -> Result<Lists> {
    let mut command = Command::new("cargo");
    command.args(["mutants", "--list", "--json", "--workspace"]);
    let output = command.output().context("cannot start cargo")?;
    ensure!(
        output.status.success(),
        "`cargo mutants --list` failed (to install it: `cargo install cargo-mutants --locked`):\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    read(&serde_json::from_slice(&output.stdout).context("cargo-mutants wrote no JSON")?)
}

/// Reads the list.
pub(crate) fn read(list: &Value) -> Result<Lists> {
    let mut lists = Lists::new();
    for mutant in list.as_array().context("the list is none")? {
        let word = |name: &str| mutant[name].as_str().unwrap_or_default().to_owned();
        let listed = lists.entry(word("file")).or_default();
        let begins = place(&mutant["span"]["start"]);
        match word("genre").as_str() {
            "FnValue" => {
                let ends = place(&mutant["function"]["span"]["end"]);
                add(listed.values.entry(ends).or_default(), word("replacement"));
            }
            "BinaryOperator" => {
                add(
                    listed.operators.entry(begins).or_default(),
                    word("replacement"),
                );
            }
            "UnaryOperator" | "MatchArm" => {
                listed.deleted.insert(begins);
            }
            _ => {}
        }
    }
    Ok(lists)
}

/// Adds a word, once: a file that is compiled under two names is in the list twice.
fn add(words: &mut Vec<String>, word: String) {
    if !words.contains(&word) {
        words.push(word);
    }
}

/// A place in the list.
fn place(value: &Value) -> Place {
    let number = |name: &str| value[name].as_u64().unwrap_or_default() as usize;
    (number("line"), number("column"))
}

/// A place as the compiler counts.
fn counted(place: LineColumn) -> Place {
    (place.line, place.column + 1)
}

impl Listed {
    /// What the function with this body may return at once.
    pub(crate) fn values(&self, body: Span) -> &[String] {
        self.values
            .get(&counted(body.end()))
            .map_or(&[], Vec::as_slice)
    }

    /// What may stand instead of this operator.
    pub(crate) fn operators(&self, operator: Span) -> &[String] {
        let place = counted(operator.start());
        self.operators.get(&place).map_or(&[], Vec::as_slice)
    }

    /// Whether what begins here may be left out.
    pub(crate) fn is_deleted(&self, span: Span) -> bool {
        self.deleted.contains(&counted(span.start()))
    }
}
