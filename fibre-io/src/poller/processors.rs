//! The poller `processors`: each processor sleeps in an epoll instance of its own.
//!
//! A descriptor is registered with the instance of one processor: the one where a fibre first had
//! to wait for it. Started fibres stay with their processor. So the processor that must run the
//! fibre gets the event itself, and wakes no other thread. Busy processors poll now and then. See
//! docs/decisions/0003.

use super::instance::Instance;
use fibre_core::internal::{Driver, Drivers, PollCounts};
use std::any::Any;
use std::io;
use std::sync::Arc;
use std::time::Instant;

/// The instance of one processor.
#[derive(Debug)]
struct Processors(Instance);

/// Makes the pollers of all processors, and returns that of the caller's.
///
/// # Errors
///
/// When the process is out of descriptors.
pub(super) fn start(drivers: &Drivers<'_>) -> io::Result<Arc<dyn Driver>> {
    drivers.own(|| Ok(Arc::new(Processors(Instance::of(drivers)?))))
}

impl Driver for Processors {
    fn of_layer_above(&self) -> &dyn Any {
        &self.0
    }

    fn poll(&self) {
        self.0.poll();
    }

    fn delivered(&self) -> u32 {
        self.0.delivered()
    }

    fn sleep(&self, deadline: Option<Instant>) {
        self.0.wait(deadline);
    }

    fn interrupt(&self) {
        self.0.interrupt();
    }

    fn traffic(&self) -> PollCounts {
        self.0.traffic()
    }

    fn retire(&self) {
        self.0.abandon();
    }
}
