//! What one repetition saw.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What one repetition of a workload measured: the one line of JSON that a peer program answers the
/// harness with.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Sample {
    /// Operations that were done.
    pub operations: u64,
    /// CPU time of the whole process for one of them, in nanoseconds.
    pub cpu_ns: f64,
    /// Time on the wall for one of them, in nanoseconds.
    pub wall_ns: f64,
    /// What else the workload reports, by name: `jain`, `rss_bytes`, …
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, f64>,
}

impl Sample {
    /// This sample with one more reading.
    #[must_use]
    pub fn with(mut self, name: &str, value: f64) -> Self {
        self.values.insert(name.into(), value);
        self
    }
}
