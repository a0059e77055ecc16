//! The results as a page: a table for each family, a row for each clause.

use std::fmt::Write;
use std::process::Command;
use std::thread;

use crate::conformance::mutants::Verdict;
use crate::conformance::program::{FOLDER, Library};
use crate::conformance::queue::Record;
use crate::conformance::trial::{Outcome, SETTINGS};

/// Where it is kept.
pub(crate) const PAGE: &str = "docs/results/conformance.md";

/// The whole page. The verdicts are in the order of the records.
pub(crate) fn page(records: &[Record], verdicts: &[Verdict]) -> String {
    let mut page = String::from("# Conformance of the C library\n\n");
    page += "Written by `cargo xtask c --report`; not to be edited. ";
    page += "How to read it: [conformance.md](../c/conformance.md).\n\n";
    page += &format!("{}\n\n", machine());
    page += &format!("{}\n", totals(records, verdicts));
    let mut family = "";
    for (record, verdict) in records.iter().zip(verdicts) {
        if record.program.family != family {
            family = &record.program.family;
            page += &head(family);
        }
        page += &row(record, verdict);
    }
    page
}

/// How many pass where.
fn totals(records: &[Record], verdicts: &[Verdict]) -> String {
    let mut text = format!("{} clauses.", records.len());
    for (index, setting) in SETTINGS.iter().enumerate() {
        let outcomes = records
            .iter()
            .filter_map(|record| record.outcomes[index].as_ref());
        let (mut passed, mut all) = (0, 0);
        for outcome in outcomes {
            all += 1;
            passed += usize::from(*outcome == Outcome::Passed);
        }
        let _ = write!(text, " {}: {passed} of {all} hold.", setting.title());
    }
    let can_fail = verdicts.iter().filter(|verdict| !verdict.caught.is_empty());
    let _ = write!(
        text,
        " {} of {} programs were seen to fail.",
        can_fail.count(),
        records.len()
    );
    text
}

/// The title and head of a family's table.
fn head(family: &str) -> String {
    let mut head = format!("\n## {family}\n\n| clause | of |");
    for setting in SETTINGS {
        head += &format!(" {} |", setting.title());
    }
    head += " fails if |\n|---|---|";
    head += &"---|".repeat(SETTINGS.len());
    head + "---|\n"
}

/// A clause.
fn row(record: &Record, verdict: &Verdict) -> String {
    let program = &record.program;
    let functions = program.functions.iter().map(|name| format!("`{name}`"));
    let functions = functions.collect::<Vec<_>>().join(", ");
    let clause = program.clause.trim_end_matches('.').replace('|', "\\|");
    let file = program.path.to_string_lossy();
    let file = file.find(FOLDER).map_or(&*file, |at| &file[at..]);
    let mut row = format!("| [{clause}](../../{file}) | {functions} |");
    for (setting, outcome) in SETTINGS.iter().zip(&record.outcomes) {
        let word = match outcome {
            Some(Outcome::Passed) => "holds",
            Some(Outcome::Failed(_)) => "**fails**",
            None if program.is_for(setting.library()) => "not run",
            None if setting.library() == Library::System => "–",
            None => "differs",
        };
        row += &format!(" {word} |");
    }
    row + &format!(" {} |\n", verdict.caught.first().map_or("", String::as_str))
}

/// What the results depend on.
fn machine() -> String {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let kernel = first_line("uname", &["-r"]);
    let libc = first_line("getconf", &["GNU_LIBC_VERSION"]);
    let compiler = first_line("cc", &["--version"]);
    let commit = first_line("git", &["describe", "--always", "--dirty", "--exclude=*"]);
    format!("{cores} cores · Linux {kernel} · {libc} · {compiler} · commit {commit}")
}

/// The first line that a program prints.
fn first_line(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let text = text.unwrap_or_default();
    text.lines().next().unwrap_or("unknown").to_owned()
}
