//! `types`: which types of other crates the published crates show.
//!
//! A program that names such a type must have that crate in the same version, and a new version of
//! it breaks the program. So the manifest of a published crate lists those that belong to its
//! interface, under the key that cargo-check-external-types reads. All others fail, and so does an
//! entry that nothing needs.
//!
//! What a crate shows is read from its documentation, which rustdoc writes as JSON. That form is
//! not stable, so rustdoc is told to accept it; the compiler is told nothing. From the root of a
//! crate, the walk goes over all that programs can name, also where it is another crate of ours
//! that has it. The facade shows a part of the crates below it; the rest of those is for crates of
//! ours, and is not judged.

mod interface;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};
use toml::{Table, Value};

use crate::steps::Steps;
use crate::workspace::{OPTIONAL, Workspace, cargo, read_manifest};
use interface::Interfaces;

/// The crates that are judged, with the names of their libraries.
const JUDGED: [(&str, &str); 10] = [
    ("fibre-rt", "fibre"),
    ("fibre-actors", "fibre_actors"),
    ("fibre-events", "fibre_events"),
    ("fibre-tasks", "fibre_tasks"),
    ("fibre-hyper", "fibre_hyper"),
    ("fibre-rustls", "fibre_rustls"),
    ("fibre-ureq", "fibre_ureq"),
    ("fibre-libc", "fibre_libc"),
    ("fibre-test", "fibre_test"),
    ("fibre-inspect", "fibre_inspect"),
];

/// The crates below the facade, which have most of what it shows.
const BELOW: [(&str, &str); 3] = [
    ("fibre-core", "fibre_core"),
    ("fibre-sync", "fibre_sync"),
    ("fibre-io", "fibre_io"),
];

/// What stands for rustdoc.
const RUSTDOC: &str = "#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec rustdoc \"$@\"\n";

/// Runs the lane.
pub(crate) fn run(workspace: &Workspace, steps: &mut Steps) -> Result<()> {
    let target = workspace.root().join(workspace.target_dir("types"));
    fs::create_dir_all(&target)?;
    let rustdoc = target.join("rustdoc");
    fs::write(&rustdoc, RUSTDOC)?;
    fs::set_permissions(&rustdoc, fs::Permissions::from_mode(0o755))?;
    steps.run("types: documentation", document(&rustdoc))?;
    let documents = workspace.root().join(workspace.target_dir("doc"));
    steps.check("types: of other crates", || {
        let mut interfaces = Interfaces::default();
        for (_, library) in JUDGED.iter().chain(&BELOW) {
            interfaces.read(&documents, library)?;
        }
        let mut shown = 0;
        for (name, library) in JUDGED {
            shown += judge(workspace, name, &interfaces.foreign(library)?)?;
        }
        Ok(format!("{shown} in {} crates", JUDGED.len()))
    })
}

/// Writes the documentation of all libraries as JSON, with the build of what they need that `doc`
/// has made.
fn document(rustdoc: &Path) -> Command {
    let mut command = cargo(["doc", "--lib", "--no-deps"]);
    for (name, _) in JUDGED.iter().chain(&BELOW) {
        command.args(["--package", name]);
    }
    command.args(OPTIONAL).env("RUSTDOC", rustdoc);
    command.env("RUSTDOCFLAGS", "-Zunstable-options --output-format=json");
    command
}

/// Compares the types that a crate shows with those that its manifest lists; how many there are.
fn judge(workspace: &Workspace, name: &str, shown: &[(String, String)]) -> Result<usize> {
    let folder = match name {
        "fibre-rt" => workspace.root().to_owned(),
        name => workspace.folder_of(name),
    };
    let allowed = allowed(&read_manifest(&folder.join("Cargo.toml"))?);
    let faults = compare(&allowed, shown);
    if !faults.is_empty() {
        bail!("{name}: {}", faults.join("; "));
    }
    Ok(shown.len())
}

/// What a manifest lists.
fn allowed(manifest: &Table) -> Vec<String> {
    let listed = [
        "metadata",
        "cargo_check_external_types",
        "allowed_external_types",
    ]
    .iter()
    .try_fold(&manifest["package"], |table, key| table.get(key));
    let listed = listed.and_then(Value::as_array).into_iter().flatten();
    listed
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

/// What is shown and not allowed, and what is allowed and not shown.
fn compare(allowed: &[String], shown: &[(String, String)]) -> Vec<String> {
    let mut faults = Vec::new();
    for (path, place) in shown {
        if !allowed.iter().any(|pattern| matches(pattern, path)) {
            faults.push(format!("`{place}` shows {path}"));
        }
    }
    for pattern in allowed {
        if !shown.iter().any(|(path, _)| matches(pattern, path)) {
            faults.push(format!("{pattern} is allowed, and not shown"));
        }
    }
    faults
}

/// Whether a path is what a pattern says: the same, or below what stands before `*`.
fn matches(pattern: &str, path: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(before) => path.starts_with(before),
        None => pattern == path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_that_is_not_listed_fails_and_so_does_a_useless_entry() {
        let shown = [("hyper::body::Body".to_owned(), "serve".to_owned())];
        assert!(compare(&["hyper::*".to_owned()], &shown).is_empty());
        assert!(compare(&["hyper::body::Body".to_owned()], &shown).is_empty());
        assert_eq!(compare(&[], &shown), ["`serve` shows hyper::body::Body"]);
        let faults = compare(&["hyper::*".to_owned(), "http::*".to_owned()], &shown);
        assert_eq!(faults, ["http::* is allowed, and not shown"]);
    }

    #[test]
    fn manifests_list_types() {
        let text = "[package.metadata.cargo_check_external_types]\n\
            allowed_external_types = [\"http::*\"]\n";
        assert_eq!(allowed(&text.parse().unwrap()), ["http::*"]);
        assert!(allowed(&"[package]\nname = \"x\"\n".parse().unwrap()).is_empty());
    }
}
