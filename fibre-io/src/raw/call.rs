//! The funnel for raw numbers: a call that does not wait, made to wait.
//!
//! It follows [`Source::io`](crate::Source::io) step by step, except for what only a number has:
//!
//! * The descriptor decides whether a call waits (`O_NONBLOCK`), and how long, if it has time-outs.
//!   The kernel is asked for both when the call would have to wait, as other code may change them
//!   at any time.
//! * The descriptor may be closed while the call waits. Then the call must not try again.

use super::failure::Failure;
use super::number::Number;
use super::one;
use crate::descriptor::flags::Known;
use crate::fs::PATIENT;
use crate::gate::single::{Gate, Turn};
use crate::readiness::Readiness;
use crate::retry::Retry;
use crate::source::{Direction, Left, make_way};
use crate::timeout::Timeout;
use fibre_core::Cancelled;
use fibre_core::internal::{prefetch_next, yield_point_cancellable};
use rustix::fs::{OFlags, fcntl_getfl};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::net::sockopt::{Timeout as SocketTimeout, socket_timeout};
use std::os::fd::{AsFd, BorrowedFd, RawFd};
use std::time::Instant;

/// The lowest number for this runtime's duplicates: programs close lower ones to get them for what
/// they open next.
const FIRST_OF_OURS: RawFd = 3;

/// Whether a call is to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// If its descriptor is blocking, and for as long as the descriptor's time-outs say.
    AsDescriptor,
    /// No: it fails with `EAGAIN` instead.
    Never,
}

/// One call of the program, which may take several system calls, and waits between them.
#[derive(Debug)]
pub struct Call<'fd> {
    /// The number that the call is made on.
    number: Number<'fd>,
    /// The direction that the call waits for.
    direction: Direction,
    /// Whether the call waits, if that is known already.
    waits: Option<bool>,
    /// How long the call waits.
    turn: Turn<'static>,
    /// Whether the call has let others run since it began.
    rested: bool,
    /// Whether the call has waited.
    has_waited: bool,
    /// Whether the call has made sure that events come.
    confirmed: bool,
}

impl<'fd> Call<'fd> {
    /// A call that has done nothing yet.
    ///
    /// # Errors
    ///
    /// `EBADF` if there is no such descriptor.
    #[inline]
    pub fn new(fd: BorrowedFd<'fd>, direction: Direction, wish: Wish) -> Result<Self, Errno> {
        Ok(Self {
            number: Number::of(fd)?,
            direction,
            waits: (wish == Wish::Never).then_some(false),
            turn: Turn::new(Timeout::Endless),
            rested: false,
            has_waited: false,
            confirmed: false,
        })
    }

    /// The call with a limit: it waits until `deadline` at most, whatever its descriptor says.
    #[must_use]
    pub fn until(mut self, deadline: Instant) -> Self {
        self.waits = Some(true);
        self.turn = Turn::new(Timeout::Until(deadline));
        self
    }

    /// The flags of the call's descriptor.
    #[inline]
    #[must_use]
    pub fn known(&self) -> Known {
        self.number.known()
    }

    /// Whether the call waits where it would block. If not, it fails with `EAGAIN` there.
    ///
    /// # Errors
    ///
    /// Those of `fcntl` and `getsockopt`.
    pub fn waits(&mut self) -> Result<bool, Errno> {
        if let Some(waits) = self.waits {
            return Ok(waits);
        }
        let known = self.number.known();
        let waits =
            known.has(Known::HIDDEN) || !fcntl_getfl(self.number)?.contains(OFlags::NONBLOCK);
        self.waits = Some(waits);
        // Time-outs belong to the socket: another of its numbers may have set them.
        let may_be_timed = known.and(Known::TIMED | Known::SHARED) != Known::NOTHING;
        if waits && may_be_timed && known.has(Known::SOCKET) {
            let which = match self.direction {
                Direction::Read => SocketTimeout::Recv,
                Direction::Write => SocketTimeout::Send,
            };
            if let Some(timeout) = socket_timeout(self.number, which)? {
                self.turn = Turn::new(Timeout::within(timeout));
            }
        }
        Ok(waits)
    }

    /// Calls the non-blocking `operation` until it neither would block nor was interrupted. Between
    /// two tries it waits, if it is a call that waits. Blocks the fibre, or the thread if the
    /// caller is no fibre.
    ///
    /// `operation` also says whether it left something ([`Left`]), as for
    /// [`Source::io`](crate::Source::io).
    ///
    /// ```
    /// use fibre::io::raw::{Call, Direction, Left, Wish};
    /// use rustix::net::{RecvFlags, SendFlags, recv, send};
    /// use std::os::fd::AsFd;
    ///
    /// let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
    /// let reader = fibre::spawn(move || {
    ///     let mut byte = [0];
    ///     let mut call = Call::new(ours.as_fd(), Direction::Read, Wish::AsDescriptor)?;
    ///     call.run(|| Ok((recv(&ours, &mut byte, RecvFlags::DONTWAIT)?.0, Left::More)))
    /// });
    /// send(&theirs, b"x", SendFlags::empty())?;
    /// assert_eq!(reader.join().unwrap(), Ok(1));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of `operation`; `EAGAIN` if the call does not wait, or its time is over; `EBADF` if
    /// the descriptor has been closed meanwhile; `EPERM` if the call would have to wait for a
    /// descriptor that cannot be waited for; `Cancelled` if the fibre has been cancelled.
    pub fn run<T>(
        &mut self,
        mut operation: impl FnMut() -> Result<(T, Left), Errno>,
    ) -> Result<T, Failure> {
        let gate = self.number.gate(self.direction);
        if self.direction == Direction::Write && !self.rested {
            self.rest(yield_point_cancellable)?;
        }
        loop {
            let seen = gate.snapshot();
            if seen.is_closed() {
                return Err(Errno::BADF.into());
            }
            let is_drained = self.number.is_registered() && !seen.is_ready();
            if is_drained && !self.turn.is_over() && self.waits()? {
                self.wait(gate)?;
                continue;
            }
            if !self.rested {
                self.rest(make_way)?;
                continue;
            }
            let inside = self.has_waited.then(|| self.number.enter()).transpose()?;
            if self.direction == Direction::Read {
                // Not before a write: a fibre that writes has prefetched when it read.
                prefetch_next();
            }
            let done = operation();
            drop(inside);
            match done {
                Ok((value, Left::More)) => {
                    gate.took_all(&self.turn);
                    return Ok(value);
                }
                Ok((value, Left::Nothing)) => {
                    gate.took_rest(seen);
                    return Ok(value);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    gate.drained(seen, true);
                    if self.turn.is_over() || !self.waits()? {
                        return Err(Errno::AGAIN.into());
                    }
                    self.confirm()?;
                    if !self.number.is_registered() {
                        // The descriptor was found, and its registration has just been confirmed.
                        self.wait(gate)?;
                    }
                }
                Err(errno) => {
                    gate.pass_on();
                    return Err(errno.into());
                }
            }
        }
    }

    /// Lets others run, and goes on only with the descriptor that the call was made on.
    #[inline]
    fn rest(&mut self, way: impl FnOnce() -> Result<(), Cancelled>) -> Result<(), Failure> {
        self.rested = true;
        way()?;
        if self.number.is_current() {
            Ok(())
        } else {
            Err(Errno::BADF.into())
        }
    }

    /// Makes sure that events come. Registering a found descriptor once more brings an event for
    /// the present state, with which the operation may still have to wait; so that is done once.
    fn confirm(&mut self) -> Result<(), Failure> {
        if !self.confirmed || !self.number.has_instance() {
            self.number.register()?;
            self.confirmed = true;
        }
        Ok(())
    }

    /// [`run`](Self::run) for operations that no event may report. It tries again after pauses of
    /// up to 5 ms, and leaves the gate as it is. Blocks the fibre, or the thread if the caller is
    /// no fibre.
    ///
    /// # Errors
    ///
    /// As `run`'s.
    pub fn run_untold<T>(
        &mut self,
        mut operation: impl FnMut() -> Result<T, Errno>,
    ) -> Result<T, Failure> {
        yield_point_cancellable()?;
        let mut retry = None;
        loop {
            let inside = self.number.enter()?;
            let done = operation();
            drop(inside);
            match done {
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) if self.waits()? => {
                    let end = self.turn.end().map_or(Timeout::Endless, Timeout::Until);
                    if !retry.get_or_insert_with(|| Retry::new(end)).wait_once()? {
                        return Err(Errno::AGAIN.into());
                    }
                }
                done => return Ok(done?),
            }
        }
    }

    /// Waits until a condition of `interest` holds for the descriptor, for a call that is then made
    /// [elsewhere](Self::elsewhere). Blocks the fibre, or the thread if the caller is no fibre.
    ///
    /// # Errors
    ///
    /// As `run`'s.
    pub fn until_ready(&mut self, interest: Readiness) -> Result<(), Failure> {
        let found = one::wait(self.number.as_fd(), interest, self.turn.end())?;
        if found.is_empty() {
            return Err(Errno::AGAIN.into());
        }
        Ok(())
    }

    /// Makes a system call that may block its thread without limit, on a thread of its own. The
    /// call gets a duplicate of the descriptor. So it keeps its descriptor when the number is
    /// closed and reused, as a system call does that has begun. If there are no descriptors left,
    /// it gets the number itself. Blocks the fibre, whose cancellation does not end it; outside a
    /// fibre, just makes the call.
    ///
    /// # Errors
    ///
    /// The call's; `EBADF` if the descriptor has been closed since this [`Call`] began.
    pub fn elsewhere<T: Send>(
        &self,
        call: impl FnOnce(BorrowedFd<'_>) -> Result<T, Errno> + Send,
    ) -> Result<T, Errno> {
        let inside = self.number.enter()?;
        let own = fcntl_dupfd_cloexec(self.number, FIRST_OF_OURS);
        drop(inside);
        let number = self.number;
        PATIENT.run(move || match &own {
            Ok(own) => call(own.as_fd()),
            Err(_) if number.is_current() => call(number.as_fd()),
            Err(_) => Err(Errno::BADF),
        })
    }

    /// Waits until the direction may be ready, or the time is over.
    fn wait(&mut self, gate: &Gate) -> Result<(), Failure> {
        let number = self.number;
        self.rested = true;
        self.has_waited = true;
        gate.wait_while(
            crate::source::number_of(number.as_fd()),
            &mut self.turn,
            || number.is_current(),
        )?;
        if !number.is_current() {
            // The event belonged to the new owner.
            gate.pass_on();
            return Err(Errno::BADF.into());
        }
        Ok(())
    }
}
