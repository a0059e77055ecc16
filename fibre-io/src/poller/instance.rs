//! An epoll instance with its interrupt descriptor, and the delivery of its events.

use crate::config::is_batched;
use crate::descriptor::table::{self, Slot};
use crate::epoll::{Epoll, Event, Step};
use crate::gate::word::News;
use fibre_core::internal::{Drivers, PollCounts, abort_with, fetch_all, wake_after};
use fibre_core::is_forked_child;
use fibre_core::sync::time_left;
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use rustix::time::Timespec;
use std::io;
use std::os::fd::{AsFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Instant;

/// An epoll instance, with the descriptor that interrupts it.
#[derive(Debug)]
pub(super) struct Instance {
    /// The kernel's instance, which the slots of registered descriptors share.
    epoll: Arc<Epoll>,
    /// An event counter, written to end a sleep. It is edge-triggered, so it need not be read: it
    /// would take centuries to overflow.
    interrupt: OwnedFd,
    /// Whether fibres are queued before processors are woken for them.
    batched: bool,
    /// How many events the last poll or wait took; a hint.
    delivered: AtomicU32,
    /// How often the kernel was asked, how often it told of nothing, and of how many events it told
    /// all together. Two threads may count at the same time, though they hardly ever do.
    polls: AtomicU64,
    empty: AtomicU64,
    events: AtomicU64,
}

impl Instance {
    /// A new instance for a cluster, as its builder chose.
    ///
    /// # Errors
    ///
    /// When the process is out of descriptors.
    pub(super) fn of(drivers: &Drivers<'_>) -> io::Result<Self> {
        Self::new(is_batched(drivers.io_config()))
    }

    /// A new instance.
    ///
    /// # Errors
    ///
    /// When the process is out of descriptors; `ENOSYS` where a sandbox refuses what it takes.
    fn new(batched: bool) -> io::Result<Self> {
        let (epoll, interrupt) = parts().map_err(unless_refused)?;
        Ok(Self {
            epoll: Arc::new(epoll),
            interrupt,
            batched,
            delivered: AtomicU32::new(0),
            polls: AtomicU64::new(0),
            empty: AtomicU64::new(0),
            events: AtomicU64::new(0),
        })
    }

    /// The kernel's instance, to register descriptors with.
    pub(super) fn epoll(&self) -> &Arc<Epoll> {
        &self.epoll
    }

    /// Delivers the events of one system call. Returns `false` if there were none.
    pub(super) fn poll(&self) -> bool {
        self.take_events(Some(&Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        }))
    }

    /// Waits for events, and delivers them; until [`interrupt`](Self::interrupt) or the deadline.
    /// Blocks the thread. May end early.
    #[inline(always)]
    pub(super) fn wait(&self, deadline: Option<Instant>) {
        let timeout = deadline.map(time_left);
        self.take_events(timeout.as_ref());
    }

    /// Takes events from the kernel and delivers them. Returns `false` if there were none.
    fn take_events(&self, timeout: Option<&Timespec>) -> bool {
        let taken = if self.batched {
            // SAFETY: neither `epoll_wait` nor a delivery leaves the stack of this thread.
            unsafe { wake_after(|| self.epoll.wait(timeout, deliver, prefetch_next)) }
        } else {
            self.epoll.wait(timeout, deliver, prefetch_next)
        };
        let count = match taken {
            Ok(count) => count,
            // After a signal the caller sleeps again, if there is nothing to do.
            Err(Errno::INTR) => 0,
            Err(errno) => give_up(errno),
        };
        // Fits: no more than a batch is taken at once.
        self.delivered.store(count as u32, Ordering::Relaxed);
        self.count(count);
        count > 0
    }

    /// Counts a call that has told of so many events.
    fn count(&self, events: usize) {
        self.polls.fetch_add(1, Ordering::Relaxed);
        if events == 0 {
            self.empty.fetch_add(1, Ordering::Relaxed);
        } else {
            self.events.fetch_add(events as u64, Ordering::Relaxed);
        }
    }

    /// What it has done so far.
    pub(super) fn traffic(&self) -> PollCounts {
        PollCounts {
            polls: self.polls.load(Ordering::Relaxed),
            empty: self.empty.load(Ordering::Relaxed),
            events: self.events.load(Ordering::Relaxed),
        }
    }

    /// How many events the last poll or wait has delivered.
    pub(super) fn delivered(&self) -> u32 {
        self.delivered.load(Ordering::Relaxed)
    }

    /// Ends the present wait, or the next one if none is going on. Any thread may call it.
    pub(super) fn interrupt(&self) {
        if is_forked_child() {
            // A write would end a sleep of the parent's.
            return;
        }
        let one = 1_u64.to_ne_bytes();
        if rustix::io::write(&self.interrupt, &one) == Err(Errno::AGAIN) {
            // The counter is full, after centuries or by a foreign write, and a failed write is no
            // event.
            let _ = rustix::io::read(&self.interrupt, &mut [0; 8]);
            let _ = rustix::io::write(&self.interrupt, &one);
        }
    }

    /// Called when the instance will not be polled any more: its waiters try elsewhere.
    pub(super) fn abandon(&self) {
        table::abandon(&self.epoll);
    }
}

/// The descriptors of an instance, connected.
fn parts() -> io::Result<(Epoll, OwnedFd)> {
    let epoll = Epoll::new()?;
    let interrupt = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
    // Generation zero has no owner: the event finds no waiter.
    epoll.add(interrupt.as_fd(), 0)?;
    Ok((epoll, interrupt))
}

/// Why there is no instance. A sandbox may refuse by `EPERM`; of a registration, which may make an
/// instance, that would say that its descriptor cannot be polled and never makes a call wait.
fn unless_refused(error: io::Error) -> io::Error {
    match Errno::from_io_error(&error) {
        Some(Errno::PERM) => Errno::NOSYS.into(),
        _ => error,
    }
}

/// Prefetches the memory that delivering an event of this descriptor will touch: with many
/// connections, none of it is in the caches any more.
fn prefetch_next(step: Step, fd: RawFd) {
    let Some(slot) = Slot::of(fd) else {
        return;
    };
    match step {
        Step::Slot => fetch_all(slot),
        Step::Waiter => slot.read.prefetch_next(),
    }
}

/// Delivers one event to the descriptor's gates.
pub(super) fn deliver(event: Event) {
    let Some(slot) = Slot::of(event.fd).filter(|slot| slot.is_owned_by(event.generation)) else {
        return;
    };
    if event.readable {
        slot.read.event(News {
            hangup: event.read_closed,
            urgent: event.urgent,
        });
    }
    if event.writable {
        slot.write.event(News {
            hangup: event.write_closed,
            urgent: false,
        });
    }
}

/// Ends the process: the instance is unusable, which nothing in this process should bring about. A
/// runtime that gets no more events would only hang.
#[cold]
pub(super) fn give_up(errno: Errno) -> ! {
    abort_with(format_args!(
        "epoll_wait failed: {errno}; was its descriptor closed by somebody else?"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A counter that can count no further still ends waits.
    #[test]
    fn a_full_counter_interrupts() {
        let instance = Instance::new(false).unwrap();
        let full = (u64::MAX - 1).to_ne_bytes();
        rustix::io::write(&instance.interrupt, &full).unwrap();
        assert!(instance.poll());
        assert!(!instance.poll());
        instance.interrupt();
        assert!(instance.poll());
        let counted = PollCounts {
            polls: 3,
            empty: 1,
            events: 2,
        };
        assert_eq!(instance.traffic(), counted);
    }
}
