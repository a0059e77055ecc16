//! Waiting for one descriptor that any code may read and write.
//!
//! A wait reports the present state (level semantics), and asks the kernel by `poll(2)` only if it
//! has to:
//!
//! * The direction's state is unknown, or no call of this runtime has used up an event: it asks. If
//!   there is nothing, asking has used the event up.
//! * The direction is known to be drained, from a call of this runtime that took less than it could
//!   have, or from asking: it waits at the gate, without a system call.
//! * The event that ends such a wait came after that, so the direction is ready. No question is
//!   needed, unless the event also reports an error or an end.
//!
//! So a program that waits, reads with calls of this runtime, answers, and waits again, makes no
//! system call for its waits. A program that reads with calls of its own makes one for each wait.

use super::call::Call;
use super::failure::Failure;
use super::number::Number;
use super::several::poll;
use crate::funnel::{Direction, Left};
use crate::gate::word::Snapshot;
use crate::poll::PollFd;
use crate::readiness::Readiness;
use fibre_core::internal::yield_point_cancellable;
use rustix::io::{Errno, retry_on_intr};
use rustix::time::Timespec;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

/// Waits until a condition of `interest` holds for a descriptor, or there is an error; returns the
/// conditions that hold. Returns none if the deadline came first; a past deadline looks once.
/// Blocks the fibre, or the thread if the caller is no fibre.
///
/// ```
/// use fibre::io::Readiness;
/// use fibre::io::raw::wait;
/// use std::io::Write;
/// use std::os::fd::AsFd;
///
/// let (reader, mut writer) = std::io::pipe()?;
/// let fibre = fibre::spawn(move || wait(reader.as_fd(), Readiness::READ, None));
/// writer.write_all(b"now")?;
/// assert_eq!(fibre.join().unwrap(), Ok(Readiness::READ));
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// `EBADF` if there is no such descriptor, or it has been closed ([`close`](super::close))
/// meanwhile; that the fibre has been cancelled; when descriptors or memory run out.
pub fn wait(
    fd: BorrowedFd<'_>,
    interest: Readiness,
    deadline: Option<Instant>,
) -> Result<Readiness, Failure> {
    yield_point_cancellable()?;
    let Some(direction) = only_direction(interest) else {
        return wait_for_both(fd, interest, deadline);
    };
    let number = Number::of(fd)?;
    let before = number.gate(direction).snapshot();
    let mut call = Call::waiting(number, direction, deadline);
    let found = call.run(
        || match look_unless_told(number, direction, interest, before)? {
            Readiness::NONE => Err(Errno::AGAIN),
            found => Ok((found, Left::More)),
        },
    );
    match found {
        Err(Failure::Errno(Errno::AGAIN)) if call.is_over() => Ok(Readiness::NONE),
        found => found,
    }
}

/// The conditions that hold. The kernel is not asked if an event has come since `before` that says
/// enough. (The event of a number that was found may be of an earlier descriptor.)
fn look_unless_told(
    number: Number<'_>,
    direction: Direction,
    interest: Readiness,
    before: Snapshot,
) -> Result<Readiness, Errno> {
    let now = number.gate(direction).snapshot();
    let is_told = now.is_plainly_ready() && now.is_later_than(before);
    if is_told && number.is_registered() && number.is_current() {
        return Ok(match direction {
            Direction::Read => Readiness::READ,
            Direction::Write => Readiness::WRITE,
        });
    }
    look(number.as_fd(), interest)
}

impl Call<'_> {
    /// Waits until a condition of `interest` holds for the descriptor, for a call that is then made
    /// [elsewhere](Self::elsewhere). Blocks the fibre, or the thread if the caller is no fibre.
    ///
    /// # Errors
    ///
    /// As for [`run`](Self::run).
    pub fn until_ready(&mut self, interest: Readiness) -> Result<(), Failure> {
        let end = self.end();
        if wait(self.number().as_fd(), interest, end)?.is_empty() {
            return Err(Errno::AGAIN.into());
        }
        Ok(())
    }
}

/// The direction that all conditions of `interest` are about, if it is one.
fn only_direction(interest: Readiness) -> Option<Direction> {
    if interest == Readiness::WRITE {
        return Some(Direction::Write);
    }
    let reads = interest.contains(Readiness::READ) && !interest.concerns_writers();
    reads.then_some(Direction::Read)
}

/// Waits at both gates.
#[cold]
fn wait_for_both(
    fd: BorrowedFd<'_>,
    interest: Readiness,
    deadline: Option<Instant>,
) -> Result<Readiness, Failure> {
    let mut asked = [PollFd::new(&fd, interest)];
    poll(&mut asked, deadline)?;
    match asked[0].readiness() {
        answer if answer.contains(Readiness::INVALID) => Err(Errno::BADF.into()),
        answer => Ok(answer),
    }
}

/// The conditions of `interest` that hold for a descriptor now, as the kernel says. Blocks nothing.
///
/// ```
/// use fibre::io::Readiness;
/// use fibre::io::raw::look;
/// use std::os::fd::AsFd;
///
/// let (reader, writer) = std::io::pipe()?;
/// assert_eq!(look(reader.as_fd(), Readiness::READ), Ok(Readiness::NONE));
/// assert_eq!(look(writer.as_fd(), Readiness::WRITE), Ok(Readiness::WRITE));
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// `EBADF` if there is no such descriptor.
pub fn look(fd: BorrowedFd<'_>, interest: Readiness) -> Result<Readiness, Errno> {
    let mut asked = [rustix::event::PollFd::from_borrowed_fd(
        fd.as_fd(),
        interest.flags(),
    )];
    let at_once = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    retry_on_intr(|| rustix::event::poll(&mut asked, Some(&at_once)))?;
    let found = Readiness::of(asked[0].revents()) & interest.and_unasked();
    if found.contains(Readiness::INVALID) {
        return Err(Errno::BADF);
    }
    Ok(found)
}
