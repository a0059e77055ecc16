//! The shape of commit subjects: `module: verb …`, at most 72 characters, no full stop.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::tidy::source::Violation;

/// Characters in a subject, at most.
const SUBJECT: usize = 72;

/// Abbreviated hash and subject of every commit that HEAD contains, merges left out, and a remark
/// for the summary.
///
/// A tree that is not under git, or has no commit yet, has no subjects; the remark says so.
pub(crate) fn subjects(root: &Path) -> Result<(Vec<(String, String)>, String)> {
    let log = Command::new("git")
        .current_dir(root)
        .args(["log", "--no-merges", "--format=%h %s", "HEAD", "--"])
        .output();
    let Ok(log) = log else {
        return Ok((
            Vec::new(),
            "no commits checked: git is not installed".into(),
        ));
    };
    if !log.status.success() {
        return Ok((Vec::new(), "no commits checked: no git history".into()));
    }
    let subjects: Vec<_> = String::from_utf8_lossy(&log.stdout)
        .lines()
        .map(|line| line.split_once(' ').unwrap_or((line, "")))
        .map(|(hash, subject)| (hash.to_owned(), subject.to_owned()))
        .collect();
    let remark = format!("{} commit subjects", subjects.len());
    Ok((subjects, remark))
}

/// Checks all subjects.
pub(crate) fn check(subjects: &[(String, String)]) -> Vec<Violation> {
    let broken = subjects.iter().filter_map(|(hash, subject)| {
        let text = broken_rule(subject)?;
        Some(Violation {
            place: format!("commit {hash}"),
            line: 0,
            text: format!("{text}: {subject}"),
        })
    });
    broken.collect()
}

/// What is wrong with a subject.
fn broken_rule(subject: &str) -> Option<&'static str> {
    let Some((modules, verb)) = subject.split_once(": ") else {
        return Some("the subject is not `module: verb …`");
    };
    let in_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_./, ".contains(c);
    if modules.is_empty() || !modules.chars().all(in_name) {
        return Some("the module is not in lower case");
    }
    if !verb.starts_with(|c: char| c.is_ascii_lowercase()) {
        return Some("the subject does not go on with a verb in lower case");
    }
    if subject.ends_with('.') {
        return Some("the subject ends with a full stop");
    }
    (subject.chars().count() > SUBJECT).then_some("the subject is longer than 72 characters")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn well_shaped_subjects_pass() {
        for subject in [
            "idle: wake one searcher at most",
            "core, io: name the poller",
        ] {
            assert_eq!(broken_rule(subject), None);
        }
    }

    #[test]
    fn others_fail() {
        let long = format!("idle: {}", "w".repeat(SUBJECT));
        for subject in [
            "Fix the build",
            "Idle: wake one",
            ": wake one",
            "idle: Wake one",
            "idle: wake one.",
            "idle:wake one",
            &long,
        ] {
            let commit = ("abc".to_owned(), subject.to_owned());
            assert_eq!(check(&[commit]).len(), 1, "{subject}");
        }
    }
}
