//! One measured thing, and how its readings are read.

use serde::{Deserialize, Serialize};

use super::goal::{Better, Goal};
use fibre_measure::Series;

/// What has to reach something.
pub(crate) const OURS: &str = "fibre";

/// A C program over our C library, where its like over the system's threads is its peer.
pub(crate) const OURS_IN_C: &str = "c-fibre";

/// Whether a subject is ours, or ours in a variant, as `fibre, baton`.
pub(crate) fn is_ours(subject: &str) -> bool {
    [OURS, OURS_IN_C].iter().any(|ours| {
        let rest = subject.strip_prefix(ours);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(','))
    })
}

/// The figure that stands for all repetitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Read {
    /// The best reading: on one processor noise only adds.
    Best,
    /// The middle reading: where the run of things differs from repetition to
    /// repetition, as with two processors, the best one is luck.
    Median,
    /// The worst reading: of what must not happen even once.
    Worst,
}

/// One measured thing: every reading, and how to read them.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Measurement {
    /// The benchmark, as `list` names it.
    pub(crate) benchmark: &'static str,
    /// The case within it.
    pub(crate) case: String,
    /// The subject's name.
    pub(crate) subject: String,
    /// What was measured.
    pub(crate) metric: &'static str,
    /// Unit of the readings.
    pub(crate) unit: &'static str,
    /// Which direction is good.
    pub(crate) better: Better,
    /// Which reading stands for all.
    pub(crate) read: Read,
    /// What ours has to reach; of our own measurements only.
    pub(crate) goal: Option<Goal>,
    /// Every reading, in the order they were made.
    pub(crate) readings: Series,
}

impl Measurement {
    /// The figure that stands for all readings.
    pub(crate) fn figure(&self) -> f64 {
        match self.read {
            Read::Best => self.best(),
            Read::Median => self.readings.median(),
            Read::Worst => self.worst(),
        }
    }

    /// The best reading.
    pub(crate) fn best(&self) -> f64 {
        match self.better {
            Better::Lower => self.readings.minimum(),
            Better::Higher => self.readings.maximum(),
        }
    }

    /// The worst reading.
    fn worst(&self) -> f64 {
        match self.better {
            Better::Lower => self.readings.maximum(),
            Better::Higher => self.readings.minimum(),
        }
    }

    /// Whether both belong to one row of a comparison.
    pub(crate) fn compares_with(&self, other: &Self) -> bool {
        self.benchmark == other.benchmark && self.case == other.case && self.metric == other.metric
    }
}
