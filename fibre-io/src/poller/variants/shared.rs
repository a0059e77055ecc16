//! The poller `shared`: one epoll instance per cluster; the first idle processor sleeps in it.
//!
//! The processor that has the duty ([`Duty`]) gives it back as soon as there are events, and wakes
//! no other processor to take over. It takes the duty again when it goes idle, and meanwhile it
//! polls at each service like all busy processors. If one fibre keeps it for long, an idle watcher
//! polls instead.

use crate::poll_words::poll_lock::Duty;
use crate::poller::instance::Instance;
use fibre_core::internal::{Driver, Drivers, PollCounts};
use std::any::Any;
use std::io;
use std::sync::Arc;
use std::time::Instant;

/// The instance of a cluster, and the duty to sleep in it.
#[derive(Debug)]
struct Shared {
    instance: Instance,
    /// The right to sleep in the instance.
    duty: Duty,
}

/// Makes the poller of a cluster.
///
/// # Errors
///
/// When the process is out of descriptors.
pub(crate) fn start(drivers: &Drivers<'_>) -> io::Result<Arc<dyn Driver>> {
    drivers.common(|| {
        Ok(Arc::new(Shared {
            instance: Instance::of(drivers)?,
            duty: Duty::new(),
        }))
    })
}

impl Driver for Shared {
    fn of_layer_above(&self) -> &dyn Any {
        &self.instance
    }

    fn poll(&self) {
        if self.duty.take() {
            self.instance.poll();
            self.duty.give_back();
        }
    }

    fn enter(&self) -> bool {
        self.duty.take()
    }

    fn sleep(&self, deadline: Option<Instant>) {
        self.instance.wait(deadline);
    }

    fn leave(&self) {
        self.duty.give_back();
    }

    fn interrupt(&self) {
        // Should another processor sleep there by now, it wakes up for nothing.
        self.instance.interrupt();
    }

    fn traffic(&self) -> PollCounts {
        self.instance.traffic()
    }

    fn retire(&self) {
        self.instance.abandon();
    }
}
