//! What lives in a cluster and is told when that is stopped: crates above have fibres there that
//! wait for work, and end only if somebody says so.

use parking_lot::Mutex;
use std::mem;
use std::sync::{Arc, Weak};

/// Something that has fibres of a cluster, or what fibres of it are to do.
pub trait Resident: Send + Sync {
    /// The cluster is about to be stopped: the fibres that only wait for work are to end. Called on
    /// a fibre of the cluster, if there can be one; from then on the cluster waits for all fibres.
    fn cluster_stops(&self);

    /// The cluster has been stopped: none of its fibres runs any more, whether they have ended or
    /// have been left behind. Called in the end of the call that stops the cluster; so it may
    /// block, but should not.
    fn cluster_has_stopped(&self);
}

/// The residents of one cluster.
#[derive(Default)]
pub(super) struct Residents(Mutex<List>);

/// What the lock protects.
#[derive(Default)]
struct List {
    residents: Vec<Weak<dyn Resident>>,
    /// Whether the cluster is being stopped, or has been.
    stops: bool,
}

impl Residents {
    /// Adds one. `false`: the cluster is being stopped, or has been.
    pub(super) fn add(&self, resident: Weak<dyn Resident>) -> bool {
        let mut list = self.0.lock();
        if list.stops {
            return false;
        }
        let residents = &mut list.residents;
        if residents.len() == residents.capacity() {
            residents.retain(|resident| resident.strong_count() > 0);
            // So that they are not looked through again soon.
            residents.reserve(residents.len() + 1);
        }
        residents.push(resident);
        true
    }

    /// The residents that have not been dropped.
    fn all(list: &List) -> Vec<Arc<dyn Resident>> {
        list.residents.iter().filter_map(Weak::upgrade).collect()
    }

    /// Tells all of them that the cluster is about to be stopped, once: on one of its fibres, which
    /// `spawn` makes if it can, as they run code of the program.
    pub(super) fn tell_of_stop(&self, spawn: impl FnOnce(Box<dyn FnOnce() + Send>) -> bool) {
        let residents = {
            let mut list = self.0.lock();
            if mem::replace(&mut list.stops, true) {
                return;
            }
            Self::all(&list)
        };
        if residents.is_empty() {
            return;
        }
        let residents = Arc::new(residents);
        let told = Arc::clone(&residents);
        let tell = |residents: &[Arc<dyn Resident>]| {
            for resident in residents {
                resident.cluster_stops();
            }
        };
        if !spawn(Box::new(move || tell(&told))) {
            tell(&residents);
        }
    }

    /// Tells all of them that the cluster has been stopped, once.
    pub(super) fn tell_of_end(&self) {
        let residents = {
            let mut list = self.0.lock();
            let residents = Self::all(&list);
            list.residents = Vec::new();
            residents
        };
        for resident in residents {
            resident.cluster_has_stopped();
        }
    }
}
