//! The pollers (reactors in other runtimes) wait in the kernel for descriptors. All keep one
//! contract.
//!
//! Files:
//!
//! * `instance`: an epoll instance with its interrupt descriptor, and the delivery of its events;
//! * `processors`: the default poller: each processor sleeps in an instance of its own;
//! * `variants`: the others; their table is `fibre-core/src/config/pollers.rs`.
//!
//! # The contract
//!
//! 1. **One at a time.** At most one thread at a time takes events from an instance, except for a
//!    moment when an idle processor polls for a busy one. Two do no harm: each event goes to one of
//!    them. A thread may take the event that was meant to interrupt the other's sleep; then it
//!    interrupts that sleep anew.
//! 2. **Every event is delivered**, to both gates of its slot, if the slot still has the owner
//!    that registered it: [`instance::deliver`]. An event is a hint: the woken fibre tries again.
//! 3. **Soon.** If a processor of the cluster is idle, an event is delivered at once. If none is,
//!    it is delivered when one goes idle or at its next service, every 200 µs or so; so fibres that
//!    yield in a loop starve no waiter. (With `processors`, at the first service after the fibres
//!    of earlier events have run, or after a millisecond.) If one fibre keeps a processor, an idle
//!    processor delivers for it within about a millisecond, or some ten if the idle one has just
//!    served a rush. (Two pollers are late by design: `thread-sleep` by a millisecond,
//!    `thread-opportunistic` by ten while all are busy.)
//! 4. **Idle is idle.** Without events no thread wakes up.
//! 5. **Registration is for good.** A descriptor stays with the instance it was first registered
//!    with, until it is closed or that instance's processors end.
//! 6. **Pause**: events may be delivered to a cluster that stands still; its fibres are queued, and
//!    run later.
//! 7. **Stop**: when the last processor of an instance has ended, its threads have been joined and
//!    its descriptors closed before `Cluster::stop` returns. Fibres of other clusters, and threads,
//!    may still wait for a descriptor that was registered there; they try again, which registers it
//!    elsewhere.
//! 8. **Fork**: in a child no thread polls, and the child writes nothing to the parent's instances
//!    and takes nothing out of them.
//! 9. **Failure** of `epoll_wait` other than by a signal, and a panic of a poller, end the process
//!    with a message: a runtime that gets no more events would only hang.

mod instance;
mod processors;
mod variants;

use crate::config::{Poller, poller_of};
use crate::epoll::Epoll;
use fibre_core::internal::{Driver, Drivers, with_drivers};
use instance::Instance;
use std::io;
use std::sync::Arc;

/// The instance of the caller's processor. On a thread that is no processor: an instance of the
/// default cluster, chosen by `spread`.
///
/// # Errors
///
/// When the kernel gives no descriptors, or no threads for the default cluster or its poller.
pub(crate) fn epoll_of_caller(spread: usize) -> io::Result<Arc<Epoll>> {
    with_drivers(spread, |drivers| {
        let driver = driver_of(&drivers)?;
        match driver.of_layer_above().downcast_ref::<Instance>() {
            Some(instance) => Ok(Arc::clone(instance.epoll())),
            None => Err(io::Error::other("somebody else lets this processor sleep")),
        }
    })
}

/// Makes [`driver_of`] from the table.
macro_rules! driver_of {
    ($($variant:ident, $_name:literal, $start:path, $_about:literal;)*) => {
        /// The driver of the caller's processor: the poller that was chosen for its cluster, which
        /// the first call makes.
        fn driver_of(drivers: &Drivers<'_>) -> io::Result<Arc<dyn Driver>> {
            match poller_of(drivers.io_config()) {
                $(Poller::$variant => $start(drivers),)*
            }
        }
    };
}

fibre_core::pollers!(driver_of);
