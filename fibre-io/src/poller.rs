//! How a processor sleeps once it does I/O: in `epoll_wait`.
//!
//! Each processor has an epoll instance of its own. A descriptor is registered with the
//! instance of the processor on which a fibre first had to wait for it, and started
//! fibres stay with their processor; so the processor that has to run the fibre is the
//! one that hears of the event, without waking another thread. Idle processors sleep
//! in `epoll_wait`; busy ones look in now and then. See docs/decisions/0003.

use crate::epoll::{Epoll, Event};
use crate::gate_word::News;
use crate::table::{self, Slot};
use fibre_core::sync::time_left;
use fibre_core::{Halt, is_forked_child};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use rustix::time::Timespec;
use std::any::Any;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Instant;

/// See the module text.
#[derive(Debug)]
pub struct Poller {
    /// The instance, which registered descriptors keep, too.
    epoll: Arc<Epoll>,
    /// Written to end a sleep. Edge-triggered, so it need not be read: it counts up
    /// and would take centuries to overflow.
    interrupt: OwnedFd,
}

/// The instance of the caller's processor; on a thread that is no processor, of one of
/// the default cluster's, chosen by `spread`.
///
/// # Errors
///
/// When the kernel gives no descriptors, or no threads for the default cluster.
pub fn epoll_of_caller(spread: usize) -> io::Result<Arc<Epoll>> {
    let halt = fibre_core::halt_of_caller(spread, || Ok(Arc::new(Poller::new()?)))?;
    let any: &dyn Any = &*halt;
    match any.downcast_ref::<Poller>() {
        Some(poller) => Ok(Arc::clone(&poller.epoll)),
        None => Err(io::Error::other(
            "this processor does not sleep in epoll_wait",
        )),
    }
}

impl Poller {
    /// A poller with a new instance.
    fn new() -> io::Result<Self> {
        let epoll = Epoll::new()?;
        let interrupt = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        // Generation zero is nobody's: the event finds no one who waits.
        epoll.add(interrupt.as_fd(), 0)?;
        Ok(Self {
            epoll: Arc::new(epoll),
            interrupt,
        })
    }

    /// Takes events from the kernel and delivers them.
    fn take_events(&self, timeout: Option<&Timespec>) {
        match self.epoll.wait(timeout, deliver) {
            // After a signal the processor sleeps again, if there is nothing to do.
            Ok(()) | Err(Errno::INTR) => {}
            Err(errno) => give_up(errno),
        }
    }
}

impl Halt for Poller {
    fn poll(&self) {
        self.take_events(Some(&Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        }));
    }

    fn sleep(&self, deadline: Option<Instant>) {
        let timeout = deadline.map(time_left);
        self.take_events(timeout.as_ref());
    }

    fn interrupt(&self) {
        if is_forked_child() {
            // It would end a sleep of the parent's.
            return;
        }
        // EAGAIN, after 2⁶⁴ interrupts nobody read, would still be an event.
        let _ = rustix::io::write(&self.interrupt, &1_u64.to_ne_bytes());
    }

    fn retire(&self) {
        table::abandon(&self.epoll);
    }
}

/// Delivers one event to the descriptor's gates.
fn deliver(event: Event) {
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

/// The instance is unusable, which nothing in this process should bring about; a
/// runtime that no longer hears of events would only hang.
#[cold]
fn give_up(errno: Errno) -> ! {
    eprintln!("fibre: epoll_wait failed: {errno}; was its descriptor closed by somebody else?");
    std::process::abort();
}
