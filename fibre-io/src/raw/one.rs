//! Waiting for one descriptor that any code may read and write.
//!
//! A wait reports the present state (level semantics), and asks the kernel by `poll(2)` only if it
//! has to:
//!
//! * Nothing is known of the direction, or there was an event that no call of this runtime has used
//!   up: it asks. If there is nothing, asking has used the event up.
//! * The direction is known to be drained, by a call of this runtime that took less than it could
//!   have, or by asking: it waits at the gate, without a system call.
//! * The event that ends such a wait came after that, so the direction is ready. No question is
//!   needed, unless the event also reports an error or an end.
//!
//! So a program that waits, reads what there is by calls of this runtime, answers, and waits again,
//! makes no system call for its waits. A program that reads by calls of its own makes one for each
//! wait.

use super::failure::Failure;
use super::number::Number;
use super::several::poll;
use crate::gate::single::{Gate, Turn};
use crate::poll::PollFd;
use crate::readiness::Readiness;
use crate::source::{Direction, number_of};
use crate::timeout::Timeout;
use fibre_core::internal::yield_point_cancellable;
use rustix::event::PollFlags;
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
    let gate = number.gate(direction);
    let mut turn = Turn::new(deadline.map_or(Timeout::Endless, Timeout::Until));
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
                // Registering once more brings an event for the present state, so this is done
                // once.
                confirmed = true;
                match number.register() {
                    // The descriptor cannot be waited for: its state will never change.
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

/// Whether an event has come that makes asking unnecessary. The event of a number that was found
/// may be of an earlier descriptor.
fn has_come(number: &Number<'_>, gate: &Gate) -> bool {
    number.is_registered() && gate.snapshot().is_plainly_ready() && number.is_current()
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
