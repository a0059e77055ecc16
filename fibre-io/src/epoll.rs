//! One epoll instance, as the kernel has it.
//!
//! Registration is edge-triggered and for both directions at once: one system call
//! in a descriptor's life, none per wait. With each descriptor the kernel keeps its
//! number and its owner's generation, and gives them back with each event.

use fibre_core::internal::refuse_if_forked;
use fibre_core::is_forked_child;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;
use rustix::time::Timespec;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// How many events are taken from the kernel at once: the memory of so many woken fibres fits into
/// a CPU's own caches.
const BATCH: usize = 128;

/// The flags that descriptors are registered with: all conditions, edge-triggered.
const BOTH: EventFlags = EventFlags::IN
    .union(EventFlags::PRI)
    .union(EventFlags::OUT)
    .union(EventFlags::RDHUP)
    .union(EventFlags::ET);

/// An epoll instance.
#[derive(Debug)]
pub(crate) struct Epoll {
    /// The instance.
    instance: OwnedFd,
    /// Whether the kernel has turned out not to have `epoll_pwait2`.
    coarse: AtomicBool,
}

/// An event, decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Event {
    /// The descriptor's number.
    pub fd: RawFd,
    /// The owner that registered it.
    pub generation: u32,
    /// There is something to read or accept, or the stream has ended.
    pub readable: bool,
    /// There is room to write, or the connection is made.
    pub writable: bool,
    /// The peer will send no more, or the connection is broken.
    pub read_closed: bool,
    /// The connection is broken.
    pub write_closed: bool,
    /// There is urgent data.
    pub urgent: bool,
}

/// What the delivery of an event will need, and is best prefetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// The descriptor's slot.
    Slot,
    /// The waiter, which is found by the slot.
    Waiter,
}

impl Step {
    /// How many events ahead it is prefetched.
    fn ahead(self) -> usize {
        match self {
            Self::Slot => 12,
            Self::Waiter => 6,
        }
    }
}

impl Epoll {
    /// A new instance.
    ///
    /// # Errors
    ///
    /// When the process is out of descriptors.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            instance: epoll::create(CreateFlags::CLOEXEC)?,
            coarse: AtomicBool::new(false),
        })
    }

    /// Registers a descriptor for both directions.
    ///
    /// # Errors
    ///
    /// Those of `epoll_ctl`; `EPERM` for descriptors that cannot be polled. Always in a forked
    /// child: the instance is the parent's, too, and the parent would get the events of the child's
    /// descriptors.
    pub(crate) fn add(&self, fd: BorrowedFd<'_>, generation: u32) -> io::Result<()> {
        refuse_if_forked()?;
        let data = EventData::new_u64(pack(fd.as_raw_fd(), generation));
        match epoll::add(&self.instance, fd, data, BOTH) {
            // An earlier descriptor of this number was closed unseen and left its registration.
            Err(Errno::EXIST) => epoll::modify(&self.instance, fd, data, BOTH)?,
            done => done?,
        }
        Ok(())
    }

    /// Registers a descriptor that was registered already, or another one of the same number. In
    /// both cases there is an event for the present state.
    ///
    /// # Errors
    ///
    /// Those of [`add`](Self::add).
    pub(crate) fn add_again(&self, fd: BorrowedFd<'_>, generation: u32) -> io::Result<()> {
        refuse_if_forked()?;
        let data = EventData::new_u64(pack(fd.as_raw_fd(), generation));
        match epoll::modify(&self.instance, fd, data, BOTH) {
            Err(Errno::NOENT) => self.add(fd, generation),
            done => Ok(done?),
        }
    }

    /// Registers another instance, or any other readable descriptor, for one event, with `key` as
    /// its generation.
    ///
    /// # Errors
    ///
    /// Those of `epoll_ctl`.
    pub(crate) fn watch_once(&self, fd: BorrowedFd<'_>, key: u32) -> io::Result<()> {
        let data = EventData::new_u64(pack(fd.as_raw_fd(), key));
        epoll::add(
            &self.instance,
            fd,
            data,
            EventFlags::IN | EventFlags::ONESHOT,
        )?;
        Ok(())
    }

    /// Registers it for one more event: at once, if it is readable already.
    ///
    /// # Errors
    ///
    /// Those of `epoll_ctl`.
    pub(crate) fn watch_again(&self, fd: BorrowedFd<'_>, key: u32) -> Result<(), Errno> {
        let data = EventData::new_u64(pack(fd.as_raw_fd(), key));
        epoll::modify(
            &self.instance,
            fd,
            data,
            EventFlags::IN | EventFlags::ONESHOT,
        )
    }

    /// Takes a descriptor out again: closing it would not, if it was duplicated.
    pub(crate) fn remove(&self, fd: BorrowedFd<'_>) {
        if is_forked_child() {
            // The instance is the parent's too, and so is the registration.
            return;
        }
        // The registration is gone in any case.
        let _ = epoll::delete(&self.instance, fd);
    }

    /// Waits for events, without a `timeout` for ever, and gives each to `deliver`. Returns how
    /// many there were. Blocks the thread.
    ///
    /// # Errors
    ///
    /// Those of `epoll_wait`.
    pub(crate) fn wait(
        &self,
        timeout: Option<&Timespec>,
        mut deliver: impl FnMut(Event),
        prefetch_next: impl Fn(Step, RawFd),
    ) -> Result<usize, Errno> {
        if self.coarse.load(Ordering::Relaxed) {
            return self.wait_coarsely(timeout, deliver);
        }
        let mut events = [const { MaybeUninit::<epoll::Event>::uninit() }; BATCH];
        let (events, _) = match epoll::wait(&self.instance, &mut events[..], timeout) {
            // An older kernel, a sandbox, or valgrind, that does not know `epoll_pwait2`.
            Err(Errno::NOSYS | Errno::PERM) => {
                self.coarse.store(true, Ordering::Relaxed);
                return self.wait_coarsely(timeout, deliver);
            }
            done => done?,
        };
        for (place, event) in events.iter().enumerate() {
            for step in [Step::Slot, Step::Waiter] {
                if let Some(later) = events.get(place + step.ahead()) {
                    prefetch_next(step, unpack(later.data.u64()).0);
                }
            }
            deliver(Event::from_kernel(event.flags, event.data.u64()));
        }
        Ok(events.len())
    }

    /// [`wait`](Self::wait) by the older system call, which knows milliseconds only.
    #[cold]
    fn wait_coarsely(
        &self,
        timeout: Option<&Timespec>,
        mut deliver: impl FnMut(Event),
    ) -> Result<usize, Errno> {
        let milliseconds = timeout.map_or(-1, in_milliseconds);
        let mut events = [const { MaybeUninit::<libc::epoll_event>::uninit() }; BATCH];
        // SAFETY: there is room for as many events as are asked for.
        let count = unsafe {
            libc::epoll_wait(
                self.instance.as_raw_fd(),
                events.as_mut_ptr().cast(),
                BATCH as i32,
                milliseconds,
            )
        };
        let Ok(count) = usize::try_from(count) else {
            let error = std::io::Error::last_os_error();
            return Err(Errno::from_io_error(&error).unwrap_or(Errno::INTR));
        };
        for event in &events[..count] {
            // SAFETY: the kernel has written the first `count` events.
            let event = unsafe { event.assume_init() };
            deliver(Event::from_kernel(
                EventFlags::from_bits_retain(event.events),
                event.u64,
            ));
        }
        Ok(count)
    }
}

impl AsFd for Epoll {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.instance.as_fd()
    }
}

/// A time-out in whole milliseconds, rounded up.
fn in_milliseconds(timeout: &Timespec) -> i32 {
    let whole = timeout.tv_sec.saturating_mul(1000);
    let rest = (timeout.tv_nsec + 999_999) / 1_000_000;
    i32::try_from(whole.saturating_add(rest)).unwrap_or(i32::MAX)
}

impl Event {
    /// Decodes the kernel's flags and data.
    fn from_kernel(flags: EventFlags, data: u64) -> Self {
        let (fd, generation) = unpack(data);
        let broken = flags.intersects(EventFlags::HUP | EventFlags::ERR);
        let read_closed = broken || flags.contains(EventFlags::RDHUP);
        Self {
            fd,
            generation,
            readable: read_closed || flags.intersects(EventFlags::IN | EventFlags::PRI),
            writable: broken || flags.contains(EventFlags::OUT),
            read_closed,
            write_closed: broken,
            urgent: flags.contains(EventFlags::PRI),
        }
    }
}

/// The data that the kernel keeps with each descriptor.
fn pack(fd: RawFd, generation: u32) -> u64 {
    u64::from(generation) << 32 | u64::from(fd.cast_unsigned())
}

/// The inverse of [`pack`].
fn unpack(data: u64) -> (RawFd, u32) {
    ((data as u32).cast_signed(), (data >> 32) as u32)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn packing_is_lossless() {
        for (fd, generation) in [(0, 0), (3, 7), (RawFd::MAX, u32::MAX), (1 << 20, 1 << 31)] {
            assert_eq!(unpack(pack(fd, generation)), (fd, generation));
        }
    }

    #[test]
    fn half_close_concerns_readers_only() {
        let event = Event::from_kernel(EventFlags::IN | EventFlags::RDHUP, 0);
        assert!(event.readable && event.read_closed && !event.writable && !event.write_closed);
        let event = Event::from_kernel(EventFlags::HUP, 0);
        assert!(event.readable && event.writable && event.read_closed && event.write_closed);
        let event = Event::from_kernel(EventFlags::OUT, 0);
        assert!(!event.readable && event.writable && !event.read_closed);
    }

    /// Both system calls report the same: who is ready, and that nobody is.
    #[test]
    fn the_older_system_call_reports_the_same() {
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        for coarse in [false, true] {
            let epoll = Epoll::new().unwrap();
            epoll.coarse.store(coarse, Ordering::Relaxed);
            epoll.add(reader.as_fd(), 7).unwrap();
            let soon = Timespec {
                tv_sec: 0,
                tv_nsec: 1000,
            };
            let waits = || {
                let mut seen = Vec::new();
                let count = epoll.wait(Some(&soon), |event| seen.push(event), |_, _| ());
                assert_eq!(count.unwrap(), seen.len());
                seen
            };
            assert_eq!(waits(), []);
            rustix::io::write(&writer, b"x").unwrap();
            let [event] = waits()[..] else {
                panic!("one event")
            };
            assert_eq!((event.fd, event.generation), (reader.as_raw_fd(), 7));
            assert!(event.readable && !event.read_closed);
            rustix::io::read(&reader, &mut [0; 1]).unwrap();
        }
    }

    /// A time-out rounded down would make the caller spin until the deadline; long ones do not
    /// overflow.
    #[test]
    fn milliseconds_are_rounded_up() {
        let milliseconds = |tv_sec, tv_nsec| in_milliseconds(&Timespec { tv_sec, tv_nsec });
        assert_eq!(milliseconds(0, 0), 0);
        assert_eq!(milliseconds(0, 1), 1);
        assert_eq!(milliseconds(2, 1_000_001), 2002);
        assert_eq!(milliseconds(i64::MAX, 0), i32::MAX);
    }
}
