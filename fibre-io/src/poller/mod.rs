//! The pollers, which wait in the kernel for descriptors: seven behind one contract.
//!
//! | poller | epoll instances | sleeper |
//! |---|---|---|
//! | `processors` | one per processor | the processor |
//! | `shared` | one per cluster | the first idle processor; the others on their futexes |
//! | `fibre` | one per cluster | none: idle processors poll, and a master thread watches the instances |
//! | `thread`: four of them | one per cluster | a thread of the cluster |
//!
//! Files:
//!
//! * `instance`: an epoll instance with its interrupt descriptor, and the delivery of its events;
//! * `master`: one thread that waits for the epoll instances of many clusters.
//!
//! # The contract
//!
//! 1. ***One at a time.** At most one thread at a time takes events from an instance, except for a
//!    moment when an idle processor polls for a busy one. Two do no harm: each event goes to one of
//!    them, and a thread that may have taken the event meant to interrupt the other's sleep
//!    interrupts it anew.
//! 2. ***Every event is delivered**, to both gates of its slot, if the slot still has the owner
//!    that registered it: [`instance::deliver`]. An event is a hint: the woken fibre tries again.
//! 3. ***Soon.** If a processor of the cluster is idle, an event is delivered at once. If none is,
//!    it is delivered when one goes idle or at its next service, every 200 µs or so; so fibres that
//!    yield in a loop starve no waiter. (With `processors`, at the first service at which the
//!    fibres of earlier events have run, or after a millisecond.) If a processor is kept by one
//!    fibre, another one that is idle delivers for it within about a millisecond. (Two pollers are
//!    late by design: `thread-sleep` by a millisecond, `thread-opportunistic` by ten while all are
//!    busy.)
//! 4. ***Idle is idle.** Without events no thread wakes up.
//! 5. **Registration is for good.** A descriptor stays with the instance it was first registered
//!    with, until it is closed or that instance's processors end.
//! 6. **Pause**: events may be delivered to a cluster that stands still; its fibres are queued, and
//!    run later.
//! 7. **Stop**: when the last processor of an instance has ended, its threads have been joined and
//!    its descriptors closed before `Cluster::stop` returns. Fibres of other clusters, and threads,
//!    that still wait for a descriptor which was registered there try again, which registers it
//!    elsewhere.
//! 8. ***Fork**: in a child no thread polls, and the child writes nothing to the parent's instances
//!    and takes nothing out of them.
//! 9. ***Failure** of `epoll_wait` other than by a signal, and a panic of a poller, end the process
//!    with a message: a runtime that gets no more events would only hang.

mod fibre;
mod instance;
mod master;
mod processors;
mod shared;
mod thread;

use crate::config::{Poller, is_batched, poller_of};
use crate::epoll::Epoll;
use fibre::FibrePoller;
use fibre_core::internal::{Driver, Drivers, with_drivers};
use instance::Instance;
use processors::Processors;
use shared::Shared;
use std::any::Any;
use std::io;
use std::sync::Arc;
use thread::{Manner, ThreadPoller};

/// The instance of the caller's processor. On a thread that is no processor: an instance of the
/// default cluster, chosen by `spread`.
///
/// # Errors
///
/// When the kernel gives no descriptors, or no threads for the default cluster or its poller.
pub fn epoll_of_caller(spread: usize) -> io::Result<Arc<Epoll>> {
    with_drivers(spread, |halts| {
        let halt = halt_of(&halts)?;
        match instance_of(&*halt) {
            Some(instance) => Ok(Arc::clone(instance.epoll())),
            None => Err(io::Error::other("somebody else lets this processor sleep")),
        }
    })
}

/// Makes a processor's driver: the poller that was chosen for its cluster.
fn halt_of(halts: &Drivers<'_>) -> io::Result<Arc<dyn Driver>> {
    let word = halts.io_config();
    let batched = is_batched(word);
    let manner = match poller_of(word) {
        Poller::Processors => {
            return halts.own(|| Ok(Arc::new(Processors::new(Instance::new(batched)?))));
        }
        Poller::Shared => {
            return halts.common(|| Ok(Arc::new(Shared::new(Instance::new(batched)?))));
        }
        Poller::Fibre => {
            return halts.common(|| Ok(FibrePoller::start(Instance::new(batched)?, halts.bell())?));
        }
        Poller::ThreadLoop => Manner::Loop,
        Poller::ThreadSleep => Manner::Sleep,
        Poller::ThreadOpportunistic => Manner::Opportunistic,
        Poller::ThreadTimeout => Manner::Timeout,
    };
    halts.common(|| {
        let instance = Instance::new(batched)?;
        Ok(ThreadPoller::start(
            instance,
            manner,
            halts.bell(),
            halts.name(),
        )?)
    })
}

/// The instance behind a driver, if the driver is one of these pollers.
fn instance_of(halt: &dyn Driver) -> Option<&Instance> {
    let any: &dyn Any = halt;
    let own = any.downcast_ref::<Processors>().map(Processors::instance);
    own.or_else(|| any.downcast_ref::<Shared>().map(Shared::instance))
        .or_else(|| any.downcast_ref::<FibrePoller>().map(FibrePoller::instance))
        .or_else(|| {
            any.downcast_ref::<ThreadPoller>()
                .map(ThreadPoller::instance)
        })
}
