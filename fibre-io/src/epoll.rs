//! A processor's epoll instance: how it sleeps once it does I/O.
//!
//! Each processor has its own. A descriptor is registered with the instance of the
//! processor on which a fibre first had to wait for it, and started fibres stay with
//! their processor; so the processor that has to run the fibre is the one that hears
//! of the event, without waking another thread. Idle processors sleep in
//! `epoll_wait`; busy ones look in now and then. See docs/decisions/0003.
//!
//! Registration is edge-triggered and for both directions at once: one system call
//! in a descriptor's life, none per wait.

use crate::table::Slot;
use fibre_core::Halt;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use rustix::time::Timespec;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::Instant;

/// Events taken from the kernel at once.
const BATCH: usize = 256;

/// The data of the eventfd's events: no descriptor has this number.
const INTERRUPT: u64 = u64::MAX;

/// See the module text.
#[derive(Debug)]
pub struct Epoll {
    /// The instance.
    instance: OwnedFd,
    /// Written to end a sleep. Edge-triggered, so it need not be read: it counts up
    /// and would take centuries to overflow.
    interrupt: OwnedFd,
}

impl Epoll {
    /// The instance of the caller's processor; on a thread that is no processor, one of
    /// the default cluster's.
    ///
    /// # Errors
    ///
    /// When the kernel gives no descriptors, or threads for the default cluster.
    pub fn of_caller(spread: usize) -> io::Result<Arc<Self>> {
        let halt = fibre_core::halt_of_caller(spread, || Ok(Arc::new(Self::new()?)))?;
        let any: Arc<dyn std::any::Any + Send + Sync> = halt;
        any.downcast()
            .map_err(|_| io::Error::other("the processor sleeps in somebody else's way"))
    }

    /// A new instance.
    fn new() -> io::Result<Self> {
        let instance = epoll::create(CreateFlags::CLOEXEC)?;
        let interrupt = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let data = EventData::new_u64(INTERRUPT);
        epoll::add(&instance, &interrupt, data, EventFlags::IN | EventFlags::ET)?;
        Ok(Self {
            instance,
            interrupt,
        })
    }

    /// Registers a descriptor for both directions.
    ///
    /// # Errors
    ///
    /// Those of `epoll_ctl`; `EPERM` for descriptors that cannot be polled.
    pub fn add(&self, fd: BorrowedFd<'_>, generation: u32) -> io::Result<()> {
        let data = EventData::new_u64(pack(fd.as_raw_fd(), generation));
        let interest = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        match epoll::add(&self.instance, fd, data, interest) {
            // Inherited from somebody who closed it behind our back.
            Err(Errno::EXIST) => epoll::modify(&self.instance, fd, data, interest)?,
            done => done?,
        }
        Ok(())
    }

    /// Takes a descriptor out again: closing alone would not, if it was duplicated.
    pub fn remove(&self, fd: BorrowedFd<'_>) {
        // It is gone in any case.
        let _ = epoll::delete(&self.instance, fd);
    }

    /// Takes events from the kernel and delivers them. On the processor's own stack,
    /// which has room for them.
    fn take_events(&self, timeout: Option<&Timespec>) {
        let mut events = [const { MaybeUninit::<Event>::uninit() }; BATCH];
        match epoll::wait(&self.instance, &mut events[..], timeout) {
            Ok((events, _)) => events.iter().for_each(deliver),
            // A signal; the caller sleeps again if there is nothing to do.
            Err(Errno::INTR) => {}
            Err(errno) => give_up(errno),
        }
    }
}

impl Halt for Epoll {
    fn poll(&self) {
        self.take_events(Some(&Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        }));
    }

    fn sleep(&self, deadline: Option<Instant>) {
        let timeout = deadline.map(|deadline| {
            let left = deadline.saturating_duration_since(Instant::now());
            Timespec {
                tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: left.subsec_nanos().into(),
            }
        });
        self.take_events(timeout.as_ref());
    }

    fn interrupt(&self) {
        // EAGAIN, after 2⁶⁴ interrupts nobody read, would still be an event.
        let _ = rustix::io::write(&self.interrupt, &1_u64.to_ne_bytes());
    }
}

/// Delivers one event to the descriptor's gates.
fn deliver(event: &Event) {
    let data = event.data.u64();
    let (fd, generation) = unpack(data);
    let Some(slot) = (data != INTERRUPT).then(|| Slot::of(fd)).flatten() else {
        return;
    };
    if !slot.is_owned_by(generation) {
        return;
    }
    let flags = event.flags;
    let broken = flags.intersects(EventFlags::HUP | EventFlags::ERR);
    let peer_closed = broken || flags.contains(EventFlags::RDHUP);
    if peer_closed || flags.contains(EventFlags::IN) {
        slot.read.event(peer_closed);
    }
    if broken || flags.contains(EventFlags::OUT) {
        slot.write.event(broken);
    }
}

/// What epoll keeps for us with each descriptor.
fn pack(fd: RawFd, generation: u32) -> u64 {
    u64::from(generation) << 32 | u64::from(fd.cast_unsigned())
}

/// The inverse of [`pack`].
fn unpack(data: u64) -> (RawFd, u32) {
    ((data as u32).cast_signed(), (data >> 32) as u32)
}

/// The instance is unusable, which nothing in this process should bring about; a
/// runtime that no longer hears of events would only hang.
#[cold]
fn give_up(errno: Errno) -> ! {
    eprintln!("fibre: epoll_wait failed: {errno}; was its descriptor closed by somebody else?");
    std::process::abort();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_is_lossless() {
        for (fd, generation) in [(0, 0), (3, 7), (RawFd::MAX, u32::MAX), (1 << 20, 1 << 31)] {
            assert_eq!(unpack(pack(fd, generation)), (fd, generation));
            assert_ne!(pack(fd, generation), INTERRUPT);
        }
    }
}
