//! The poller `fibre`: a fibre in the background of the cluster, under a master thread.
//!
//! The fibre polls without waiting, on a processor that has nothing else to do, or at a service of
//! a busy one ([`Shift`]). When there are no events, it leaves the instance to the master thread of
//! the process. The master waits for all clusters of this kind, in an epoll instance of their epoll
//! instances (thesis, section 3.4.3).
//!
//! The fibre needs no stack, because it never waits. It needs no place in a queue, because there is
//! only one: it is due or not. So any processor can run it, unlike a started fibre, which has to
//! stay with its processor.

use super::master::{self, Called};
use crate::poll_words::poll_turn::Shift;
use crate::poller::instance::Instance;
use fibre_core::internal::{Driver, Drivers, IdleWaker, PollCounts};
use std::any::Any;
use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// The instance of a cluster, and the fibre that polls it.
#[derive(Debug)]
struct FibrePoller {
    instance: Instance,
    /// The holder of the shift.
    shift: Shift,
    /// Wakes a processor when the poller is due.
    idle_waker: IdleWaker,
    /// The instance's place with the master.
    place: OnceLock<master::Place>,
}

/// Makes the poller of a cluster, and puts its instance under the master's watch.
///
/// # Errors
///
/// When the master's thread cannot be started, or the process is out of descriptors.
pub(crate) fn start(drivers: &Drivers<'_>) -> io::Result<Arc<dyn Driver>> {
    drivers.common(|| {
        let poller = Arc::new(FibrePoller {
            instance: Instance::of(drivers)?,
            shift: Shift::new(),
            idle_waker: drivers.idle_waker(),
            place: OnceLock::new(),
        });
        let called = Arc::downgrade(&poller);
        let place = master::Place::take(poller.instance.epoll(), called)?;
        let _ = poller.place.set(place);
        Ok(poller)
    })
}

impl Called for FibrePoller {
    fn call(&self) {
        self.shift.call();
        self.idle_waker.ring();
    }
}

impl Driver for FibrePoller {
    fn of_layer_above(&self) -> &dyn Any {
        &self.instance
    }

    fn poll(&self) {
        if !self.shift.begin() {
            return;
        }
        let found = self.instance.poll();
        self.shift.end(found, || {
            if let Some(place) = self.place.get() {
                place.watch_again();
            }
        });
    }

    fn is_due(&self) -> bool {
        self.shift.is_due()
    }

    fn enter(&self) -> bool {
        false
    }

    fn sleep(&self, _deadline: Option<Instant>) {}

    fn interrupt(&self) {}

    fn traffic(&self) -> PollCounts {
        self.instance.traffic()
    }

    fn retire(&self) {
        if let Some(place) = self.place.get() {
            place.leave();
        }
        self.instance.abandon();
    }
}
