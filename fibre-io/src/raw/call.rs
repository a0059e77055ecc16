//! The funnel for raw numbers: makes a non-blocking call wait.
//!
//! Its [`Policy`] is that for objects, except for peculiarities of numbers:
//!
//! * The descriptor decides whether a call waits (`O_NONBLOCK`), and how long, if it has time-outs.
//!   The call asks the kernel for both when it would have to wait, as other code may change them at
//!   any time.
//! * A descriptor that was found may be closed unseen, so a call confirms its registration when it
//!   would block. Registering it once more brings an event for the present state, and the operation
//!   may still have to wait then; so each call does this once.
//! * The descriptor may be closed while the call waits. Then the call must not try again: it enters
//!   the number for all tries but the first.

use super::failure::Failure;
use super::number::Number;
use crate::descriptor::flags::Known;
use crate::descriptor::use_count::InUse;
use crate::fs::PATIENT;
use crate::funnel::{Direction, Left, Policy, Progress, TOLD, UNTOLD};
use crate::gate::single::{Gate, Turn};
use crate::source::number_of;
use crate::timeout::Timeout;
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
    /// What the call is made on, and whether it waits.
    policy: OfNumber<'fd>,
    /// How long the call waits.
    turn: Turn<'static>,
    /// How far the call has come.
    progress: Progress,
}

/// The policy of a call on a raw number.
#[derive(Debug)]
struct OfNumber<'fd> {
    /// The number that the call is made on.
    number: Number<'fd>,
    /// Whether the call waits, if that is known already.
    waits: Option<bool>,
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
        let waits = (wish == Wish::Never).then_some(false);
        let (number, turn) = (Number::of(fd)?, Turn::new(Timeout::Endless));
        Ok(Self::with(
            number,
            waits,
            turn,
            Progress::new(direction, false),
        ))
    }

    /// The call with nothing before its first try, whatever its gate says. So it leaves the stack
    /// only if it would block.
    #[must_use]
    pub fn trying_first(self) -> Self {
        let progress = self.progress.trying_first();
        Self { progress, ..self }
    }

    /// A call that waits until `deadline` at most, whatever its descriptor says, and has let other
    /// fibres run already.
    pub(super) fn waiting(number: Number<'fd>, at: Direction, deadline: Option<Instant>) -> Self {
        let turn = Turn::new(deadline.map_or(Timeout::Endless, Timeout::Until));
        Self::with(number, Some(true), turn, Progress::new(at, true))
    }

    /// A call of these parts.
    #[inline]
    fn with(
        number: Number<'fd>,
        waits: Option<bool>,
        turn: Turn<'static>,
        progress: Progress,
    ) -> Self {
        let confirmed = false;
        let policy = OfNumber {
            number,
            waits,
            confirmed,
        };
        Self {
            policy,
            turn,
            progress,
        }
    }

    /// The call with a limit: it waits until `deadline` at most, whatever its descriptor says.
    #[must_use]
    pub fn until(mut self, deadline: Instant) -> Self {
        self.policy.waits = Some(true);
        self.turn = Turn::new(Timeout::Until(deadline));
        self
    }

    /// The flags of the call's descriptor.
    #[inline]
    #[must_use]
    pub fn known(&self) -> Known {
        self.policy.number.known()
    }

    /// The descriptor that the call is made on.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.policy.number.as_fd()
    }

    /// The number that the call is made on.
    pub(super) fn number(&self) -> Number<'fd> {
        self.policy.number
    }

    /// Until when the call waits; `None` for ever.
    pub(super) fn end(&mut self) -> Option<Instant> {
        self.turn.end()
    }

    /// Whether the call has waited as long as it may.
    pub(super) fn is_over(&self) -> bool {
        self.turn.is_over()
    }

    /// Whether the call waits where it would block. If not, it fails with `EAGAIN` there.
    ///
    /// # Errors
    ///
    /// Those of `fcntl` and `getsockopt`.
    pub fn waits(&mut self) -> Result<bool, Errno> {
        let direction = self.progress.direction();
        self.policy.find_out(direction, &mut self.turn)
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
        operation: impl FnMut() -> Result<(T, Left), Errno>,
    ) -> Result<T, Failure> {
        let (turn, progress) = (&mut self.turn, &mut self.progress);
        self.policy.run::<TOLD, _>(turn, progress, operation)
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
        let (turn, progress) = (&mut self.turn, &mut self.progress);
        let operation = || Ok((operation()?, Left::More));
        self.policy.run::<UNTOLD, _>(turn, progress, operation)
    }

    /// Makes a system call that may block its thread without limit, on a thread of its own. The
    /// call gets a duplicate of the descriptor. So it keeps its descriptor when the number is
    /// closed and reused, as a running system call does. If there are no descriptors left, it gets
    /// the number itself. Blocks the fibre; cancellation does not end it. Outside a fibre, just
    /// makes the call.
    ///
    /// # Errors
    ///
    /// The call's; `EBADF` if the descriptor has been closed since this [`Call`] began.
    pub fn elsewhere<T: Send>(
        &self,
        call: impl FnOnce(BorrowedFd<'_>) -> Result<T, Errno> + Send,
    ) -> Result<T, Errno> {
        let number = self.number();
        let inside = number.enter()?;
        let own = fcntl_dupfd_cloexec(number, FIRST_OF_OURS);
        drop(inside);
        PATIENT.run(move || match &own {
            Ok(own) => call(own.as_fd()),
            Err(_) if number.is_current() => call(number.as_fd()),
            Err(_) => Err(Errno::BADF),
        })
    }
}

impl OfNumber<'_> {
    /// See [`Call::waits`].
    fn find_out(&mut self, direction: Direction, turn: &mut Turn<'_>) -> Result<bool, Errno> {
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
            let which = match direction {
                Direction::Read => SocketTimeout::Recv,
                Direction::Write => SocketTimeout::Send,
            };
            if let Some(timeout) = socket_timeout(self.number, which)? {
                *turn = Turn::new(Timeout::within(timeout));
            }
        }
        Ok(waits)
    }
}

impl Policy for OfNumber<'_> {
    type Error = Failure;

    #[inline]
    fn gate(&self, direction: Direction) -> &'static Gate {
        self.number.gate(direction)
    }

    fn number(&self) -> u32 {
        number_of(self.number)
    }

    #[inline]
    fn is_told(&mut self) -> Result<bool, Failure> {
        Ok(self.number.is_registered() || self.confirmed && self.number.has_instance())
    }

    fn register(&mut self) -> Result<(), Failure> {
        if self.confirmed && self.number.has_instance() {
            return Ok(());
        }
        self.confirmed = true;
        self.number.register()
    }

    #[inline]
    fn waits(&mut self, direction: Direction, turn: &mut Turn<'_>) -> Result<bool, Failure> {
        Ok(self.find_out(direction, turn)?)
    }

    #[inline]
    fn is_current(&self) -> bool {
        self.number.is_current()
    }

    fn enter(&self) -> Result<Option<InUse<'static>>, Failure> {
        Ok(Some(self.number.enter()?))
    }

    fn closed(&self) -> Failure {
        Errno::BADF.into()
    }

    fn late(&self) -> Failure {
        Errno::AGAIN.into()
    }
}
