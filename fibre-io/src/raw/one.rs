//! Waiting for one descriptor that is read and written by whoever likes.
//!
//! It tells what is the case (level semantics), and asks the kernel by `poll(2)` only if it has to:
//!
//! * Nothing is known of the direction, or there was an event that no call of ours has used up: it asks. If there
//!   is nothing, the event is used up by that.
//! * It is known to be drained, by a call of ours that took less than it could have, or by asking: it waits at the
//!   gate, without a system call.
//! * The event that ends such a wait came after that, so the direction is ready, and nobody needs to ask, unless the
//!   event tells of errors or ends, too.
//!
//! So a program that waits, reads what there is by our calls, answers, and waits again, makes no system call for its waits;
//! one that reads by calls of its own makes one for each.

use super::failure::Failure;
use super::number::Number;
use super::several::poll;
use crate::gate::{Gate, Turn};
use crate::patience::Patience;
use crate::poll::PollFd;
use crate::readiness::Readiness;
use crate::source::{Direction, number_of};
use fibre_core::yield_point_cancellable;
use rustix::event::PollFlags;
use rustix::io::{Errno, retry_on_intr};
use rustix::time::Timespec;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

/// Waits until something of `interest` is the case with a descriptor, or there is an error; says what. Nothing, if the
/// deadline came first; a past one looks once. Blocks the fibre, or the thread if the caller is no fibre.
///
/// ```
/// use fibre_io::poll::Readiness;
/// use fibre_io::raw::wait;
/// use std::io::Write;
/// use std::os::fd::AsFd;
///
/// let (reader, mut writer) = std::io::pipe()?;
/// let fibre = fibre_core::spawn(move || wait(reader.as_fd(), Readiness::READ, None));
/// writer.write_all(b"now")?;
/// assert_eq!(fibre.join().unwrap(), Ok(Readiness::READ));
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// `EBADF` if there is no such descriptor, or it has been closed ([`close`](super::close)) meanwhile; that the fibre
/// has been cancelled; when descriptors or memory run out.
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
    let gate = number.gate(direction);
    let mut turn = Turn::new(deadline.map_or(Patience::Endless, Patience::Until));
    let mut confirmed = false;
    loop {
        let seen = gate.snapshot();
        if seen.is_closed() || !number.is_current() {
            return Err(Errno::BADF.into());
        }
        let is_sure = number.is_registered() || confirmed && number.has_instance();
        if seen.is_ready() || turn.is_over() || !is_sure {
            let found = look(fd, interest)?;
            if !found.is_empty() {
                gate.pass_on();
                return Ok(found);
            }
            if turn.is_over() {
                return Ok(Readiness::NONE);
            }
            gate.drained(seen, true);
            if !is_sure {
                // What is registered once more has an event for what is the case now: so this is done once.
                confirmed = true;
                match number.register() {
                    // Nothing will ever be the case that is not so now.
                    Err(Failure::Errno(Errno::PERM)) => {}
                    done => done?,
                }
            }
        }
        gate.wait_while(number_of(fd), &mut turn, || number.is_current())?;
        if !turn.is_over() && has_come(&number, gate) {
            gate.pass_on();
            return Ok(match direction {
                Direction::Read => Readiness::READ,
                Direction::Write => Readiness::WRITE,
            });
        }
    }
}

/// Whether an event has come of which nothing needs to be asked. One of a number that was found may be of an earlier
/// descriptor's.
fn has_come(number: &Number<'_>, gate: &Gate) -> bool {
    number.is_registered() && gate.snapshot().is_plainly_ready() && number.is_current()
}

/// The direction that all of what is asked is about.
fn only_direction(interest: Readiness) -> Option<Direction> {
    if interest == Readiness::WRITE {
        return Some(Direction::Write);
    }
    let reads = interest.contains(Readiness::READ) && !interest.concerns_writers();
    reads.then_some(Direction::Read)
}

/// Waits at several gates.
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

/// What of `interest` is the case with a descriptor now, as the kernel says. Blocks nothing.
///
/// ```
/// use fibre_io::poll::Readiness;
/// use fibre_io::raw::look;
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
    let flags = PollFlags::from_bits_retain(interest.bits());
    let mut asked = [rustix::event::PollFd::from_borrowed_fd(fd.as_fd(), flags)];
    let at_once = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    retry_on_intr(|| rustix::event::poll(&mut asked, Some(&at_once)))?;
    let found = Readiness::from_bits(asked[0].revents().bits()) & interest.and_unasked();
    if found.contains(Readiness::INVALID) {
        return Err(Errno::BADF);
    }
    Ok(found)
}
