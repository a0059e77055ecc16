//! What is shown as text, for terminals and for files.

use crate::snapshot::{Cluster, Group, Processor};
use crate::view::{Rates, View};
use std::fmt::Write;

/// The most groups of fibres, and places, in a text.
const MOST: usize = 12;

/// The view as a text.
pub(crate) fn text(view: &View) -> String {
    let mut text = head(view) + "\n";
    for (at, cluster) in view.snapshot.clusters.iter().enumerate() {
        text += &format!(
            "\n{}\n{}\n",
            cluster_line(cluster, view.spawns[at]),
            COLUMNS.join("  ")
        );
        for row in processors(view, at) {
            let cells = row.iter().zip(COLUMNS).map(|(cell, head)| {
                let width = head.chars().count();
                format!("{cell:>width$}")
            });
            text += &(cells.collect::<Vec<_>>().join("  ") + "\n");
        }
        if cluster.omitted > 0 {
            // A string takes it.
            let _ = writeln!(text, "and {} more processors", cluster.omitted);
        }
    }
    text += &format!("\n{}\n", look_line(view));
    for group in view.groups().into_iter().take(MOST) {
        text += &format!("{:>9}  {}\n", group.count, group_line(group));
    }
    text += "\nfibres by what was spawned\n";
    for place in view.places.iter().take(MOST) {
        text += &format!("{:>9}  {}\n", place.count, place.spawned);
    }
    text
}

/// The heads of the processors' columns.
pub(crate) const COLUMNS: [&str; 9] = [
    "  no", "state", " CPU %", "queued", "switch/s", "steal/s", "sleep/s", "polls/s", "events/s",
];

/// The first line.
pub(crate) fn head(view: &View) -> String {
    let snapshot = &view.snapshot;
    let seconds = snapshot.uptime_ms / 1000;
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    let blocks = match snapshot.thread_blocks_born {
        0 => String::new(),
        _ => format!(
            "; {}, {} free",
            counted(snapshot.thread_blocks, "thread block"),
            snapshot.thread_blocks_free
        ),
    };
    format!(
        "{} ({}), up {hours}:{minutes:02}:{:02}; {}, {} free{blocks}; {} on {}",
        view.name,
        snapshot.process,
        seconds % 60,
        counted(snapshot.stacks, "stack"),
        snapshot.stacks_free,
        counted(snapshot.blocking_pending, "blocking call"),
        counted(snapshot.blocking_threads, "thread"),
    )
}

/// A number with the noun that it counts.
fn counted(number: u64, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{ending}")
}

/// A number, or a question mark.
fn known(number: Option<u64>) -> String {
    number.map_or_else(|| "?".to_owned(), |number| number.to_string())
}

/// The line of a cluster.
pub(crate) fn cluster_line(cluster: &Cluster, spawns: f64) -> String {
    format!(
        "cluster {:?}: {}: {} {} or could, {} {}, {} {} new; {spawns:.0} spawned/s",
        cluster.name,
        counted(cluster.fibres, "fibre"),
        known(cluster.runnable),
        if cluster.runnable == Some(1) {
            "runs"
        } else {
            "run"
        },
        known(cluster.blocked),
        if cluster.blocked == Some(1) {
            "waits"
        } else {
            "wait"
        },
        cluster.unstarted,
        if cluster.unstarted == 1 { "is" } else { "are" },
    ) + &cluster_extras(cluster)
}

/// What few clusters have: thread-locals of their own, and processors that others had to help.
fn cluster_extras(cluster: &Cluster) -> String {
    let sum = |count: fn(&Processor) -> u64| cluster.processors.iter().map(count).sum::<u64>();
    let mut extras = String::new();
    if cluster.own_thread_locals {
        extras.push_str("; thread-locals of their own");
    }
    let (fibres, timers) = (sum(|one| one.rescued_fibres), sum(|one| one.rescued_timers));
    if fibres + timers > 0 {
        let (fibres, timers) = (counted(fibres, "fibre"), counted(timers, "timer"));
        // A string takes it.
        let _ = write!(extras, "; {fibres} and {timers} rescued");
    }
    extras
}

/// The cells of a cluster's processors, in the order of [`COLUMNS`].
pub(crate) fn processors(view: &View, cluster: usize) -> Vec<[String; COLUMNS.len()]> {
    let each = view.snapshot.clusters[cluster].processors.iter();
    let row = |(processor, rates): (&Processor, &Rates)| {
        let rate = |rate: f64| format!("{rate:.0}");
        let spare = if processor.spare { "+" } else { "" };
        let utilisation = rates.utilisation.map(|part| format!("{:.1}", 100.0 * part));
        [
            format!("{spare}{}", processor.index),
            if processor.busy { "busy" } else { "idle" }.to_owned(),
            utilisation.unwrap_or_else(|| "?".to_owned()),
            known(processor.queued),
            rate(rates.switches),
            rate(rates.steals),
            rate(rates.parks),
            rate(rates.polls),
            rate(rates.events),
        ]
    };
    each.zip(&view.rates[cluster]).map(row).collect()
}

/// What is said above the groups.
pub(crate) fn look_line(view: &View) -> String {
    let (Some(look), Some(age)) = (&view.snapshot.look, view.snapshot.look_age_ms) else {
        return "what fibres do: not looked at yet".to_owned();
    };
    let mut line = format!("what fibres do, {:.1} s ago", age as f64 / 1000.0);
    if look.unnamed {
        line.push_str("; the process reads the names of its functions");
    }
    for circle in look.circles.iter().take(MOST) {
        let ids: Vec<String> = circle
            .iter()
            .chain(circle.first())
            .map(u64::to_string)
            .collect();
        // A string takes it.
        let _ = write!(line, "; they wait for each other: {}", ids.join(" -> "));
    }
    line
}

/// What fibres of a group do.
pub(crate) fn group_line(group: &Group) -> String {
    let mut line = match (&*group.state, &group.waits_for, group.processor) {
        ("runs", ..) if group.count > 1 => "keep their processors".to_owned(),
        ("runs", _, Some(processor)) => format!("keeps processor {processor}"),
        ("behind", _, Some(processor)) => format!("waits for processor {processor}"),
        ("waits", Some(object), _) => format!("waits for {object}"),
        (state, ..) => state.to_owned(),
    };
    let _ = match &group.at {
        Some(at) => write!(line, " at {at}"),
        None => Ok(()),
    };
    let name = group
        .name
        .as_ref()
        .map(|name| format!(" {name:?}"))
        .unwrap_or_default();
    let _ = match (group.fibre, group.oldest_ms) {
        (Some(fibre), Some(oldest)) => {
            let seconds = oldest as f64 / 1000.0;
            write!(line, "; fibre {fibre}{name} for {seconds:.1} s")
        }
        (Some(fibre), None) => write!(line, "; fibre {fibre}{name}"),
        _ => Ok(()),
    };
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::Snapshot;

    #[test]
    fn what_few_clusters_have_is_told_of_them_only() {
        let plain = cluster_line(&Cluster::default(), 0.0);
        assert!(plain.ends_with("; 0 spawned/s"), "{plain}");
        let processor = |rescued_fibres, rescued_timers| Processor {
            rescued_fibres,
            rescued_timers,
            ..Processor::default()
        };
        let cluster = Cluster {
            own_thread_locals: true,
            processors: vec![processor(1, 2), processor(0, 5)],
            ..Cluster::default()
        };
        let line = cluster_line(&cluster, 0.0);
        let end = "; thread-locals of their own; 1 fibre and 7 timers rescued";
        assert!(line.ends_with(end), "{line}");
    }

    #[test]
    fn thread_blocks_are_told_where_there_have_been_some() {
        let head_of = |thread_blocks_born| {
            let now = Snapshot {
                thread_blocks: 5,
                thread_blocks_free: 2,
                thread_blocks_born,
                ..Snapshot::default()
            };
            head(&View::new("x", &Snapshot::default(), now))
        };
        assert!(!head_of(0).contains("thread block"), "{}", head_of(0));
        let told = "; 0 stacks, 0 free; 5 thread blocks, 2 free; 0 blocking calls";
        assert!(head_of(9).contains(told), "{}", head_of(9));
    }
}
