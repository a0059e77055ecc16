//! The content of the page: counters of all clusters and processors, where locks were waited for,
//! and what fibres do.
//!
//! Counters are read each time. For the fibres' states the clusters stand still while the snapshot
//! looks at all fibres. So that is done now and then, and less often if it takes long. Symbols are
//! kept from one look to the next.

use crate::form::json::{Text, number, optional, separate};
use crate::form::text::{is_plumbing, short, shown, words};
use crate::gather::{State, gather};
use crate::names::cut;
use crate::page::MAX_TEXT;
use crate::report::Report;
use crate::stack::modules::Modules;
use crate::symbols::{Function, Known};
use fibre_core::internal::{ProcessMetrics, blocking_metrics, metrics};
use fibre_core::{ClusterMetrics, ProcessorMetrics};
use fibre_sync::{ContendedPlace, contention};
use std::fmt::{Result, Write};
use std::time::{Duration, Instant};

/// The time between two looks, at least.
const BETWEEN: Duration = Duration::from_secs(2);

/// How many times as long as a look the time to the next one is. Clusters stand still in a look.
const REST: u32 = 100;

/// The most groups of fibres that are shown.
const GROUPS: usize = 48;

/// The most places that are shown where callers have waited for locks.
const LOCKS: usize = 16;

/// The most processors that are shown of a cluster.
const PROCESSORS: usize = 128;

/// The snapshots of a process that is being watched.
#[derive(Debug)]
pub(crate) struct Snapshots {
    begun: Instant,
    /// When the fibres are looked at again; `None`: the counters come first.
    due: Option<Instant>,
    /// When they were looked at.
    looked: Option<Instant>,
    /// What they did then.
    look: String,
    /// Whether functions have their names there: the first look has none, as it would be late.
    named: bool,
    /// Where modules lay then, and the symbols of code there.
    known: (Vec<(String, usize)>, Known),
}

impl Snapshots {
    /// Nothing has been looked at.
    pub(crate) fn new() -> Self {
        Self {
            begun: Instant::now(),
            due: None,
            looked: None,
            look: "null".to_owned(),
            named: false,
            known: (Vec::new(), Known::default()),
        }
    }

    /// What there is to say now. Blocks the thread, which must be no fibre's.
    pub(crate) fn next(&mut self) -> String {
        let now = Instant::now();
        if self.due.is_some_and(|due| now >= due) {
            self.look();
        } else {
            self.due.get_or_insert(now);
        }
        let metrics = metrics(true);
        let mut text = String::new();
        // A string takes it.
        let _ = write_all(&metrics, self, &mut text);
        if text.len() > MAX_TEXT {
            // Clusters by the dozen: what fibres do is left out.
            self.look = "null".to_owned();
            text.clear();
            let _ = write_all(&metrics, self, &mut text);
        }
        text
    }

    /// Looks at the fibres.
    fn look(&mut self) {
        let begun = Instant::now();
        let modules = Modules::read();
        let place = |module: &crate::stack::modules::Module| (module.path.clone(), module.bias);
        let places: Vec<_> = modules.all.iter().map(place).collect();
        if self.known.0 != places {
            self.known = (places, Known::default());
        }
        let mut report = Report::new(gather(&modules), &modules, begun);
        let looked = report.looked;
        self.named = self.looked.is_some();
        if self.named {
            report.symbols.recall(std::mem::take(&mut self.known.1));
        } else {
            report.symbols.read_nothing();
        }
        self.look.clear();
        let _ = write_look(&mut report, self.named, &mut self.look);
        let end = Instant::now();
        self.looked = Some(end);
        if self.named {
            self.known.1 = report.symbols.into_known();
            self.due = Some(end + BETWEEN.max(looked * REST));
        }
    }
}

/// Writes all.
fn write_all(metrics: &ProcessMetrics, snapshots: &Snapshots, out: &mut String) -> Result {
    let blocking = blocking_metrics();
    write!(
        out,
        "{{\"process\":{},\"at_us\":{},\"uptime_ms\":{},\"cancelled\":{},\"stacks\":{},\
         \"stacks_free\":{},\"thread_blocks\":{},\"thread_blocks_free\":{},\"thread_blocks_born\":{},\
         \"thread_blocks_ended\":{},\
         \"blocking_pending\":{},\"blocking_threads\":{},\"clusters\":[",
        std::process::id(),
        snapshots.begun.elapsed().as_micros(),
        metrics.uptime.as_millis(),
        metrics.cancelled,
        metrics.stacks.existing,
        metrics.stacks.free,
        metrics.thread_blocks.existing(),
        metrics.thread_blocks.free(),
        metrics.thread_blocks.born,
        metrics.thread_blocks.ended,
        blocking.pending,
        blocking.threads,
    )?;
    for (at, cluster) in metrics.clusters.iter().enumerate() {
        separate(at, out);
        write_cluster(cluster, out)?;
    }
    out.push_str("],\"locks\":[");
    for (at, place) in contention().places().iter().take(LOCKS).enumerate() {
        separate(at, out);
        write_lock(place, out)?;
    }
    out.push_str("],\"look_age_ms\":");
    let age = snapshots.looked.map(|looked| looked.elapsed().as_millis());
    number(age.map(|age| age as u64), out)?;
    write!(out, ",\"look\":{}}}", snapshots.look)
}

/// Writes a cluster.
fn write_cluster(cluster: &ClusterMetrics, out: &mut String) -> Result {
    let spawned = cluster.totals().spawned;
    write!(
        out,
        "{{\"name\":{},\"number\":{},\"own_thread_locals\":{},\"fibres\":{},\"unstarted\":{},\
         \"spawned\":{spawned},\"runnable\":",
        Text(&cluster.name),
        cluster.number,
        cluster.own_thread_locals,
        cluster.live,
        cluster.unstarted
    )?;
    number(cluster.runnable, out)?;
    out.push_str(",\"blocked\":");
    number(cluster.blocked, out)?;
    let omitted = cluster.processors.len().saturating_sub(PROCESSORS);
    write!(out, ",\"omitted\":{omitted},\"processors\":[")?;
    for (at, processor) in cluster.processors.iter().take(PROCESSORS).enumerate() {
        separate(at, out);
        write_processor(processor, out)?;
    }
    out.push_str("]}");
    Ok(())
}

/// Writes a processor.
fn write_processor(processor: &ProcessorMetrics, out: &mut String) -> Result {
    let counters = processor.counters;
    write!(
        out,
        "{{\"index\":{},\"thread\":{},\"spare\":{},\"busy\":{},\"timers\":{},\"queued\":",
        processor.index,
        processor.thread.unwrap_or_default(),
        processor.spare,
        processor.busy,
        processor.timers
    )?;
    number(processor.queued, out)?;
    out.push_str(",\"cpu_us\":");
    number(processor.cpu.map(|cpu| cpu.as_micros() as u64), out)?;
    for (name, count) in [
        ("switches", counters.switches),
        ("started", counters.started),
        ("ended", counters.ended),
        ("steals", counters.steals),
        ("steals_tried", counters.steals_tried),
        ("parks", counters.parks),
        ("wakes", counters.wakes),
        ("wakes_in_vain", counters.wakes_in_vain),
        ("polls", counters.polls),
        ("empty_polls", counters.empty_polls),
        ("events", counters.events),
        ("timers_fired", counters.timers_fired),
        ("blocks_taken", counters.blocks_taken),
        ("blocks_renewed", counters.blocks_renewed),
        ("rescued_fibres", counters.rescued_fibres),
        ("rescued_timers", counters.rescued_timers),
        ("rescue_polls", counters.rescue_polls),
    ] {
        write!(out, ",{}:{count}", Text(name))?;
    }
    out.push('}');
    Ok(())
}

/// Writes a place where callers have waited for a lock, since the profile was switched on.
fn write_lock(place: &ContendedPlace, out: &mut String) -> Result {
    let at = place.location;
    let at = format!("{}:{}:{}", short(at.file()), at.line(), at.column());
    write!(
        out,
        "{{\"at\":{},\"contended\":{},\"handed_over\":{},\"given_up\":{},\"waited_us\":{},\
         \"longest_us\":{}}}",
        Text(&at),
        place.contended,
        place.handed_over,
        place.given_up,
        place.waited.as_micros(),
        place.longest.as_micros(),
    )
}

/// Writes what fibres do: those that keep processors first, then by their number.
fn write_look(report: &mut Report<'_>, named: bool, out: &mut String) -> Result {
    let mut order: Vec<usize> = (0..report.groups.len()).collect();
    order.sort_by_key(|at| {
        let group = &report.groups[*at];
        (group.state != State::Runs, usize::MAX - group.fibres.len())
    });
    let omitted = order.len().saturating_sub(GROUPS);
    let took = report.looked.as_micros();
    write!(
        out,
        "{{\"took_us\":{took},\"unnamed\":{},\"omitted\":{omitted},\"circles\":[",
        !named
    )?;
    for (at, cycle) in report.cycles.iter().take(GROUPS).enumerate() {
        separate(at, out);
        let ids: Vec<String> = cycle.iter().take(GROUPS).map(u64::to_string).collect();
        write!(out, "[{}]", ids.join(","))?;
    }
    out.push_str("],\"groups\":[");
    for (at, group) in order.into_iter().take(GROUPS).enumerate() {
        separate(at, out);
        write_group(report, group, out)?;
    }
    out.push_str("]}");
    Ok(())
}

/// Writes a group of fibres with equal stacks: how many they are, what they wait for, for how long
/// the one does that has waited longest, where in the program, and where they were spawned.
fn write_group(report: &mut Report<'_>, at: usize, out: &mut String) -> Result {
    let (frames, end) = report.stack(at);
    let whole = end == "the fibre's entry";
    let shown = shown(&frames, whole);
    let place = |(_, code, at): &crate::form::text::Shown| told(&code.functions[*at]);
    let is_own = |(_, code, at): &&crate::form::text::Shown| !is_plumbing(&code.functions[*at]);
    let inside = shown.iter().find(is_own).or(shown.first()).and_then(place);
    let entry = shown
        .iter()
        .rev()
        .find(is_own)
        .filter(|_| whole)
        .and_then(place);
    let group = &report.groups[at];
    let all = || group.fibres.iter().map(|at| &report.found.fibres[*at]);
    let oldest = all().min_by_key(|fibre| (fibre.since.is_none(), fibre.since, fibre.id));
    let state = match group.state {
        State::Runs => "runs",
        State::Behind => "behind",
        State::Waits => "waits",
        State::Ready => "ready",
    };
    let cluster = &report.found.clusters[group.cluster].name;
    let count = group.fibres.len();
    write!(
        out,
        "{{\"cluster\":{},\"state\":\"{state}\",\"count\":{count},\"waits_for\":",
        Text(cluster)
    )?;
    optional(group.kind.map(words).as_deref(), out)?;
    out.push_str(",\"fibre\":");
    number(oldest.map(|fibre| fibre.id), out)?;
    out.push_str(",\"name\":");
    optional(oldest.and_then(|fibre| report.found.name(fibre)), out)?;
    out.push_str(",\"processor\":");
    let processor = oldest.and_then(|fibre| fibre.processor);
    number(processor.map(|processor| processor as u64), out)?;
    out.push_str(",\"oldest_ms\":");
    let waited = oldest.and_then(|fibre| report.waited(fibre));
    number(waited.map(|waited| waited.as_millis() as u64), out)?;
    out.push_str(",\"at\":");
    optional(inside.as_deref(), out)?;
    out.push_str(",\"spawned\":");
    optional(entry.as_deref(), out)?;
    out.push('}');
    Ok(())
}

/// A function with its line, in words.
fn told(function: &Function) -> Option<String> {
    let name = cut(function.name.as_deref()?).into_owned();
    Some(match &function.place {
        Some((file, line)) => format!("{name} ({}:{line})", short(file)),
        None => name,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a look takes is little; the files of a large program may take seconds.
    #[test]
    fn the_first_look_does_not_wait_for_names() {
        drop(fibre::spawn(|| fibre::sleep(Duration::from_secs(3600))));
        while fibre::waits().is_empty() {
            std::thread::yield_now();
        }
        let (mut snapshots, bare) = loop {
            let mut snapshots = Snapshots::new();
            assert!(snapshots.next().contains("\"look\":null"));
            let bare = snapshots.next();
            // What a fibre waits for is known a little before it has left its processor.
            if !bare.contains("\"state\":\"runs\"") {
                break (snapshots, bare);
            }
        };
        assert!(bare.contains("\"unnamed\":true"), "{bare}");
        assert!(bare.contains("\"waits_for\":\"time to pass\""), "{bare}");
        // A name may be inlined; its file is there all the same.
        assert!(!bare.contains("snapshot.rs"), "{bare}");
        let named = snapshots.next();
        assert!(named.contains("\"unnamed\":false"), "{named}");
        assert!(named.contains("src/page/snapshot.rs:"), "{named}");
    }
}
