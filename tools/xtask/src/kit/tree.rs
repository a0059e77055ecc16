//! The copy, and the program built of it.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::kit::history::History;
use crate::mutants::find::find;
use crate::mutants::keys::Keys;
use crate::mutants::listed::Listed;
use crate::mutants::mutant::Kind;
use crate::mutants::scratch::{Binary, QUESTION, Scratch};
use crate::mutants::subjects::{SUBJECTS, Subject};

/// Where mutants are made: what fibres wait for and by. What only other threads come to is left
/// out.
const PLACES: [&str; 7] = [
    "fibre-sync/src/",
    "fibre-core/src/wait/",
    "fibre-core/src/fibre/",
    "fibre-io/src/gate/",
    "fibre-io/src/funnel.rs",
    "fibre-io/src/source.rs",
    "fibre-io/src/timeout.rs",
];

/// The C library's objects, which no scenario has.
const RAW: &str = "/raw/";

/// How the sources say that nothing is planted, and how the copy asks.
const NOTHING: &str = "pub const fn planted(_fault: &'static str) -> bool {\n        false\n    }";
const ASKS: &str = "pub fn planted(fault: &'static str) -> bool {\n        \
                    super::planted_faults::is_planted(fault)\n    }";

/// What answers that, and which mutant is to act.
const HOOK: &str = include_str!("hook.rs.txt");
use crate::mutants::scratch::HOOK as MUTANTS;

/// Copies what git knows of the workspace, with all faults planted in it.
pub(crate) fn make(workspace: &Path, root: &Path, history: &History) -> Result<Scratch> {
    let mut scratch = Scratch {
        root: root.to_owned(),
        files: Vec::new(),
    };
    let is_subject = |name: &str| {
        SUBJECTS
            .iter()
            .any(|subject| subject.file == name && has(subject))
    };
    scratch.copy(workspace, is_subject, |name, content| {
        if !name.ends_with(".rs") {
            return Ok(content);
        }
        let Ok(text) = String::from_utf8(content.clone()) else {
            return Ok(content);
        };
        let mut text = history.plant(name, &text)?;
        if name == QUESTION {
            ensure!(text.contains(NOTHING), "{name} asks in another way");
            text = text.replace(NOTHING, ASKS) + HOOK + MUTANTS;
        }
        Ok(text.into_bytes())
    })?;
    let mut keys = Keys::default();
    for subject in SUBJECTS.iter().filter(|subject| has(subject)) {
        let text = std::fs::read_to_string(workspace.join(subject.file))?;
        let text = history.plant(subject.file, &text)?;
        let mut mutants = find(&text, &Listed::default())
            .with_context(|| format!("cannot read {}", subject.file))?;
        // No schedule of one processor sees an ordering.
        mutants.retain(|mutant| mutant.kind != Kind::Ordering);
        scratch.add(subject, text, mutants, &mut keys);
    }
    Ok(scratch)
}

/// Whether mutants of a file are made.
fn has(subject: &Subject) -> bool {
    let named = PLACES.iter().any(|place| subject.file.starts_with(place));
    named && !subject.file.contains(RAW)
}

/// Builds the kit's example of it.
pub(crate) fn build(scratch: &mut Scratch, target: &Path) -> Result<Binary> {
    let root = scratch.root.clone();
    let programs = scratch.build(|| {
        let mut command = Command::new("cargo");
        command
            .current_dir(&root)
            .args(["build", "--package", "fibre-test"]);
        command.args(["--example", "objects", "--message-format=json"]);
        command.arg("--target-dir").arg(target);
        command.env("RUSTFLAGS", crate::mutants::scratch::QUIET);
        command
    })?;
    programs.into_iter().next().context("no program was built")
}
