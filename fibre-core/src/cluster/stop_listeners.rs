//! Listeners that learn when their cluster stops. Crates above have fibres that wait for work
//! there, and end only when told.

use crate::sync::thread_mutex::Mutex;
use std::mem;
use std::sync::{Arc, Weak};

/// Something that has fibres of a cluster, or what fibres of it are to do.
pub trait StopListener: Send + Sync {
    /// The cluster is about to be stopped: the fibres that only wait for work are to end. Called on
    /// a fibre of the cluster, if there can be one; from then on the cluster waits for all fibres.
    fn cluster_stops(&self);

    /// The cluster has been stopped: none of its fibres runs any more, whether they have ended or
    /// have been left behind. Called in the end of the call that stops the cluster; so it may
    /// block, but should not.
    fn cluster_has_stopped(&self);
}

/// The stop listeners of one cluster.
#[derive(Default)]
pub(super) struct StopListeners(Mutex<List>);

/// What the lock protects.
#[derive(Default)]
struct List {
    stop_listeners: Vec<Weak<dyn StopListener>>,
    /// Whether the cluster is being stopped, or has been.
    stops: bool,
}

impl StopListeners {
    /// Adds one. `false`: the cluster is being stopped, or has been.
    pub(super) fn add(&self, stop_listener: Weak<dyn StopListener>) -> bool {
        let mut list = self.0.lock();
        if list.stops {
            return false;
        }
        let stop_listeners = &mut list.stop_listeners;
        if stop_listeners.len() == stop_listeners.capacity() {
            stop_listeners.retain(|stop_listener| stop_listener.strong_count() > 0);
            // So that they are not looked through again soon.
            stop_listeners.reserve(stop_listeners.len() + 1);
        }
        stop_listeners.push(stop_listener);
        true
    }

    /// The stop listeners that have not been dropped.
    fn all(list: &List) -> Vec<Arc<dyn StopListener>> {
        list.stop_listeners
            .iter()
            .filter_map(Weak::upgrade)
            .collect()
    }

    /// Tells all of them that the cluster is about to be stopped, once: on one of its fibres, which
    /// `spawn` makes if it can, as they run code of the program.
    pub(super) fn tell_of_stop(&self, spawn: impl FnOnce(Box<dyn FnOnce() + Send>) -> bool) {
        let stop_listeners = {
            let mut list = self.0.lock();
            if mem::replace(&mut list.stops, true) {
                return;
            }
            Self::all(&list)
        };
        if stop_listeners.is_empty() {
            return;
        }
        let stop_listeners = Arc::new(stop_listeners);
        let told = Arc::clone(&stop_listeners);
        let tell = |stop_listeners: &[Arc<dyn StopListener>]| {
            for stop_listener in stop_listeners {
                stop_listener.cluster_stops();
            }
        };
        if !spawn(Box::new(move || tell(&told))) {
            tell(&stop_listeners);
        }
    }

    /// Tells all of them that the cluster has been stopped, once.
    pub(super) fn tell_of_end(&self) {
        let stop_listeners = {
            let mut list = self.0.lock();
            let stop_listeners = Self::all(&list);
            list.stop_listeners = Vec::new();
            stop_listeners
        };
        for stop_listener in stop_listeners {
            stop_listener.cluster_has_stopped();
        }
    }
}
