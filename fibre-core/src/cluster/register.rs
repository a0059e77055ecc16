//! The clusters of the process, for callers that look at all of them.

use super::observers;
use super::running::Running;
use crate::scheduler::domain::Domain;
use crate::sync::thread_mutex::Mutex;
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

/// All clusters that have been started, and perhaps some that are gone.
static CLUSTERS: Mutex<Vec<Weak<Running>>> = Mutex::new(Vec::new());

/// What the processors of clusters share: also of those without a handle that have not ended.
static DOMAINS: Mutex<Vec<Weak<Domain>>> = Mutex::new(Vec::new());

/// When the first cluster was started.
static BEGAN: OnceLock<Instant> = OnceLock::new();

/// Adds a cluster.
pub(super) fn add(running: &Arc<Running>) {
    let mut clusters = CLUSTERS.lock();
    clusters.retain(|cluster| cluster.strong_count() > 0);
    clusters.push(Arc::downgrade(running));
    drop(clusters);
    let mut domains = DOMAINS.lock();
    domains.retain(|domain| domain.strong_count() > 0);
    domains.push(Arc::downgrade(&running.domain));
    drop(domains);
    let domain = &running.domain;
    // SAFETY: a cluster is added once, and its domain stays where it is.
    unsafe { domain.record.list(domain.fibre_lists.shared.as_ref()) };
    BEGAN.get_or_init(|| running.domain.birth);
    observers::call();
}

/// When the first cluster was started, if there has been one.
pub(super) fn began() -> Option<Instant> {
    BEGAN.get().copied()
}

/// What the processors of each cluster share, until all threads of the cluster have ended. `None`:
/// the list was locked for so long.
pub(super) fn try_domains(limit: Duration) -> Option<Vec<Arc<Domain>>> {
    let domains = DOMAINS.try_lock_for(limit)?;
    Some(domains.iter().filter_map(Weak::upgrade).collect())
}

/// The clusters that exist.
pub(super) fn all() -> Vec<Arc<Running>> {
    let clusters = CLUSTERS.lock();
    clusters.iter().filter_map(Weak::upgrade).collect()
}

/// The clusters that exist. `None`: the list was locked for so long.
pub(super) fn try_all(limit: Duration) -> Option<Vec<Arc<Running>>> {
    let clusters = CLUSTERS.try_lock_for(limit)?;
    Some(clusters.iter().filter_map(Weak::upgrade).collect())
}
