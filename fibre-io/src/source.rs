//! A descriptor that fibres can wait for.

pub(crate) mod arm;

use crate::backoff;
use crate::config::registers_lazily;
use crate::descriptor::duplicates::Duplicates;
use crate::descriptor::flags::Known;
use crate::descriptor::table::Slot;
use crate::funnel::{Direction, Left, Policy, Progress, TOLD, UNTOLD};
use crate::gate::single::{Gate, Turn};
use crate::poller::epoll_of_caller;
use crate::simulated::Socket;
use crate::timeout::Timeout;
use fibre_core::internal::yield_point_cancellable;
use fibre_core::is_forked_child;
use rustix::io::Errno;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// A non-blocking descriptor with its slot. Dropping it deregisters the descriptor and drops its
/// holder; an owned descriptor is closed.
pub struct Source<F: AsFd = OwnedFd> {
    /// The descriptor's holder. `None` only after the holder has been taken out.
    fd: Option<F>,
    /// The slot of the descriptor's number.
    slot: &'static Slot,
    /// Whether there may be duplicates of the descriptor.
    duplicates: Duplicates,
}

impl Source {
    /// Takes a descriptor and makes it non-blocking. It is registered with epoll when a caller
    /// first has to wait for it.
    ///
    /// # Errors
    ///
    /// Those of `fcntl`; and if the number is beyond four million.
    pub fn new(fd: OwnedFd) -> io::Result<Self> {
        make_nonblocking(fd.as_fd())?;
        Self::from_nonblocking(fd)
    }

    /// [`new`](Self::new) for a descriptor that is known to be non-blocking.
    ///
    /// # Errors
    ///
    /// If the number is beyond four million.
    pub fn from_nonblocking(fd: OwnedFd) -> io::Result<Self> {
        Self::with_duplicates(fd, Duplicates::possible)
    }

    /// [`from_nonblocking`](Self::from_nonblocking) for a descriptor that this runtime has just
    /// made, so that there is no duplicate. An object that lends it to others says so
    /// ([`lend`](Self::lend)).
    ///
    /// # Errors
    ///
    /// If the number is beyond four million.
    pub(crate) fn made(fd: OwnedFd) -> io::Result<Self> {
        Self::with_duplicates(fd, Duplicates::none)
    }

    /// A source of a non-blocking descriptor with such duplicates.
    fn with_duplicates(fd: OwnedFd, duplicates: fn() -> Duplicates) -> io::Result<Self> {
        let slot = slot_of(fd.as_fd())?;
        slot.acquire();
        let (fd, duplicates) = (Some(fd), duplicates());
        Ok(Self {
            fd,
            slot,
            duplicates,
        })
    }

    /// A source of a duplicate: another number for the same thing, with a slot of its own.
    ///
    /// # Errors
    ///
    /// When there is no descriptor left.
    pub fn try_clone(&self) -> io::Result<Self> {
        self.duplicates.note();
        // The kernel's copy first: a simulated one that is not used would stay open.
        let clone = Self::from_nonblocking(self.as_fd().try_clone_to_owned()?)?;
        if let Some(socket) = self.simulated() {
            clone.simulate(socket.duplicate()?);
        }
        Ok(clone)
    }

    /// Makes the descriptor the stand-in of a simulated socket.
    pub(crate) fn simulate(&self, socket: Arc<dyn Socket>) {
        self.slot.simulate(socket);
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
    /// Makes a source of any holder of a non-blocking descriptor. The holder must always give the
    /// same descriptor.
    ///
    /// # Errors
    ///
    /// `AlreadyExists` if there is a source of this descriptor; if the number is beyond four
    /// million.
    pub fn sole(has_fd: F) -> io::Result<Self> {
        let slot = slot_of(has_fd.as_fd())?;
        if slot.known.get().has(Known::RAW) {
            // A raw call has used this descriptor, or an earlier one of the same number.
            slot.make(Known::NOTHING);
        } else if !slot.try_acquire() {
            return Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                "another object of this runtime has the descriptor",
            ));
        }
        let (fd, duplicates) = (Some(has_fd), Duplicates::possible());
        Ok(Self {
            fd,
            slot,
            duplicates,
        })
    }

    /// The simulated socket that the descriptor stands in for; `None`: it is the kernel's own.
    #[inline]
    pub(crate) fn simulated(&self) -> Option<Arc<dyn Socket>> {
        if self.is_registered() {
            return self.slot.simulated();
        }
        None
    }

    /// What comes of a call that the kernel has refused with `errno`: if the descriptor is a
    /// stand-in, that which the simulated socket says. It tells of all that comes, so there may be
    /// more.
    ///
    /// # Errors
    ///
    /// `errno`, or those of `call`.
    #[cold]
    pub(crate) fn refused<T>(
        &self,
        errno: Errno,
        call: impl FnOnce(&dyn Socket) -> Result<T, Errno>,
    ) -> Result<(T, Left), Errno> {
        match self.simulated() {
            Some(socket) => call(&*socket).map(|done| (done, Left::More)),
            None => Err(errno),
        }
    }

    /// The source, for code that may duplicate its descriptor.
    #[inline]
    pub(crate) fn lend(&self) -> &Self {
        self.duplicates.note();
        self
    }

    /// Whether others may have the descriptor. Then its being non-blocking, which belongs to the
    /// open file, may be theirs to change.
    pub(crate) fn is_shared(&self) -> bool {
        self.duplicates.are_possible()
    }

    /// Makes the descriptor non-blocking again if others have it and have changed that. For each
    /// try of a call that has no flag of its own to say that it must not wait; for descriptors that
    /// others may have it costs a system call.
    #[inline]
    pub(crate) fn keep_nonblocking(&self) {
        if self.is_shared() {
            // A sandbox that refuses to tell leaves it at that.
            let _ = make_nonblocking(self.as_fd());
        }
    }

    /// The descriptor's holder.
    pub fn get_ref(&self) -> &F {
        match &self.fd {
            Some(fd) => fd,
            None => unreachable!("a source without its descriptor is being consumed"),
        }
    }

    /// Gives the holder back. The descriptor is deregistered, and stays non-blocking.
    #[must_use]
    pub fn release(mut self) -> F {
        self.duplicates.note();
        self.let_go();
        match self.fd.take() {
            Some(fd) => fd,
            None => unreachable!("nobody else has taken it out"),
        }
    }

    /// The gate of a direction.
    pub(crate) fn gate(&self, direction: Direction) -> &'static Gate {
        gate_of(self.slot, direction)
    }

    /// Calls `operation` until it neither would block nor was interrupted, and waits for
    /// `direction` between two tries: the funnel. Blocks the fibre, or the thread
    /// if the caller is not a fibre, for as long as `timeout` allows.
    ///
    /// `operation` also says whether it left something ([`Left`]). If not, the next call waits for
    /// an event without trying first.
    ///
    /// Before a fibre reads what is there already, it lets the others of its processor run (thesis
    /// section 3.4.2, "yield before read"). The descriptor is registered when a call first has to
    /// wait ("lazy registration", the same section). A cluster can be built otherwise: see
    /// [`IoChoices`](crate::IoChoices).
    ///
    /// # Errors
    ///
    /// Those of `operation`; `TimedOut`; `ConnectionAborted` after [`close`](Self::close);
    /// `ECANCELED` if the fibre is [cancelled](fibre_core::CancelToken) before the call or while it
    /// waits.
    pub fn io<T>(
        &self,
        direction: Direction,
        timeout: Timeout<'_>,
        operation: impl FnMut(BorrowedFd<'_>) -> Result<(T, Left), Errno>,
    ) -> io::Result<T> {
        self.io_from(Progress::new(direction, false), timeout, operation)
    }

    /// [`io`](Self::io) for a call that may have made some progress already.
    ///
    /// # Errors
    ///
    /// As for [`io`](Self::io).
    #[inline]
    pub(crate) fn io_from<T>(
        &self,
        mut progress: Progress,
        timeout: Timeout<'_>,
        mut operation: impl FnMut(BorrowedFd<'_>) -> Result<(T, Left), Errno>,
    ) -> io::Result<T> {
        let mut turn = Turn::new(timeout);
        let operation = || operation(self.as_fd());
        (&mut &*self).run::<TOLD, _>(&mut turn, &mut progress, operation)
    }

    /// [`io`](Self::io) for operations that no event may report. It tries again after pauses of up
    /// to 5 ms, and leaves the gate's readiness to other calls. Blocks the fibre (or thread) for as
    /// long as `timeout` allows.
    ///
    /// # Errors
    ///
    /// As for [`io`](Self::io).
    pub fn io_untold<T>(
        &self,
        direction: Direction,
        timeout: Timeout<'_>,
        mut operation: impl FnMut(BorrowedFd<'_>) -> Result<T, Errno>,
    ) -> io::Result<T> {
        let mut turn = Turn::new(timeout);
        let mut progress = Progress::new(direction, false);
        let operation = || Ok((operation(self.as_fd())?, Left::More));
        (&mut &*self).run::<UNTOLD, _>(&mut turn, &mut progress, operation)
    }

    /// Wakes the next waiter of `direction`. For a call that may have been woken by an event and
    /// has neither used nor recorded it.
    pub fn pass_on(&self, direction: Direction) {
        self.gate(direction).pass_on();
    }

    /// [`register`](Self::register) before any call has to wait. A descriptor that cannot be polled
    /// is no error here, as it may never make a call wait.
    #[cold]
    fn register_early(&self) -> io::Result<()> {
        match self.register() {
            Err(error) if error.raw_os_error() == Some(Errno::PERM.raw_os_error()) => Ok(()),
            done => done,
        }
    }

    /// Whether events are sure to come.
    pub(crate) fn is_registered(&self) -> bool {
        self.slot.is_registered()
    }

    /// Registers the descriptor with the caller's processor, unless it is already registered.
    pub(crate) fn register(&self) -> io::Result<()> {
        register(self.as_fd(), self.slot)
    }

    /// Takes the descriptor out of epoll, unless its close does that, and frees the slot for a
    /// later owner.
    fn let_go(&self) {
        if is_forked_child() {
            // No fibre waits in the child, and what the parent was doing with the slot is never
            // finished here.
            return;
        }
        self.slot.release(|epoll| {
            if self.duplicates.are_possible() {
                epoll.remove(self.as_fd());
            }
        });
    }

    /// Makes all waiters of a direction look at their [`TimeLimit`](crate::TimeLimit) again, after
    /// the caller has changed its deadline.
    pub fn nudge(&self, direction: Direction) {
        self.gate(direction).nudge();
    }

    /// Makes all waiters of a direction try their calls again. For a caller that knows of a change
    /// which the kernel does not report.
    pub fn try_again(&self, direction: Direction) {
        self.gate(direction).wake_all();
    }

    /// Makes all waiting and all later calls fail with `ConnectionAborted`. Dropping the source
    /// closes the descriptor itself.
    pub fn close(&self) {
        self.slot.read.close();
        self.slot.write.close();
    }
}

/// An object has its descriptor for itself: the number is nobody else's, and every call waits.
impl<F: AsFd> Policy for &Source<F> {
    type Error = io::Error;

    #[inline]
    fn gate(&self, direction: Direction) -> &'static Gate {
        Source::gate(self, direction)
    }

    #[inline]
    fn number(&self) -> u32 {
        number_of(self)
    }

    #[inline]
    fn is_told(&mut self) -> io::Result<bool> {
        let is_registered = self.slot.is_registered();
        if !is_registered && !registers_lazily() {
            self.register_early()?;
        }
        Ok(is_registered)
    }

    fn register(&mut self) -> io::Result<()> {
        Source::register(self)
    }

    /// A descriptor that cannot be registered is tried, as it may never make a call wait.
    fn registers_first(&mut self) -> bool {
        let was_registered = self.slot.is_registered();
        !was_registered && Source::register(self).is_ok() && self.slot.is_registered()
    }

    fn closed(&self) -> io::Error {
        refuse()
    }

    fn late(&self) -> io::Error {
        io::ErrorKind::TimedOut.into()
    }
}

impl<F: AsFd> AsFd for Source<F> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.get_ref().as_fd()
    }
}

impl<F: AsFd> fmt::Debug for Source<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.fd.as_ref().map(|fd| fd.as_fd().as_raw_fd());
        f.debug_struct("Source")
            .field("fd", &number)
            .finish_non_exhaustive()
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

/// The gate of a direction.
#[inline]
pub(crate) fn gate_of(slot: &Slot, direction: Direction) -> &Gate {
    match direction {
        Direction::Read => &slot.read,
        Direction::Write => &slot.write,
    }
}

/// A descriptor's number.
pub(crate) fn number_of(fd: impl AsFd) -> u32 {
    fd.as_fd().as_raw_fd().unsigned_abs()
}

/// Makes a descriptor non-blocking.
pub(crate) fn make_nonblocking(fd: BorrowedFd<'_>) -> Result<(), Errno> {
    let flags = rustix::fs::fcntl_getfl(fd)?;
    if flags.contains(rustix::fs::OFlags::NONBLOCK) {
        return Ok(());
    }
    rustix::fs::fcntl_setfl(fd, flags | rustix::fs::OFlags::NONBLOCK)
}

/// The slot of a descriptor.
fn slot_of(fd: BorrowedFd<'_>) -> io::Result<&'static Slot> {
    Slot::of(fd.as_raw_fd())
        .ok_or_else(|| io::Error::other("a descriptor number beyond four million"))
}

/// Registers the descriptor of this slot with the caller's processor, unless it is registered or
/// has lost its owner. For a descriptor that was found, and not made by this runtime, the kernel is
/// asked each time.
///
/// # Errors
///
/// Those of `epoll_ctl`, and if there is no processor to register it with.
pub(crate) fn register(fd: BorrowedFd<'_>, slot: &Slot) -> io::Result<()> {
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

/// Wakes the next waiter if user code unwinds in a call that may have been woken by an event.
/// `mem::forget` it when the code has returned.
pub(crate) struct PassOn<'a, F: AsFd>(pub &'a Source<F>, pub Direction);

impl<F: AsFd> Drop for PassOn<'_, F> {
    fn drop(&mut self) {
        self.0.pass_on(self.1);
    }
}

/// The error [`closed`], after a yield point: a caller that retries in a loop does not starve
/// others.
#[cold]
fn refuse() -> io::Error {
    match yield_point_cancellable() {
        Ok(()) => closed(),
        Err(cancelled) => cancelled.into(),
    }
}

/// The error of a call on a closed source.
pub(crate) fn closed() -> io::Error {
    io::Error::new(
        io::ErrorKind::ConnectionAborted,
        "the socket was closed by its owner",
    )
}
