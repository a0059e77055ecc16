//! The funnel for raw numbers: a call that does not wait, made to wait.
//!
//! As [`Source::io`](crate::Source::io), which it follows step by step, but for what a number has and an object has not:
//!
//! * Whether it waits is the descriptor's (`O_NONBLOCK`), which is asked when there would be a wait, as others may
//!   change it at any time; and so are its time-outs, if it has any.
//! * Its descriptor may be closed while it waits. Then it must not try again.

use super::failure::Failure;
use super::number::Number;
use super::one;
use crate::fs::PATIENT;
use crate::gate::{Gate, Turn};
use crate::known::Known;
use crate::patience::Patience;
use crate::readiness::Readiness;
use crate::retry::Retry;
use crate::source::{Direction, Left, make_way};
use fibre_core::{Cancelled, foresee, yield_point_cancellable};
use rustix::fs::{OFlags, fcntl_getfl};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::net::sockopt::{Timeout, socket_timeout};
use std::os::fd::{AsFd, BorrowedFd, RawFd};
use std::time::Instant;

/// The first number that a duplicate of ours may have: programs close lower ones to get them for what they open next.
const FIRST_OF_OURS: RawFd = 3;

/// Whether a call is to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// If its descriptor is blocking, and as long as its time-outs say.
    AsDescriptor,
    /// No: it fails with `EAGAIN` instead.
    Never,
}

/// One call of a program's, which may take several system calls, and waits in between.
#[derive(Debug)]
pub struct Call<'fd> {
    /// What it is made on.
    number: Number<'fd>,
    /// What it waits for.
    direction: Direction,
    /// Whether it waits, if that is known already.
    waits: Option<bool>,
    /// How long it waits.
    turn: Turn<'static>,
    /// Whether others have run since it began.
    rested: bool,
    /// Whether it has waited.
    has_waited: bool,
    /// Whether it has seen to it that events come.
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
            turn: Turn::new(Patience::Endless),
            rested: false,
            has_waited: false,
            confirmed: false,
        })
    }

    /// The same, which waits until `deadline` at most, whatever its descriptor says.
    #[must_use]
    pub fn until(mut self, deadline: Instant) -> Self {
        self.waits = Some(true);
        self.turn = Turn::new(Patience::Until(deadline));
        self
    }

    /// What is known of its descriptor.
    #[inline]
    #[must_use]
    pub fn known(&self) -> Known {
        self.number.known()
    }

    /// Whether it waits where it has to: if not, it fails with `EAGAIN` there.
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
        // Time-outs are the socket's: they may have been set by another of its numbers.
        let may_be_timed = known.and(Known::TIMED | Known::SHARED) != Known::NOTHING;
        if waits && may_be_timed && known.has(Known::SOCKET) {
            let which = match self.direction {
                Direction::Read => Timeout::Recv,
                Direction::Write => Timeout::Send,
            };
            if let Some(timeout) = socket_timeout(self.number, which)? {
                self.turn = Turn::new(Patience::within(timeout));
            }
        }
        Ok(waits)
    }

    /// Calls `operation`, which does not wait, until it neither would have to nor was interrupted, and waits in
    /// between, if it is a call that waits. Blocks the fibre, or the thread if the caller is no fibre.
    ///
    /// `operation` also says whether it left something ([`Left`]), as for [`Source::io`](crate::Source::io).
    ///
    /// ```
    /// use fibre_io::raw::{Call, Direction, Left, Wish};
    /// use rustix::net::{RecvFlags, SendFlags, recv, send};
    /// use std::os::fd::AsFd;
    ///
    /// let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
    /// let reader = fibre_core::spawn(move || {
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
    /// `operation`'s own; `EAGAIN` if it does not wait, or no longer; `EBADF` if the descriptor has been closed
    /// meanwhile; `EPERM` if it would have to wait for what cannot be waited for; that the fibre has been
    /// cancelled.
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
                // Who writes has done so when it read.
                foresee();
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
                        // It was found, and has been asked about just now.
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

    /// Sees to it that events come. What was found, and is registered once more, has one for what is the case now, which the
    /// operation need not be content with: so that is done once.
    fn confirm(&mut self) -> Result<(), Failure> {
        if !self.confirmed || !self.number.has_instance() {
            self.number.register()?;
            self.confirmed = true;
        }
        Ok(())
    }

    /// [`run`](Self::run) for what no event may tell of: it tries again after pauses of up to 5 ms, and what it finds says nothing
    /// about the gate. Blocks the fibre, or the thread if the caller is no fibre.
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
                    let end = self.turn.end().map_or(Patience::Endless, Patience::Until);
                    if !retry.get_or_insert_with(|| Retry::new(end)).wait_once()? {
                        return Err(Errno::AGAIN.into());
                    }
                }
                done => return Ok(done?),
            }
        }
    }

    /// Waits until something of `interest` is the case with the descriptor, for a call that is then made
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

    /// Makes a system call that may block its thread for as long as it likes, on a thread of its own. It is given a duplicate of the
    /// descriptor: so it stays with this one when the number is closed and another one gets it, as a system call does that has
    /// begun. If there are no more descriptors, it is given the number. Blocks the fibre, whose cancellation does not end it; on a
    /// thread that is no fibre, just makes the call.
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
            // The event was the new owner's.
            gate.pass_on();
            return Err(Errno::BADF.into());
        }
        Ok(())
    }
}
