//! A descriptor that fibres can wait for, and the funnel that all I/O goes through.

use crate::backoff;
use crate::choices::{registers_lazily, yields_before_read};
use crate::gate::{Gate, Turn};
use crate::gate_word::Snapshot;
use crate::known::Known;
use crate::patience::Patience;
use crate::poller::epoll_of_caller;
use crate::retry::Retry;
use crate::table::Slot;
use fibre_core::{Cancelled, foresee, is_forked_child, yield_cancellable, yield_point_cancellable};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Instant;

/// What a call waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Data, end of file, or a connection to accept.
    Read,
    /// Room in the send buffer, or being connected.
    Write,
}

/// What a successful call says about the direction it used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// It took less than it could have: nothing is left until the next event.
    Nothing,
    /// There may be more.
    More,
}

/// A non-blocking descriptor with its slot. Dropping it deregisters, and drops what has the
/// descriptor: an owned one is closed.
#[derive(Debug)]
pub struct Source<F: AsFd = OwnedFd> {
    /// What has the descriptor. `None` only after it has been taken out.
    fd: Option<F>,
    /// The slot of the descriptor's number.
    slot: &'static Slot,
}

impl Source {
    /// Takes a descriptor and makes it non-blocking. It is not registered with epoll
    /// before somebody has to wait for it.
    ///
    /// # Errors
    ///
    /// Those of `fcntl`; and if the number is beyond four million.
    pub fn new(fd: OwnedFd) -> io::Result<Self> {
        let flags = rustix::fs::fcntl_getfl(&fd)?;
        if !flags.contains(rustix::fs::OFlags::NONBLOCK) {
            rustix::fs::fcntl_setfl(&fd, flags | rustix::fs::OFlags::NONBLOCK)?;
        }
        Self::from_nonblocking(fd)
    }

    /// [`new`](Self::new) for a descriptor that is known to be non-blocking.
    ///
    /// # Errors
    ///
    /// If the number is beyond four million.
    pub fn from_nonblocking(fd: OwnedFd) -> io::Result<Self> {
        let slot = slot_of(fd.as_fd())?;
        slot.acquire();
        Ok(Self { fd: Some(fd), slot })
    }

    /// A source of a duplicate: another number for the same thing, with a slot of its own.
    ///
    /// # Errors
    ///
    /// When there is no descriptor left.
    pub fn try_clone(&self) -> io::Result<Self> {
        Self::from_nonblocking(self.as_fd().try_clone_to_owned()?)
    }

    /// Gives the descriptor up, deregistered, and blocking again.
    ///
    /// # Errors
    ///
    /// Those of `fcntl`.
    pub fn into_fd(self) -> io::Result<OwnedFd> {
        let fd = self.release();
        let flags = rustix::fs::fcntl_getfl(&fd)?;
        rustix::fs::fcntl_setfl(&fd, flags - rustix::fs::OFlags::NONBLOCK)?;
        Ok(fd)
    }
}

impl<F: AsFd> Source<F> {
    /// For whatever has a descriptor, and always the same one, that is non-blocking.
    ///
    /// # Errors
    ///
    /// `AlreadyExists` if there is a source of this descriptor; if the number is beyond four
    /// million.
    pub fn sole(has_fd: F) -> io::Result<Self> {
        let slot = slot_of(has_fd.as_fd())?;
        if slot.known.get().has(Known::RAW) {
            // Somebody has used its number, or another descriptor's that had it.
            slot.make(Known::NOTHING);
        } else if !slot.try_acquire() {
            return Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                "another object of this runtime has the descriptor",
            ));
        }
        let fd = Some(has_fd);
        Ok(Self { fd, slot })
    }

    /// What has the descriptor.
    pub fn get_ref(&self) -> &F {
        match &self.fd {
            Some(fd) => fd,
            None => unreachable!("a source without its descriptor is being consumed"),
        }
    }

    /// Gives up what has the descriptor, deregistered, and as non-blocking as it is.
    #[must_use]
    pub fn release(mut self) -> F {
        self.let_go();
        match self.fd.take() {
            Some(fd) => fd,
            None => unreachable!("nobody else has taken it out"),
        }
    }

    /// The gate of a direction.
    pub(crate) fn gate(&self, direction: Direction) -> &'static Gate {
        match direction {
            Direction::Read => &self.slot.read,
            Direction::Write => &self.slot.write,
        }
    }

    /// The funnel: calls `operation` until it neither would block nor was interrupted,
    /// and waits for `direction` in between. Blocks the fibre, or the thread if the
    /// caller is not a fibre, as long as `patience` allows.
    ///
    /// A call whose time is over has tried after that: it finds what came while its processor
    /// did not look at its events.
    ///
    /// `operation` also says whether it left something ([`Left`]); if not, the next
    /// call waits for an event without trying first.
    ///
    /// Before it reads what is there already, a fibre lets the others of its processor
    /// run (thesis section 3.4.2, "yield before read"), and the descriptor is registered when a
    /// call first has to wait ("lazy registration", the same section), unless its cluster was
    /// built otherwise: see [`IoChoices`](crate::IoChoices).
    ///
    /// # Errors
    ///
    /// `operation`'s own; `TimedOut`; `ConnectionAborted` after [`close`](Self::close);
    /// `ECANCELED` if the fibre has been [cancelled](fibre_core::CancelToken), or is while
    /// it waits.
    pub fn io<T>(
        &self,
        direction: Direction,
        patience: Patience<'_>,
        mut operation: impl FnMut(BorrowedFd<'_>) -> Result<(T, Left), Errno>,
    ) -> io::Result<T> {
        let gate = self.gate(direction);
        let mut rested = direction == Direction::Write;
        if rested {
            yield_point_cancellable()?;
        }
        let mut turn = Turn::new(patience);
        loop {
            let seen = gate.snapshot();
            if seen.is_closed() {
                return Err(refuse());
            }
            if self.slot.is_registered() {
                if !seen.is_ready() && !turn.is_over() {
                    gate.wait(number_of(self), &mut turn)?;
                    rested = true;
                    continue;
                }
            } else if !registers_lazily() {
                self.register_early()?;
            }
            if !rested {
                rested = true;
                make_way()?;
                continue;
            }
            if direction == Direction::Read {
                // Who writes has done so when it read.
                foresee();
            }
            match operation(self.as_fd()) {
                Ok((value, Left::More)) => {
                    gate.took_all(&turn);
                    return Ok(value);
                }
                Ok((value, Left::Nothing)) => {
                    gate.took_rest(seen);
                    return Ok(value);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    gate.drained(seen, true);
                    turn.in_vain()?;
                    self.register()?;
                }
                Err(errno) => {
                    gate.pass_on();
                    return Err(errno.into());
                }
            }
        }
    }

    /// The funnel for what no event may tell of: it tries again after pauses of up to 5 ms, and keeps what events
    /// have told for other calls. Blocks the fibre (or thread), as long as `patience` allows.
    ///
    /// # Errors
    ///
    /// As for [`io`](Self::io).
    pub fn io_untold<T>(
        &self,
        direction: Direction,
        patience: Patience<'_>,
        mut operation: impl FnMut(BorrowedFd<'_>) -> Result<T, Errno>,
    ) -> io::Result<T> {
        yield_point_cancellable()?;
        let mut retry = Retry::new(patience);
        loop {
            if self.gate(direction).snapshot().is_closed() {
                return Err(refuse());
            }
            match operation(self.as_fd()) {
                Err(Errno::AGAIN) => retry.wait()?,
                Err(Errno::INTR) => {}
                done => return Ok(done?),
            }
        }
    }

    /// Wakes the next one who waits for `direction`, for a call that has neither used nor
    /// noted the event that it may have been woken for.
    pub fn pass_on(&self, direction: Direction) {
        self.gate(direction).pass_on();
    }

    /// What is known about a direction now; for [`wait_ready`](Self::wait_ready).
    pub fn snapshot(&self, direction: Direction) -> Snapshot {
        self.gate(direction).snapshot()
    }

    /// Waits for an event of `direction` that was not known when `seen` was taken: for
    /// those who find out by other calls than reading and writing whether they have to
    /// wait (being connected). Take the snapshot before that call.
    ///
    /// # Errors
    ///
    /// `TimedOut`; `ConnectionAborted`; `ECANCELED`; those of `epoll_ctl`.
    pub fn wait_ready(
        &self,
        direction: Direction,
        seen: Snapshot,
        deadline: Option<Instant>,
    ) -> io::Result<()> {
        let gate = self.gate(direction);
        gate.drained(seen, true);
        self.register()?;
        let mut turn = Turn::new(deadline.map_or(Patience::Endless, Patience::Until));
        gate.wait(number_of(self), &mut turn)?;
        if gate.snapshot().is_closed() {
            Err(closed())
        } else {
            turn.in_vain()
        }
    }

    /// [`register`](Self::register) before anybody has to wait: what cannot be polled may never
    /// make anybody wait.
    #[cold]
    fn register_early(&self) -> io::Result<()> {
        match self.register() {
            Err(error) if error.raw_os_error() == Some(Errno::PERM.raw_os_error()) => Ok(()),
            done => done,
        }
    }

    /// Registers the descriptor with the caller's processor, unless it is registered.
    pub(crate) fn register(&self) -> io::Result<()> {
        register(self.as_fd(), self.slot)
    }

    /// Takes the descriptor out of epoll and leaves the slot to a later owner.
    fn let_go(&self) {
        if is_forked_child() {
            // Nobody waits here, and what the parent was about to do with the slot is never done.
            return;
        }
        self.slot.release(|epoll| epoll.remove(self.as_fd()));
    }

    /// Lets all who wait for a direction look at their [`TimeLimit`](crate::TimeLimit) again,
    /// whose deadline the caller has changed.
    pub fn nudge(&self, direction: Direction) {
        self.gate(direction).nudge();
    }

    /// Lets all who wait for a direction try their calls again: the caller knows of something
    /// that the kernel does not tell.
    pub fn try_again(&self, direction: Direction) {
        self.gate(direction).wake_all();
    }

    /// Makes all calls that wait, and all later ones, fail with `ConnectionAborted`. The
    /// descriptor itself is closed when the source is dropped.
    pub fn close(&self) {
        self.slot.read.close();
        self.slot.write.close();
    }
}

impl<F: AsFd> AsFd for Source<F> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.get_ref().as_fd()
    }
}

impl<F: AsFd> Drop for Source<F> {
    fn drop(&mut self) {
        if self.fd.is_some() {
            self.let_go();
            self.fd = None;
            backoff::descriptor_freed();
        }
    }
}

/// A descriptor's number.
pub fn number_of(fd: impl AsFd) -> u32 {
    fd.as_fd().as_raw_fd().unsigned_abs()
}

/// The slot of a descriptor.
fn slot_of(fd: BorrowedFd<'_>) -> io::Result<&'static Slot> {
    Slot::of(fd.as_raw_fd())
        .ok_or_else(|| io::Error::other("a descriptor number beyond four million"))
}

/// Registers a descriptor, which has this slot, with the caller's processor, unless it is registered, or
/// has no owner any more. What was found, and not made, is asked about each time.
///
/// # Errors
///
/// Those of `epoll_ctl`, and if there is no processor to register it with.
pub fn register(fd: BorrowedFd<'_>, slot: &Slot) -> io::Result<()> {
    let is_found = slot.known.get().has(Known::FOUND);
    if slot.is_registered() && !is_found {
        return Ok(());
    }
    let register = |generation| {
        let epoll = epoll_of_caller(number_of(fd) as usize)?;
        epoll.add(fd, generation)?;
        Ok(epoll)
    };
    if is_found {
        return slot.confirm(
            |epoll, generation| epoll.add_again(fd, generation),
            register,
        );
    }
    slot.register(register)
}

/// Lets others run before a read, or at least now and then.
#[inline]
pub fn make_way() -> Result<(), Cancelled> {
    if yields_before_read() {
        yield_cancellable()
    } else {
        yield_point_cancellable()
    }
}

/// Wakes the next one if code of a user's unwinds in a call that may have been woken for an event. To be
/// forgotten when it has not.
pub struct PassOn<'a, F: AsFd>(pub &'a Source<F>, pub Direction);

impl<F: AsFd> Drop for PassOn<'_, F> {
    fn drop(&mut self) {
        self.0.pass_on(self.1);
    }
}

/// [`closed`], for one that may try again and again: it keeps nobody from running.
#[cold]
fn refuse() -> io::Error {
    match yield_point_cancellable() {
        Ok(()) => closed(),
        Err(cancelled) => cancelled.into(),
    }
}

/// What a call on a closed source fails with.
pub fn closed() -> io::Error {
    io::Error::new(
        io::ErrorKind::ConnectionAborted,
        "the socket was closed by its owner",
    )
}
