//! Who waits in the kernel for descriptors: seven pollers behind one contract.
//!
//! | poller | epoll instances | who sleeps there |
//! |---|---|---|
//! | `processors` | one per processor | the processor |
//! | `shared` | one per cluster | the first idle processor; the others on their futexes |
//! | `fibre` | one per cluster | nobody: idle processors ask, and a master thread watches the instances |
//! | `thread`: four of them | one per cluster | a thread of the cluster |
//!
//! # The contract
//!
//! 1. **One at a time.** At most one thread at a time takes events from an instance, but for a
//!    moment where an idle processor polls for a busy one. Two do no harm, as each event goes to
//!    one of them; and who may have taken what interrupts the other one's sleep interrupts it anew.
//! 2. **Every event is delivered**, to both gates of its slot if that has still the owner that
//!    registered it: [`instance::deliver`]. It is a hint: who is woken tries again.
//! 3. **Soon.** An event is delivered at once if a processor of the cluster is idle, and if none
//!    is, when one of them goes idle or at its next service, every 200 µs or so; so fibres
//!    that yield in a loop starve nobody. (With `processors`, at the first service at which the fibres
//!    of earlier events have run, or after a millisecond.) If a processor is kept by one fibre, another one that is
//!    idle delivers for it within about a millisecond. (Two pollers are late by design:
//!    `thread-sleep` by a millisecond, `thread-opportunistic` by ten while all are busy.)
//! 4. **Idle is idle.** Without events nobody wakes up.
//! 5. **Registration is for good.** A descriptor stays with the instance it was first registered
//!    with, until it is closed or that instance's processors end.
//! 6. **Pause**: events may be delivered to a cluster that stands still; its fibres are queued, and run
//!    later.
//! 7. **Stop**: when the last processor of an instance has ended, its threads have been joined and
//!    its descriptors closed before `Cluster::stop` returns; who still waits for a
//!    descriptor that was registered there (fibres of other clusters, threads) tries again, which
//!    registers it elsewhere.
//! 8. **Fork**: in a child nobody polls, and nothing is written to or taken out of what the parent
//!    has.
//! 9. **Failure** of `epoll_wait` other than by a signal, and a panic of a poller, end the
//!    process with a word: a runtime that no longer hears of events would only hang.

mod fibre;
mod instance;
mod master;
mod processors;
mod shared;
mod thread;

use crate::choices::{Poller, is_batched, poller_of};
use crate::epoll::Epoll;
use fibre::FibrePoller;
use fibre_core::{Halt, Halts, with_halts};
use instance::Instance;
use processors::Processors;
use shared::Shared;
use std::any::Any;
use std::io;
use std::sync::Arc;
use thread::{Manner, ThreadPoller};

/// The instance that the caller's processor hears of; on a thread that is no processor, one
/// of the default cluster, chosen by `spread`.
///
/// # Errors
///
/// When the kernel gives no descriptors, or no threads for the default cluster or its poller.
pub fn epoll_of_caller(spread: usize) -> io::Result<Arc<Epoll>> {
    with_halts(spread, |halts| {
        let halt = halt_of(&halts)?;
        match instance_of(&*halt) {
            Some(instance) => Ok(Arc::clone(instance.epoll())),
            None => Err(io::Error::other("somebody else lets this processor sleep")),
        }
    })
}

/// The halt of a processor: the poller that was chosen for its cluster.
fn halt_of(halts: &Halts<'_>) -> io::Result<Arc<dyn Halt>> {
    let word = halts.choices_above();
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

/// The instance behind a halt, if it is one of ours.
fn instance_of(halt: &dyn Halt) -> Option<&Instance> {
    let any: &dyn Any = halt;
    let own = any.downcast_ref::<Processors>().map(Processors::instance);
    own.or_else(|| any.downcast_ref::<Shared>().map(Shared::instance))
        .or_else(|| any.downcast_ref::<FibrePoller>().map(FibrePoller::instance))
        .or_else(|| {
            any.downcast_ref::<ThreadPoller>()
                .map(ThreadPoller::instance)
        })
}
