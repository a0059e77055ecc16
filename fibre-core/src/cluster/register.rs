//! The clusters of the process, for those who want to look at all of them.

use super::running::Running;
use parking_lot::Mutex;
use std::sync::{Arc, Weak};

/// All clusters that have been started, and perhaps some that are no more.
static CLUSTERS: Mutex<Vec<Weak<Running>>> = Mutex::new(Vec::new());

/// Adds a cluster.
pub fn add(running: &Arc<Running>) {
    let mut clusters = CLUSTERS.lock();
    clusters.retain(|cluster| cluster.strong_count() > 0);
    clusters.push(Arc::downgrade(running));
}

/// Those that are there.
pub fn all() -> Vec<Arc<Running>> {
    let clusters = CLUSTERS.lock();
    clusters.iter().filter_map(Weak::upgrade).collect()
}
