//! What was measured, and how a server stands against the first one.

use fibre_mcload::idle::Idle;
use fibre_measure::{Machine, Series};
use serde::{Deserialize, Serialize};

use super::contestant::Contestant;
use super::point::Point;
use super::readings::{Length, Readings};

/// Everything that was measured.
#[derive(Serialize, Deserialize)]
pub(super) struct Results {
    /// The machine that it was measured on.
    pub machine: Machine,
    /// How many cores there were.
    pub cores: usize,
    /// The servers; the others are compared with the first.
    pub servers: Vec<Contestant>,
    /// How long each run took.
    pub length: Length,
    /// How often everything was measured.
    pub repetitions: usize,
    /// The points.
    pub points: Vec<Row>,
    /// What idle connections cost, by server; none of variants.
    pub idle: Vec<Option<Idle>>,
    /// What went wrong.
    pub faults: Vec<String>,
}

/// What was read at a point.
#[derive(Serialize, Deserialize)]
pub(super) struct Row {
    /// The point.
    #[serde(flatten)]
    pub point: Point,
    /// In an open loop: requests per second that were asked for.
    pub rate: Option<f64>,
    /// The readings, by server; empty of those that were not measured here.
    pub readings: Vec<Readings>,
}

/// Which of two figures is the better one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Better {
    /// A rate.
    More,
    /// A cost.
    Less,
}

/// How one stands against the first, over all repetitions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Comparison {
    /// The median of the ratios.
    pub median: f64,
    /// The least ratio.
    pub least: f64,
    /// The greatest of them.
    pub greatest: f64,
    /// What follows.
    pub mark: Mark,
}

/// Whether one is as good as the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// In the median, to a hundredth.
    Reached,
    /// Not in the median, but in some repetition.
    Level,
    /// In no repetition.
    Short,
}

impl Mark {
    /// The mark as a word that can be searched for.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Reached => "reached",
            Self::Level => "level",
            Self::Short => "**short**",
        }
    }
}

impl Comparison {
    /// Of readings, repetition by repetition; nothing where there is nothing to compare.
    pub(super) fn new(own: &Series, first: &Series, better: Better) -> Option<Self> {
        let ratios = own.paired(first);
        let (median, least, greatest) = (ratios.median(), ratios.minimum(), ratios.maximum());
        let rounded = |ratio: f64| (ratio * 100.0).round() / 100.0;
        let is_good = |ratio: f64| match better {
            Better::More => rounded(ratio) >= 1.0,
            Better::Less => rounded(ratio) <= 1.0,
        };
        let best = match better {
            Better::More => greatest,
            Better::Less => least,
        };
        let mark = if is_good(median) {
            Mark::Reached
        } else if is_good(best) {
            Mark::Level
        } else {
            Mark::Short
        };
        median.is_finite().then_some(Self {
            median,
            least,
            greatest,
            mark,
        })
    }
}

impl Results {
    /// The row of a point.
    pub(super) fn row(&self, point: &Point) -> Option<&Row> {
        self.points.iter().find(|row| row.point == *point)
    }

    /// What the first server is called.
    pub(super) fn first(&self) -> &str {
        self.servers.first().map_or("nobody", |server| &server.name)
    }

    /// The servers that have to be as good as the first: ours, or all others if none is.
    pub(super) fn judged(&self) -> Vec<usize> {
        let others = || (1..self.servers.len()).filter(|&index| !self.servers[index].is_variant);
        let ours: Vec<usize> = others()
            .filter(|&index| self.servers[index].is_ours())
            .collect();
        if ours.is_empty() {
            others().collect()
        } else {
            ours
        }
    }

    /// Whether the load has a core of its own: without one, only CPU time means anything.
    pub(super) fn is_apart(&self, point: &Point) -> bool {
        point.cores < self.cores
    }

    /// The rows that servers are judged by.
    pub(super) fn judged_rows(&self) -> impl Iterator<Item = &Row> {
        self.points.iter().filter(|row| self.is_apart(&row.point))
    }

    /// Resident bytes of an idle connection of a server, above the first's.
    pub(super) fn idle_above(&self, index: usize) -> Option<f64> {
        let of = |index: usize| self.idle.get(index).copied().flatten();
        Some(of(index)?.bytes_per_connection - of(0)?.bytes_per_connection)
    }
}

impl Row {
    /// How the requests per second of a server stand; nothing in an open loop, where they are
    /// given.
    pub(super) fn throughput(&self, index: usize) -> Option<Comparison> {
        if self.point.share.is_some() {
            return None;
        }
        self.compare(index, Better::More, |readings| &readings.throughput)
    }

    /// How its CPU time for a request stands.
    pub(super) fn cpu(&self, index: usize) -> Option<Comparison> {
        self.compare(index, Better::Less, |readings| &readings.cpu_us)
    }

    /// How the 99th percentile of its latency stands.
    pub(super) fn p99(&self, index: usize) -> Option<Comparison> {
        self.compare(index, Better::Less, |readings| &readings.p99_ms)
    }

    /// How one of its figures stands.
    fn compare(
        &self,
        index: usize,
        better: Better,
        of: fn(&Readings) -> &Series,
    ) -> Option<Comparison> {
        Comparison::new(
            of(self.readings.get(index)?),
            of(self.readings.first()?),
            better,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_judged_by_its_median_and_its_best() {
        let first: Series = [100.0, 100.0, 100.0].into_iter().collect();
        let mark = |readings: [f64; 3], better| {
            let own: Series = readings.into_iter().collect();
            Comparison::new(&own, &first, better).map(|comparison| comparison.mark)
        };
        assert_eq!(
            mark([90.0, 100.0, 120.0], Better::More),
            Some(Mark::Reached)
        );
        assert_eq!(mark([90.0, 99.6, 90.0], Better::More), Some(Mark::Level));
        assert_eq!(mark([90.0, 99.0, 90.0], Better::More), Some(Mark::Short));
        assert_eq!(mark([90.0, 101.0, 120.0], Better::Less), Some(Mark::Level));
        assert_eq!(mark([102.0, 101.0, 120.0], Better::Less), Some(Mark::Short));
        assert_eq!(mark([f64::NAN; 3], Better::Less), None);
    }
}
