//! The clusters of the process, for callers that look at all of them.

use super::running::Running;
use parking_lot::Mutex;
use std::sync::{Arc, Weak};

/// All clusters that have been started, and perhaps some that are gone.
static CLUSTERS: Mutex<Vec<Weak<Running>>> = Mutex::new(Vec::new());

/// Adds a cluster.
pub(super) fn add(running: &Arc<Running>) {
    let mut clusters = CLUSTERS.lock();
    clusters.retain(|cluster| cluster.strong_count() > 0);
    clusters.push(Arc::downgrade(running));
}

/// The clusters that exist.
pub(super) fn all() -> Vec<Arc<Running>> {
    let clusters = CLUSTERS.lock();
    clusters.iter().filter_map(Weak::upgrade).collect()
}
