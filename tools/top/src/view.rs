//! What is shown: the last snapshot, and what has happened since the one before, by the second.

use crate::snapshot::{Cluster, Group, Processor, Snapshot};
use serde::Serialize;
use std::collections::BTreeMap;

/// The rates of a processor, per second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(crate) struct Rates {
    /// CPU time per time, at most about 1; unknown where the thread is gone.
    pub(crate) utilisation: Option<f64>,
    pub(crate) switches: f64,
    pub(crate) steals: f64,
    pub(crate) parks: f64,
    pub(crate) polls: f64,
    pub(crate) events: f64,
}

/// Fibres that began with the same function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Place {
    /// The function, with its line.
    pub(crate) spawned: String,
    /// How many there are.
    pub(crate) count: u64,
}

/// The least time that rates are made from, in microseconds. A busy process may write one snapshot
/// late and the next one in time; of what happens between the two, a rate would be chance.
const LEAST_US: u64 = 250_000;

/// The snapshots before the one that is shown.
#[derive(Debug, Default)]
pub(crate) struct Before {
    older: Snapshot,
    last: Snapshot,
}

impl Before {
    /// The snapshot that the rates of `now` count from. The next one is compared with `now`.
    pub(crate) fn of(&mut self, now: &Snapshot) -> &Snapshot {
        let since_last = now.at_us.saturating_sub(self.last.at_us);
        // Another process has taken the place of one that has forked, and has a time of its own.
        let is_other = now.process != self.last.process;
        if since_last >= LEAST_US || is_other {
            self.older = std::mem::replace(&mut self.last, now.clone());
        }
        &self.older
    }
}

/// What is shown.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct View {
    /// The name of the process.
    pub(crate) name: String,
    pub(crate) snapshot: Snapshot,
    /// The time since the snapshot before.
    pub(crate) interval_ms: u64,
    /// The rates of each processor of each cluster, in the order of the snapshot.
    pub(crate) rates: Vec<Vec<Rates>>,
    /// Spawns per second of each cluster.
    pub(crate) spawns: Vec<f64>,
    /// By the functions that fibres began with, those with most fibres first.
    pub(crate) places: Vec<Place>,
}

impl View {
    /// What has happened from one snapshot to the next.
    pub(crate) fn new(name: &str, before: &Snapshot, now: Snapshot) -> Self {
        let interval_us = now.at_us.saturating_sub(before.at_us);
        let before_of = |cluster: &Cluster| {
            let mut all = before.clusters.iter();
            all.find(|other| other.number == cluster.number)
        };
        let each = now.clusters.iter();
        let rates = each
            .clone()
            .map(|cluster| rates(before_of(cluster), cluster, interval_us));
        let spawns = each.map(|cluster| {
            let before = before_of(cluster).map_or(cluster.spawned, |before| before.spawned);
            per_second(before, cluster.spawned, interval_us)
        });
        Self {
            name: name.to_owned(),
            interval_ms: interval_us / 1000,
            rates: rates.collect(),
            spawns: spawns.collect(),
            places: places(&now),
            snapshot: now,
        }
    }

    /// What fibres do that keep processors, then the others, those first that wait longest.
    pub(crate) fn groups(&self) -> Vec<&Group> {
        let look = self.snapshot.look.iter();
        let mut groups: Vec<&Group> = look.flat_map(|look| &look.groups).collect();
        let key = |group: &&Group| {
            let oldest = group.oldest_ms.unwrap_or_default();
            (
                group.state != "runs",
                u64::MAX - oldest,
                u64::MAX - group.count,
            )
        };
        groups.sort_by_key(key);
        groups
    }
}

/// The rates of the processors of a cluster.
fn rates(before: Option<&Cluster>, now: &Cluster, interval_us: u64) -> Vec<Rates> {
    let of = |processor: &Processor| {
        let mut all = before.into_iter().flat_map(|cluster| &cluster.processors);
        let before = all.find(|other| other.index == processor.index)?;
        let rate =
            |count: fn(&Processor) -> u64| per_second(count(before), count(processor), interval_us);
        let cpu = before.cpu_us.zip(processor.cpu_us);
        Some(Rates {
            utilisation: cpu.map(|(before, now)| per_second(before, now, interval_us) / 1e6),
            switches: rate(|one| one.switches),
            steals: rate(|one| one.steals),
            parks: rate(|one| one.parks),
            polls: rate(|one| one.polls),
            events: rate(|one| one.events),
        })
    };
    now.processors
        .iter()
        .map(|one| of(one).unwrap_or_default())
        .collect()
}

/// How much a counter has grown in a second.
fn per_second(before: u64, now: u64, interval_us: u64) -> f64 {
    if interval_us == 0 {
        return 0.0;
    }
    now.saturating_sub(before) as f64 * 1e6 / interval_us as f64
}

/// Where fibres were spawned, most of them first.
fn places(snapshot: &Snapshot) -> Vec<Place> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for group in snapshot.look.iter().flat_map(|look| &look.groups) {
        let place = group.spawned.as_deref().unwrap_or("not known");
        *counts.entry(place).or_default() += group.count;
    }
    let place = |(spawned, count): (&str, u64)| Place {
        spawned: spawned.to_owned(),
        count,
    };
    let mut places: Vec<Place> = counts.into_iter().map(place).collect();
    places.sort_by_key(|place| u64::MAX - place.count);
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::Look;

    /// A snapshot of a cluster with one processor.
    fn snapshot(at_us: u64, switches: u64, cpu_us: u64) -> Snapshot {
        let processor = Processor {
            switches,
            cpu_us: Some(cpu_us),
            ..Processor::default()
        };
        let cluster = Cluster {
            number: 1,
            spawned: switches / 10,
            processors: vec![processor],
            ..Cluster::default()
        };
        Snapshot {
            at_us,
            clusters: vec![cluster],
            ..Snapshot::default()
        }
    }

    #[test]
    fn rates_are_by_the_second() {
        let view = View::new("x", &snapshot(0, 100, 0), snapshot(500_000, 200, 250_000));
        assert_eq!(view.rates[0][0].switches, 200.0);
        assert_eq!(view.rates[0][0].utilisation, Some(0.5));
        assert_eq!(view.spawns, [20.0]);
        // A cluster that was not there has no rates, and no time gives none either.
        let view = View::new("x", &Snapshot::default(), snapshot(500_000, 200, 1));
        assert_eq!(view.rates[0], [Rates::default()]);
        let view = View::new("x", &snapshot(7, 1, 1), snapshot(7, 2, 2));
        assert_eq!(view.rates[0][0].switches, 0.0);
    }

    #[test]
    fn snapshots_that_follow_closely_are_compared_with_an_older_one() {
        let mut before = Before::default();
        let mut switches = |at_us, switches| {
            let now = snapshot(at_us, switches, 0);
            let view = View::new("x", before.of(&now), now);
            view.rates[0][0].switches
        };
        assert_eq!(switches(1_000_000, 5000), 0.0);
        // Nothing to compare with that is old enough.
        assert_eq!(switches(1_000_020, 5003), 0.0);
        assert_eq!(switches(2_000_000, 5100), 100.0);
        assert_eq!(switches(2_000_020, 5103), 103.0 * 1e6 / 1_000_020.0);
        assert_eq!(switches(3_000_000, 5300), 200.0);
    }

    #[test]
    fn groups_are_ordered_by_what_matters() {
        let group = |state: &str, count, oldest_ms, spawned: &str| Group {
            state: state.to_owned(),
            count,
            oldest_ms,
            spawned: Some(spawned.to_owned()),
            ..Group::default()
        };
        let look = Look {
            groups: vec![
                group("waits", 7, None, "a"),
                group("waits", 2, Some(9000), "b"),
                group("waits", 3, Some(80), "a"),
                group("runs", 1, None, "c"),
            ],
            ..Look::default()
        };
        let now = Snapshot {
            look: Some(look),
            ..Snapshot::default()
        };
        let view = View::new("x", &Snapshot::default(), now);
        let order: Vec<_> = view.groups().iter().map(|group| group.count).collect();
        assert_eq!(order, [1, 2, 3, 7]);
        let places: Vec<_> = view
            .places
            .iter()
            .map(|one| (&*one.spawned, one.count))
            .collect();
        assert_eq!(places, [("a", 10), ("b", 2), ("c", 1)]);
    }
}
