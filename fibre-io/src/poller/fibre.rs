//! The poller `fibre`: a fibre in the background of the cluster, under a master thread.
//!
//! It polls without waiting, on a processor that has nothing else to do, or at a service of
//! one that has ([`Shift`]). When there is nothing, it leaves the instance to the master thread of the
//! process, which waits for all clusters of this kind, in an epoll instance of their epoll
//! instances (thesis, section 3.4.3).
//!
//! It needs no stack, because it never waits, and no place in a queue, because there is one
//! of it: being due is its place. So it can run on each processor, other than a fibre that
//! has started somewhere and has to stay.

use super::instance::Instance;
use super::master::{self, Called};
use crate::shift::Shift;
use fibre_core::{Bell, Halt};
use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// See the module text.
#[derive(Debug)]
pub struct FibrePoller {
    instance: Instance,
    /// Whose shift it is.
    shift: Shift,
    /// What wakes a processor for it.
    bell: Bell,
    /// Its place with the master.
    place: OnceLock<master::Place>,
}

impl FibrePoller {
    /// The poller of a cluster, known to the master.
    ///
    /// # Errors
    ///
    /// When the master's thread cannot be started, or the process is out of descriptors.
    pub fn start(instance: Instance, bell: Bell) -> io::Result<Arc<Self>> {
        let poller = Arc::new(Self {
            instance,
            shift: Shift::new(),
            bell,
            place: OnceLock::new(),
        });
        let called = Arc::downgrade(&poller);
        let place = master::Place::take(poller.instance.epoll(), called)?;
        let _ = poller.place.set(place);
        Ok(poller)
    }

    /// Its instance.
    pub fn instance(&self) -> &Instance {
        &self.instance
    }
}

impl Called for FibrePoller {
    fn call(&self) {
        self.shift.call();
        self.bell.ring();
    }
}

impl Halt for FibrePoller {
    fn poll(&self) {
        if !self.shift.begin() {
            return;
        }
        if self.instance.poll() {
            self.shift.again();
        } else {
            self.shift.done();
            if let Some(place) = self.place.get() {
                place.watch_again();
            }
        }
    }

    fn is_due(&self) -> bool {
        self.shift.is_due()
    }

    fn enter(&self) -> bool {
        false
    }

    fn sleep(&self, _deadline: Option<Instant>) {}

    fn interrupt(&self) {}

    fn retire(&self) {
        if let Some(place) = self.place.get() {
            place.leave();
        }
        self.instance.abandon();
    }
}
