//! A report as trees, for people: who has spawned whom, and who is cancelled together.
//!
//! Each fibre stands below the one that has spawned it. One with a parent that has ended stands at
//! the left, and names it.

use crate::form::text::{describe, write_head};
use crate::gather::Fibre;
use crate::report::Report;
use fibre_core::internal::Count;
use std::collections::HashMap;
use std::fmt::{Result, Write};

/// The most fibres that are shown below one.
const CHILDREN: usize = 100;

/// The most fibres that are listed for a group.
const MEMBERS: usize = 50;

/// The greatest depth that shifts a line.
const DEEPEST: usize = 40;

/// The places of the fibres that stand below each one; those below nobody stand at the left.
type Tree = HashMap<Option<u64>, Vec<usize>>;

/// Writes a report.
pub(crate) fn write(report: &Report<'_>, out: &mut String) -> Result {
    write_head(report, out)?;
    let fibres = &report.found.fibres;
    out.push('\n');
    if fibres.is_empty() {
        writeln!(out, "no fibre has started")?;
    } else if fibres.iter().all(|fibre| fibre.parent.is_none()) {
        writeln!(
            out,
            "who has spawned them is not known (FIBRE_PARENTS=1 has it noted)"
        )?;
    }
    write_fibres(report, out)?;
    if !report.found.cancel_groups.is_empty() {
        writeln!(out, "\ngroups that are cancelled together:")?;
        write_groups(report, out)?;
    }
    writeln!(out, "end of the dump of process {}", std::process::id())
}

/// Writes all fibres, each above those that it has spawned.
fn write_fibres(report: &Report<'_>, out: &mut String) -> Result {
    let fibres = &report.found.fibres;
    let mut tree = Tree::new();
    for (place, fibre) in fibres.iter().enumerate() {
        let parent = fibre
            .parent
            .filter(|parent| report.fibre(*parent).is_some());
        tree.entry(parent).or_default().push(place);
    }
    for children in tree.values_mut() {
        children.sort_by_key(|place| fibres[*place].id);
    }
    // What is still to be written, the next one last: a fibre, or how many others there are.
    let mut rest = Vec::new();
    let push = |rest: &mut Vec<_>, parent, depth| {
        let Some(children) = tree.get(&parent) else {
            return;
        };
        let shown = match parent {
            Some(_) => children.len().min(CHILDREN),
            None => children.len(),
        };
        if children.len() > shown {
            rest.push((Err(children.len() - shown), depth));
        }
        rest.extend(
            children[..shown]
                .iter()
                .rev()
                .map(|place| (Ok(*place), depth)),
        );
    };
    push(&mut rest, None, 0);
    while let Some((next, depth)) = rest.pop() {
        let lead = "  ".repeat(depth.min(DEEPEST));
        match next {
            Ok(place) => {
                let fibre = &fibres[place];
                write_fibre(report, fibre, &lead, out)?;
                if fibre.id != 0 {
                    push(&mut rest, Some(fibre.id), depth + 1);
                }
            }
            Err(others) => writeln!(out, "{lead}and {}", Count(others, "other"))?,
        }
    }
    Ok(())
}

/// Writes a line for a fibre.
fn write_fibre(report: &Report<'_>, fibre: &Fibre, lead: &str, out: &mut String) -> Result {
    let clusters = &report.found.clusters;
    let cluster = (clusters.len() > 1).then(|| &clusters[fibre.cluster].name);
    let mut line = String::new();
    describe(report, fibre, lead, cluster, &mut line)?;
    out.push_str(line.trim_end());
    if let Some(group) = fibre.cancel_group {
        write!(out, "; in group {}", group + 1)?;
    }
    match fibre.parent {
        Some(parent) if report.fibre(parent).is_none() => {
            writeln!(out, "; spawned by fibre {parent}, which is not here")
        }
        _ => writeln!(out),
    }
}

/// Writes the groups, each above those within it.
fn write_groups(report: &Report<'_>, out: &mut String) -> Result {
    let groups = &report.found.cancel_groups;
    let mut members = vec![Vec::new(); groups.len()];
    for fibre in &report.found.fibres {
        if let Some(group) = fibre.cancel_group {
            members[group].push(fibre.id);
        }
    }
    let mut inner: HashMap<Option<usize>, Vec<usize>> = HashMap::new();
    for (place, group) in groups.iter().enumerate().rev() {
        inner.entry(group.outer).or_default().push(place);
    }
    let below = |outer, depth| {
        let places = inner.get(&outer).into_iter().flatten();
        places.map(move |place| (*place, depth))
    };
    let mut rest: Vec<(usize, usize)> = below(None, 0).collect();
    while let Some((place, depth)) = rest.pop() {
        let cancelled = if groups[place].cancelled {
            ", cancelled"
        } else {
            ""
        };
        let lead = "  ".repeat(depth.min(DEEPEST));
        write!(out, "{lead}group {}{cancelled}: ", place + 1)?;
        write_members(&mut members[place], out)?;
        rest.extend(below(Some(place), depth + 1));
    }
    Ok(())
}

/// Writes the numbers of a group's fibres.
fn write_members(members: &mut [u64], out: &mut String) -> Result {
    members.sort_unstable();
    let listed: Vec<_> = members.iter().take(MEMBERS).map(u64::to_string).collect();
    let more = if members.len() > MEMBERS { ", …" } else { "" };
    match members.len() {
        0 => writeln!(out, "no fibre"),
        1 => writeln!(out, "fibre {}", listed[0]),
        _ => writeln!(out, "fibres {}{more}", listed.join(", ")),
    }
}
