//! Waiting for several descriptors at once, after `poll(2)`: what is told is what is the case now,
//! however often one asks.
//!
//! A descriptor that belongs to an object of this runtime has gates, and the call waits at them
//! (`gates`). All others of a call are put into an epoll instance of that call's own, which is a
//! descriptor with gates in turn. When the call ends, nothing of it is left anywhere.
//!
//! What is told is never an event, which only says when to look, but the answer of a `poll(2)` that
//! does not wait. A descriptor may come to an object, or be left by one, while somebody waits for it:
//! a slot that is left wakes who waits, and who waits looks each time whether owners are still the same,
//! and begins anew if not. On a descriptor that cannot be waited for, like a file, that says at once that
//! reads and writes do not block.

use crate::gate::Gate;
use crate::gates::await_any;
use crate::readiness::Readiness as Flags;
use crate::source::{Direction, Source, register};
use crate::table::Slot;
use fibre_core::{Limit, yield_point_cancellable};
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{PollFd as KernelPollFd, PollFlags};
use rustix::io::Errno;
use rustix::time::Timespec;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::{Duration, Instant};

pub use crate::readiness::Readiness;

/// A descriptor, what is asked about it, and the answer.
#[derive(Debug, Clone, Copy)]
pub struct PollFd<'a> {
    /// The descriptor.
    fd: BorrowedFd<'a>,
    /// What is asked.
    interest: Readiness,
    /// What was the case at the end of the last call.
    readiness: Readiness,
}

impl<'a> PollFd<'a> {
    /// Asks about a descriptor: one of this runtime's objects, or any other.
    pub fn new<F: AsFd + ?Sized>(fd: &'a F, interest: Readiness) -> Self {
        Self {
            fd: fd.as_fd(),
            interest,
            readiness: Readiness::NONE,
        }
    }

    /// What is asked.
    #[must_use]
    pub fn interest(&self) -> Readiness {
        self.interest
    }

    /// Asks for something else from now on.
    pub fn set_interest(&mut self, interest: Readiness) {
        self.interest = interest;
    }

    /// What was the case at the end of the last call: what was asked, and what is told unasked.
    #[must_use]
    pub fn readiness(&self) -> Readiness {
        self.readiness
    }

    /// The slot of its number, if an object of this runtime has it, and which one of all that had it.
    fn owner(&self) -> Owner {
        let slot = Slot::of(self.fd.as_raw_fd())?;
        Some((slot, slot.owner()?))
    }

    /// The slot of its number, if an object of this runtime has it.
    fn slot(&self) -> Option<&'static Slot> {
        self.owner().map(|(slot, _)| slot)
    }

    /// The gates of its slot that tell of what is asked.
    fn gates_of(&self, slot: Option<&'static Slot>) -> impl Iterator<Item = &'static Gate> + use<> {
        let read = slot.filter(|_| self.interest.concerns_readers());
        let write = slot.filter(|_| self.interest.concerns_writers());
        let read = read.map(|slot| &slot.read);
        read.into_iter().chain(write.map(|slot| &slot.write))
    }
}

impl AsFd for PollFd<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd
    }
}

/// Waits until something of what is asked is the case with one of the descriptors, or there is an
/// error; says with how many. Blocks the fibre, or the thread if the caller is not a fibre.
///
/// Several fibres may wait for one descriptor, in this and other ways. All of them are told; who
/// reads first has it.
///
/// ```
/// use fibre_io::pipe::pipe;
/// use fibre_io::poll::{PollFd, Readiness, poll};
/// use std::io::Write;
///
/// let ((one, _writer), (other, mut writer)) = (pipe()?, pipe()?);
/// let fibre = fibre_core::spawn(move || writer.write_all(b"now").map(|()| writer));
/// let mut fds = [&one, &other].map(|end| PollFd::new(end, Readiness::READ));
/// assert_eq!(poll(&mut fds)?, 1);
/// assert!(fds[0].readiness().is_empty() && fds[1].readiness() == Readiness::READ);
/// # drop(fibre.join());
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// A descriptor that is closed meanwhile: if it is one of this runtime's objects, by their `close`, it is
/// [`INVALID`](Readiness::INVALID) then; others stay open as long as they are borrowed here. One that a
/// [`Pollable`](crate::pollable::Pollable) shares or borrows may be taken out of it, or that be dropped,
/// meanwhile: the call goes on.
///
/// # Errors
///
/// `ECANCELED` if the fibre has been cancelled, or is while it waits. `EINVAL` for more
/// descriptors than the process may have. When descriptors or memory run out.
pub fn poll(fds: &mut [PollFd<'_>]) -> io::Result<usize> {
    poll_within(fds, Limit::Cancellation)
}

/// [`poll`] that does not wait: 0 if nothing is the case. Blocks nothing.
///
/// # Errors
///
/// As [`poll`]'s, but for the cancellation.
pub fn try_poll(fds: &mut [PollFd<'_>]) -> io::Result<usize> {
    look(fds)
}

/// [`poll`] that waits for `timeout` at most: then it returns 0. One of zero looks once.
///
/// # Errors
///
/// As [`poll`]'s.
pub fn poll_timeout(fds: &mut [PollFd<'_>], timeout: Duration) -> io::Result<usize> {
    poll_within(fds, Limit::after(timeout))
}

/// [`poll`] that waits until `deadline` at most: then it returns 0. A past one looks once.
///
/// # Errors
///
/// As [`poll`]'s.
pub fn poll_until(fds: &mut [PollFd<'_>], deadline: Instant) -> io::Result<usize> {
    poll_within(fds, Limit::Deadline(deadline))
}

/// The common part.
fn poll_within(fds: &mut [PollFd<'_>], limit: Limit) -> io::Result<usize> {
    yield_point_cancellable()?;
    loop {
        let ready = look(fds)?;
        if ready > 0 {
            return Ok(ready);
        }
        let owners = owners(fds);
        match wait(fds, &owners, limit)? {
            Ended::WithReady(count) => return Ok(count),
            Ended::ByOwners => {}
        }
    }
}

/// [`poll`] for descriptors that are not borrowed but numbers, of which each gets an owner by `find` when it is first
/// waited for: one that loses it has been closed, and is [`INVALID`](Flags::INVALID).
///
/// # Errors
///
/// As [`poll`]'s, and those of `find`, of which `EBADF` says that the descriptor has been closed since the look.
pub fn poll_numbers(
    fds: &mut [PollFd<'_>],
    limit: Limit,
    find: impl Fn(BorrowedFd<'_>) -> Result<(), Errno>,
) -> io::Result<usize> {
    yield_point_cancellable()?;
    loop {
        let ready = look(fds)?;
        if ready > 0 {
            return Ok(ready);
        }
        match fds.iter().try_for_each(|one| find(one.fd)) {
            Err(Errno::BADF) => continue,
            found => found?,
        }
        let before = owners(fds);
        if let Ended::WithReady(count) = wait(fds, &before, limit)? {
            return Ok(count);
        }
        let gone = fds.iter_mut().zip(&before);
        let gone = gone.filter(|(one, before)| generation(one.owner()) != generation(**before));
        let count = gone.map(|(one, _)| one.readiness = Flags::INVALID).count();
        if count > 0 {
            return Ok(count);
        }
    }
}

/// The slot of a descriptor, and which of all that had it is its owner.
type Owner = Option<(&'static Slot, u32)>;

/// Who has each of the descriptors.
fn owners(fds: &[PollFd<'_>]) -> Vec<Owner> {
    fds.iter().map(PollFd::owner).collect()
}

/// Which of all owners of its number it is.
fn generation(owner: Owner) -> Option<u32> {
    owner.map(|(_, generation)| generation)
}

/// How a wait has ended.
enum Ended {
    /// With so many descriptors of which something is the case: none at the deadline.
    WithReady(usize),
    /// A descriptor has another owner now, or none any more: one would wait in the wrong place.
    ByOwners,
}

/// Waits until something is the case.
fn wait(fds: &mut [PollFd<'_>], owners: &[Owner], limit: Limit) -> io::Result<Ended> {
    let strangers = strangers(fds, owners)?;
    let slots = owners.iter().map(|owner| owner.map(|(slot, _)| slot));
    let gates = fds
        .iter()
        .zip(slots)
        .flat_map(|(one, slot)| one.gates_of(slot));
    let own = strangers.iter().map(|them| them.gate(Direction::Read));
    let gates: Vec<_> = gates.chain(own).collect();
    let mut ended = Ended::WithReady(0);
    let mut confirmed = false;
    await_any(&gates, limit, || {
        let mut pairs = fds.iter().zip(owners);
        if pairs.any(|(one, owner)| generation(one.owner()) != generation(*owner)) {
            ended = Ended::ByOwners;
            return Ok(true);
        }
        let ready = look(fds)?;
        if ready == 0 {
            let owned = fds.iter().zip(owners);
            let owned = owned.filter_map(|(one, owner)| Some((one.fd, owner.as_ref()?.0)));
            // What is registered once more has an event for what is the case now, which need not be what is asked.
            for (fd, slot) in owned.filter(|(_, slot)| !confirmed || !slot.is_registered()) {
                register(fd, slot).or_else(unless_never_ready)?;
            }
            confirmed = true;
            strangers.as_ref().map_or(Ok(()), Source::register)?;
        }
        ended = Ended::WithReady(ready);
        io::Result::Ok(ready > 0)
    })?;
    Ok(ended)
}

/// Asks the kernel what is the case.
fn look(fds: &mut [PollFd<'_>]) -> io::Result<usize> {
    let asked = fds.iter().map(|one| {
        let interest = PollFlags::from_bits_retain(one.interest.bits());
        KernelPollFd::from_borrowed_fd(one.fd, interest)
    });
    let mut asked: Vec<_> = asked.collect();
    let at_once = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    rustix::io::retry_on_intr(|| rustix::event::poll(&mut asked, Some(&at_once)))?;
    let answers: Vec<_> = asked.iter().map(KernelPollFd::revents).collect();
    for (one, answer) in fds.iter_mut().zip(answers) {
        let told = Readiness::from_bits(answer.bits()) & one.interest.and_unasked();
        let closed = one
            .gates_of(one.slot())
            .any(|gate| gate.snapshot().is_closed());
        one.readiness = if closed { Flags::INVALID } else { told };
    }
    Ok(fds.iter().filter(|one| !one.readiness.is_empty()).count())
}

/// The descriptors that have no gates, as one that has.
fn strangers(fds: &[PollFd<'_>], owners: &[Owner]) -> io::Result<Option<Source>> {
    let strangers = fds.iter().zip(owners).filter(|(_, owner)| owner.is_none());
    let mut strangers = strangers.map(|(one, _)| one).peekable();
    if strangers.peek().is_none() {
        return Ok(None);
    }
    let all = epoll::create(CreateFlags::CLOEXEC)?;
    for one in strangers {
        let events = |bits: u16| EventFlags::from_bits_retain(bits.into());
        let nothing = EventData::new_u64(0);
        let added = match epoll::add(&all, one.fd, nothing, events(one.interest.bits())) {
            Err(Errno::EXIST) => {
                // Asked about more than once.
                let same = fds.iter().filter(|other| is_same(one, other));
                let every = same.fold(0, |bits, other| bits | other.interest.bits());
                epoll::modify(&all, one.fd, nothing, events(every))
            }
            added => added,
        };
        added.map_err(io::Error::from).or_else(unless_never_ready)?;
    }
    Source::from_nonblocking(all).map(Some)
}

/// Whether two ask about one descriptor.
fn is_same(one: &PollFd<'_>, other: &PollFd<'_>) -> bool {
    one.fd.as_raw_fd() == other.fd.as_raw_fd()
}

/// What cannot be waited for will never be what it is not now.
fn unless_never_ready(error: io::Error) -> io::Result<()> {
    match Errno::from_io_error(&error) {
        Some(Errno::PERM) => Ok(()),
        _ => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One that cannot have an owner would not be waited for, but asked about again and again.
    #[test]
    fn a_number_out_of_bounds_is_an_error() {
        let (reader, _writer) = std::io::pipe().unwrap();
        let mut fds = [PollFd::new(&reader, Flags::READ)];
        let find = |_: BorrowedFd<'_>| Err(Errno::MFILE);
        let error = poll_numbers(&mut fds, Limit::Cancellation, find).unwrap_err();
        assert_eq!(Errno::from_io_error(&error), Some(Errno::MFILE));
    }
}
