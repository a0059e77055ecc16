//! `FIBRE_SCHEDTRACE`: a line about each cluster, again and again.
//!
//! A kernel thread of its own writes them. A line that cannot be written at once is left out, so a
//! slow or lost reader delays nothing.

use crate::metrics::{Metrics, metrics};
use crate::output::write_error_within;
use fibre_core::internal::{Count, has_addresses, start_helper, warn};
use fibre_core::{ClusterMetrics, Counters, is_forked_child};
use std::collections::HashMap;
use std::fmt::Write;
use std::time::Duration;

/// Writes lines from now on, at this distance.
pub(crate) fn begin(interval: Duration) {
    let body = move || run(interval);
    let started = has_addresses() && start_helper("fibre-schedtrace".to_owned(), body).is_ok();
    if !started {
        warn(format_args!(
            "there is no thread for the lines that FIBRE_SCHEDTRACE asks for"
        ));
    }
}

/// The loop of the thread.
fn run(interval: Duration) {
    let mut before = HashMap::new();
    while !is_forked_child() {
        std::thread::park_timeout(interval);
        let now = metrics();
        let mut text = String::new();
        for cluster in &now.clusters {
            let totals = cluster.totals();
            let before = before.insert(cluster.number, totals).unwrap_or_default();
            text.push_str(&line(&now, cluster, &totals, &before));
        }
        write_error_within(&text, Duration::ZERO);
    }
}

/// A line about a cluster, with what it has counted since the last one.
fn line(now: &Metrics, cluster: &ClusterMetrics, totals: &Counters, before: &Counters) -> String {
    let since = |count: fn(&Counters) -> u64| count(totals).saturating_sub(count(before));
    let busy = cluster.processors.iter().filter(|one| one.busy).count();
    let known =
        |count: Option<u64>| count.map_or_else(|| "?".to_owned(), |count| count.to_string());
    let mut line = String::new();
    // A string takes it.
    let _ = writeln!(
        line,
        "fibre: {} ms: cluster {:?} ({}): {} of {} busy, {}, {} runnable, \
         {} blocked; +{} switches, +{} spawned, +{} ended, +{} stolen, +{} sleeps, +{} in vain, \
         +{} polls, +{} events, +{} timers",
        now.uptime.as_millis(),
        cluster.name,
        cluster.number,
        busy,
        Count(cluster.processors.len(), "processor"),
        Count(cluster.live, "fibre"),
        known(cluster.runnable),
        known(cluster.blocked),
        since(|c| c.switches),
        since(|c| c.spawned),
        since(|c| c.ended),
        since(|c| c.steals),
        since(|c| c.parks),
        since(|c| c.wakes_in_vain),
        since(|c| c.polls),
        since(|c| c.events),
        since(|c| c.timers_fired),
    );
    line
}
