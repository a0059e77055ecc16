//! A report as text, for people.
//!
//! The text leaves out the runtime's own frames: those below the waiting call, and those that lead
//! to the fibre's closure. It also leaves out some arguments of long names. JSON has everything.

use crate::gather::{Fibre, State};
use crate::names::cut;
use crate::report::Report;
use crate::sample::stuck::StuckCounts;
use crate::symbols::{Code, Function};
use fibre_core::internal::Count;
use fibre_core::{WaitKind, WaitObject};
use std::fmt::{Result, Write};
use std::sync::Arc;

/// The most fibres of a group that are described one by one.
const DESCRIBED: usize = 3;

/// The most numbers of others.
const LISTED: usize = 20;

/// How the names of the runtime's functions begin.
const RUNTIME: [&str; 4] = ["fibre_core::", "fibre_sync::", "fibre_io::", "fibre_capi::"];

/// How the names of those begin that call closures.
const CALLERS: [&str; 7] = [
    "core::ops::",
    "core::panic::",
    "std::panic",
    "std::panicking::",
    "std::sys::backtrace::",
    "__rust_try",
    "std::thread::",
];

/// Writes a report.
pub(crate) fn write(report: &mut Report<'_>, out: &mut String) -> Result {
    write_head(report, out)?;
    if report.groups.is_empty() {
        writeln!(out, "\nno fibre has started")?;
    }
    write_groups(report, out)?;
    writeln!(out, "end of the dump of process {}", std::process::id())
}

/// Writes what fibres do, with their stacks, and what is lacking there.
pub(crate) fn write_groups(report: &mut Report<'_>, out: &mut String) -> Result {
    for group in 0..report.groups.len() {
        out.push('\n');
        heading(report, group, out)?;
        stack(report, group, out)?;
    }
    out.push('\n');
    for lacking in report.symbols.lacking() {
        writeln!(out, "{lacking}")?;
    }
    Ok(())
}

/// Writes which fibres wait for each other.
pub(crate) fn write_circle(report: &Report<'_>, cycle: &[u64], out: &mut String) -> Result {
    if let [one] = cycle {
        return writeln!(out, "{} waits for itself", name(report, *one));
    }
    let around = cycle.iter().chain(cycle.first());
    let names: Vec<String> = around.map(|id| name(report, *id)).collect();
    writeln!(out, "they wait for each other: {}", names.join(" -> "))
}

/// Writes what there is besides fibres.
pub(crate) fn write_head(report: &Report<'_>, out: &mut String) -> Result {
    writeln!(
        out,
        "fibre: dump of process {} at {}, in {} ms",
        std::process::id(),
        moment(report.time.as_secs()),
        report.looked.as_millis()
    )?;
    for number in 0..report.found.clusters.len() {
        cluster(report, number, out)?;
    }
    for cycle in &report.cycles {
        write_circle(report, cycle, out)?;
    }
    let stuck = StuckCounts::read().fibres;
    if stuck > 0 {
        let stuck = Count(stuck, "stuck fibre");
        writeln!(
            out,
            "{stuck} at the last search: nobody can wake what it has found"
        )?;
    }
    for what in &report.found.unread {
        writeln!(out, "not read: {what}")?;
    }
    let (missed, omitted) = (report.found.missed, report.found.omitted);
    if missed > 0 {
        writeln!(
            out,
            "not read: the fibres of {} that the kernel does not run",
            Count(missed, "processor")
        )?;
    }
    if omitted > 0 {
        let omitted = Count(omitted, "fibre");
        writeln!(out, "not read: {omitted} that came meanwhile")?;
    }
    Ok(())
}

/// Writes how many fibres a cluster has, and what its processors do.
fn cluster(report: &Report<'_>, number: usize, out: &mut String) -> Result {
    let cluster = &report.found.clusters[number];
    let count = |state| {
        let is_one =
            |fibre: &&Fibre| fibre.cluster == number && fibre.id != 0 && fibre.state == state;
        report.found.fibres.iter().filter(is_one).count()
    };
    let [runs, behind, waits, ready] =
        [State::Runs, State::Behind, State::Waits, State::Ready].map(count);
    let new = cluster.live.saturating_sub(runs + behind + waits + ready);
    let (name, live, ready) = (&cluster.name, cluster.live, ready + behind);
    writeln!(
        out,
        "cluster {name:?}: {}: {waits} {}, {ready} {} ready, {runs} {}, {new} {} not started",
        Count(live, "fibre"),
        if waits == 1 { "waits" } else { "wait" },
        if ready == 1 { "is" } else { "are" },
        if runs == 1 { "runs" } else { "run" },
        if new == 1 { "has" } else { "have" },
    )?;
    if let Some([taken, renewed]) = cluster.thread_blocks {
        writeln!(
            out,
            "  fibres have thread-locals of their own: {} taken, {renewed} of them renewed",
            Count(taken, "thread block")
        )?;
    }
    for processor in &cluster.processors {
        let view = processor.view;
        let spare = if view.spare { "spare " } else { "" };
        let (index, thread) = (view.index, view.thread);
        if let Some(activity) = processor.stuck {
            writeln!(
                out,
                "  {spare}processor {index} (thread {thread}) has not switched for 20 ms or more: \
                 {activity}"
            )?;
        } else if !view.spare {
            let does = if view.busy { "switches" } else { "is idle" };
            writeln!(out, "  processor {index} (thread {thread}) {does}")?;
        }
    }
    Ok(())
}

/// A fibre by its number, with its name.
fn name(report: &Report<'_>, id: u64) -> String {
    let fibre = report.fibre(id);
    match fibre.and_then(|fibre| report.found.name(fibre)) {
        Some(name) => format!("fibre {id} {name:?}"),
        None if fibre.is_some() => format!("fibre {id}"),
        None => format!("fibre or thread {id}, which is not here"),
    }
}

/// Writes which fibres a group has, and what they do.
fn heading(report: &Report<'_>, group: usize, out: &mut String) -> Result {
    let group = &report.groups[group];
    let fibres = || group.fibres.iter().map(|at| &report.found.fibres[*at]);
    let several = report.found.clusters.len() > 1;
    let cluster = &report.found.clusters[group.cluster].name;
    if let Some(all) = Some(group.fibres.len()).filter(|count| *count > 1) {
        write!(out, "{} fibres", grouped(all))?;
        if several {
            write!(out, " of cluster {cluster:?}")?;
        }
        match (group.state, group.kind) {
            (State::Waits, Some(kind)) => writeln!(out, " wait for {}:", words(kind))?,
            (State::Behind, _) => writeln!(out, " are ready, and wait for their processor:")?,
            (State::Runs, _) => writeln!(out, " run, and do not let go of their processors:")?,
            _ => writeln!(out, " are ready:")?,
        }
    }
    let lead = if group.fibres.len() > 1 { "  " } else { "" };
    for fibre in fibres().take(DESCRIBED) {
        describe(report, fibre, lead, several.then_some(cluster), out)?;
    }
    let rest: Vec<u64> = fibres().skip(DESCRIBED).map(|fibre| fibre.id).collect();
    if !rest.is_empty() {
        let listed: Vec<_> = rest.iter().take(LISTED).map(u64::to_string).collect();
        let more = if rest.len() > LISTED { ", …" } else { "" };
        writeln!(out, "  and fibres {}{more}", listed.join(", "))?;
        let longest = fibres().filter_map(|fibre| report.waited(fibre)).max();
        if let Some(longest) = longest {
            writeln!(out, "  the longest wait: {:.3} s", longest.as_secs_f64())?;
        }
    }
    Ok(())
}

/// Writes what a fibre does.
pub(crate) fn describe(
    report: &Report<'_>,
    fibre: &Fibre,
    lead: &str,
    cluster: Option<&String>,
    out: &mut String,
) -> Result {
    let who = match fibre.id {
        0 => "a fibre that is not known".to_owned(),
        id => name(report, id),
    };
    write!(out, "{lead}{who}")?;
    if let Some(labels) = report.found.labels(fibre) {
        write!(out, " [{labels}]")?;
    }
    if let Some(cluster) = cluster {
        write!(out, " of cluster {cluster:?}")?;
    }
    let processor = fibre.processor.map(|number| format!(" processor {number}"));
    let processor = processor.unwrap_or_default();
    match (fibre.state, fibre.awaited) {
        (State::Runs, _) => write!(out, " runs, and does not let go of{processor}")?,
        (State::Waits, Some(awaited)) => {
            write!(out, " waits for {awaited}")?;
            if let Some(owner) = fibre.owner {
                let has = if awaited.kind() == WaitKind::Join {
                    "which is"
                } else {
                    "held by"
                };
                write!(out, ", {has} {}", name(report, owner))?;
            }
            if let Some(waited) = report.waited(fibre) {
                write!(out, ", for {:.3} s", waited.as_secs_f64())?;
            }
            if !processor.is_empty() {
                write!(out, "; on{processor}")?;
            }
        }
        (State::Behind, _) => {
            write!(out, " is ready, and waits for{processor}")?;
            if let Some(owner) = fibre.owner {
                write!(out, ", which {} keeps", name(report, owner))?;
            }
        }
        _ => write!(out, " is ready; on{processor}")?,
    }
    out.push('\n');
    Ok(())
}

/// Writes a group's stack.
fn stack(report: &mut Report<'_>, group: usize, out: &mut String) -> Result {
    let (frames, end) = report.stack(group);
    for (address, code, at) in &shown(&frames, end == "the fibre's entry") {
        out.push_str("    ");
        write_function(*address, code, *at, out)?;
        out.push('\n');
    }
    writeln!(out, "    {end}")
}

/// Writes a function of the code at an address, with its line.
pub(crate) fn write_function(address: usize, code: &Code, at: usize, out: &mut String) -> Result {
    let function = &code.functions[at];
    match (&function.name, &code.module) {
        (Some(name), _) => out.push_str(&cut(name)),
        (None, Some((module, offset))) => write!(out, "{address:#x} in {module}+{offset:#x}")?,
        (None, None) => write!(out, "{address:#x}")?,
    }
    match &function.place {
        Some((file, line)) => write!(out, " at {}:{line}", short(file)),
        None => Ok(()),
    }
}

/// A function of a stack: its frame's address, the code there, and which of its functions it is.
pub(crate) type Shown = (usize, Arc<Code>, usize);

/// The functions of a stack without the runtime's own; `whole`: it ends in the fibre's entry.
pub(crate) fn shown(frames: &[(usize, Arc<Code>)], whole: bool) -> Vec<Shown> {
    let each = frames.iter().flat_map(|(address, code)| {
        (0..code.functions.len()).map(|at| (*address, Arc::clone(code), at))
    });
    let mut all: Vec<Shown> = each.collect();
    /// A function of the stack.
    fn function((_, code, at): &Shown) -> &Function {
        &code.functions[*at]
    }
    // The last of the runtime's functions is the one that the program has called.
    let lower = all
        .iter()
        .take_while(|frame| is_runtime(function(frame)))
        .count();
    if lower == all.len() {
        return all;
    }
    let lower = lower.saturating_sub(1);
    let upper = all[lower..].iter().rev();
    let leads_there = |frame: &&Shown| {
        let function = function(frame);
        is_plumbing(function) || is_of(function, &CALLERS)
    };
    let upper = upper.take_while(leads_there);
    let upper = if whole {
        upper.count().min((all.len() - lower).saturating_sub(1))
    } else {
        0
    };
    all.truncate(all.len() - upper);
    all.split_off(lower)
}

/// Whether the function's name begins with one of these.
pub(crate) fn is_of(function: &Function, beginnings: &[&str]) -> bool {
    let name = function.name.as_deref().unwrap_or_default();
    let name = name.trim_start_matches(['<', '&']);
    beginnings
        .iter()
        .any(|beginning| name.starts_with(beginning))
}

/// Whether a function is the runtime's, by its name or its file: where there are lines only, names
/// of functions that were inlined lack their modules.
fn is_runtime(function: &Function) -> bool {
    const CRATES: [(&str, &str); 4] = [
        ("fibre-core/src/", "fibre-core-"),
        ("fibre-sync/src/", "fibre-sync-"),
        ("fibre-io/src/", "fibre-io-"),
        ("fibre-capi/src/", "fibre-capi-"),
    ];
    let file = function.place.as_ref().map(|(file, _)| short(file));
    let lies_there = |file: &str| {
        let mut crates = CRATES.iter();
        crates.any(|(folder, package)| file.contains(folder) || file.starts_with(package))
    };
    is_of(function, &RUNTIME) || file.is_some_and(lies_there)
}

/// Whether a function is the runtime's or std's.
pub(crate) fn is_plumbing(function: &Function) -> bool {
    let file = function.place.as_ref().map(|(file, _)| short(file));
    let crates = ["std/src/", "core/src/", "alloc/src/"];
    let is_std = |file: &str| crates.iter().any(|folder| file.starts_with(folder));
    is_runtime(function) || file.is_some_and(is_std)
}

/// A file's name without the folders that mean nothing to the reader.
pub(crate) fn short(file: &str) -> &str {
    let after = |mark: &str| file.find(mark).map(|at| &file[at + mark.len()..]);
    if let Some(rest) = after("/registry/src/") {
        return rest.split_once('/').map_or(rest, |(_, rest)| rest);
    }
    if file.starts_with("/rustc/") {
        return after("/library/").unwrap_or(file);
    }
    file
}

/// What a kind of object is called, without an address.
pub(crate) fn words(kind: WaitKind) -> String {
    WaitObject::placeless(kind).to_string()
}

/// A number with its thousands set apart.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A moment since 1970 as a date and a time.
fn moment(seconds: u64) -> String {
    let (days, time) = (seconds / 86_400, seconds % 86_400);
    // Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`.
    let shifted = days + 719_468;
    let (era, day) = (shifted / 146_097, shifted % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (time / 3600, time / 60 % 60, time % 60);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_moments_are_readable() {
        assert_eq!(
            [7, 1243, 1_000_000].map(grouped),
            ["7", "1,243", "1,000,000"]
        );
        assert_eq!(moment(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(moment(951_827_696), "2000-02-29 12:34:56 UTC");
        assert_eq!(moment(1_798_761_599), "2026-12-31 23:59:59 UTC");
    }

    #[test]
    fn files_lose_what_means_nothing() {
        assert_eq!(
            short("/home/a/.cargo/registry/src/index-1/serde-1.0/src/lib.rs"),
            "serde-1.0/src/lib.rs"
        );
        assert_eq!(
            short("/rustc/0123/library/std/src/thread.rs"),
            "std/src/thread.rs"
        );
        assert_eq!(short("src/main.rs"), "src/main.rs");
    }
}
