//! Waiting for several descriptors at once, after `poll(2)`: each call returns the present state.
//!
//! A descriptor that belongs to an object of this runtime has gates, and the call waits at them
//! (`gates`). The call puts all other descriptors into an epoll instance of its own, which is in
//! turn a descriptor with gates. The call leaves nothing behind.
//!
//! The answer never comes from an event, which only says when to look, but from a `poll(2)` that
//! does not wait. A descriptor may get an owner, or lose it, while a call waits for it. A slot that
//! loses its owner wakes its waiters. Each waiter checks every time that the owners are still the
//! same, and begins anew if they are not. For a descriptor without events, like a file, `poll(2)`
//! says at once that reads and writes do not block.

mod ready_arm;
pub(crate) mod shut_down;

pub use self::ready_arm::{ReadyArm, ready_arm};

use crate::descriptor::table::Slot;
use crate::funnel::Direction;
use crate::gate::several::await_any;
use crate::gate::single::Gate;
use crate::readiness::Readiness as Flags;
use crate::source::{Source, register};
use fibre_core::Limit;
use fibre_core::internal::yield_point_cancellable;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{PollFd as KernelPollFd, PollFlags};
use rustix::io::Errno;
use rustix::time::Timespec;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::{Duration, Instant};

pub use crate::readiness::Readiness;

/// A descriptor with the conditions asked about, and the answer.
#[derive(Debug, Clone, Copy)]
pub struct PollFd<'a> {
    /// The descriptor.
    fd: BorrowedFd<'a>,
    /// The conditions that the caller asks about.
    interest: Readiness,
    /// The conditions that held at the end of the last call.
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

    /// The conditions that the caller asks about.
    #[must_use]
    pub fn interest(&self) -> Readiness {
        self.interest
    }

    /// Changes the conditions that the caller asks about.
    pub fn set_interest(&mut self, interest: Readiness) {
        self.interest = interest;
    }

    /// The conditions that held at the end of the last call: of those asked about, and of those
    /// reported unasked.
    #[must_use]
    pub fn readiness(&self) -> Readiness {
        self.readiness
    }

    /// The slot of its number and the owner's generation, if an object of this runtime has it.
    fn owner(&self) -> Owner {
        let slot = Slot::of(self.fd.as_raw_fd())?;
        Some((slot, slot.owner()?))
    }

    /// The slot of its number, if an object of this runtime has it.
    fn slot(&self) -> Option<&'static Slot> {
        self.owner().map(|(slot, _)| slot)
    }

    /// The gates of its slot that report the conditions asked about.
    fn gates_of(&self, slot: Option<&'static Slot>) -> impl Iterator<Item = &'static Gate> + use<> {
        let read = slot.filter(|_| self.interest.concerns_readers());
        let write = slot.filter(|_| self.interest.concerns_writers());
        let read = read.map(|slot| &slot.read);
        read.into_iter().chain(write.map(|slot| &slot.write))
    }

    /// Refuses a descriptor that stands in for a simulated socket: the kernel, which has answered
    /// this, knows nothing of that. It says of every stand-in that it hangs up.
    fn refuse_stand_in(&self, answer: PollFlags) -> io::Result<()> {
        let hangs_up = answer.contains(PollFlags::HUP);
        if hangs_up && self.slot().is_some_and(|slot| slot.simulated().is_some()) {
            let words = "a simulated socket cannot be polled";
            return Err(io::Error::new(io::ErrorKind::Unsupported, words));
        }
        Ok(())
    }

    /// Notes what the kernel has answered.
    fn note(&mut self, answer: PollFlags) {
        let told = Readiness::of(answer) & self.interest.and_unasked();
        let closed = self
            .gates_of(self.slot())
            .any(|gate| gate.snapshot().is_closed());
        self.readiness = if closed { Flags::INVALID } else { told };
    }
}

impl AsFd for PollFd<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd
    }
}

/// Waits until one of the descriptors meets a condition asked about, or has an error; returns how
/// many do. Blocks the fibre, or the thread if the caller is not a fibre.
///
/// Several fibres may wait for one descriptor, in this and other ways. All of them wake up; the
/// first to read gets the data.
///
/// ```
/// use fibre::io::pipe;
/// use fibre::io::{PollFd, Readiness, poll};
/// use std::io::Write;
///
/// let ((one, _writer), (other, mut writer)) = (pipe()?, pipe()?);
/// let fibre = fibre::spawn(move || writer.write_all(b"now").map(|()| writer));
/// let mut fds = [&one, &other].map(|end| PollFd::new(end, Readiness::READ));
/// assert_eq!(poll(&mut fds)?, 1);
/// assert!(fds[0].readiness().is_empty() && fds[1].readiness() == Readiness::READ);
/// # drop(fibre.join());
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// If an object of this runtime is closed meanwhile, by its `close`, its descriptor is
/// [`INVALID`](Readiness::INVALID) then; others stay open as long as they are borrowed here. A
/// descriptor that a [`Pollable`](crate::pollable::Pollable) shares or borrows may be taken out of
/// it meanwhile, or the `Pollable` be dropped: the call goes on.
///
/// # Errors
///
/// `ECANCELED` if the fibre is cancelled before the call or while it waits. `EINVAL` for more
/// descriptors than the process may have. When descriptors or memory run out.
pub fn poll(fds: &mut [PollFd<'_>]) -> io::Result<usize> {
    poll_within(fds, Limit::Cancellation)
}

/// [`poll`] that does not wait: returns 0 if no descriptor is ready. Blocks nothing.
///
/// # Errors
///
/// As [`poll`]'s, but for the cancellation.
pub fn try_poll(fds: &mut [PollFd<'_>]) -> io::Result<usize> {
    look(fds)
}

/// [`poll`] that waits for `timeout` at most, and then returns 0. A zero time-out looks once.
///
/// # Errors
///
/// As [`poll`]'s.
pub fn poll_timeout(fds: &mut [PollFd<'_>], timeout: Duration) -> io::Result<usize> {
    poll_within(fds, Limit::after(timeout))
}

/// [`poll`] that waits until `deadline` at most, and then returns 0. A past deadline looks once.
///
/// # Errors
///
/// As [`poll`]'s.
pub fn poll_until(fds: &mut [PollFd<'_>], deadline: Instant) -> io::Result<usize> {
    poll_within(fds, Limit::Deadline(deadline))
}

/// The common part of [`poll`] and its forms.
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

/// [`poll`] for descriptors that are numbers, and not borrowed. `find` gives each an owner when it
/// is first waited for. A number that loses its owner has been closed, and is
/// [`INVALID`](Flags::INVALID).
///
/// # Errors
///
/// As [`poll`]'s, and those of `find`; its `EBADF` says that the descriptor has been closed since
/// the look.
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

/// The slot of a descriptor, and its owner's generation.
type Owner = Option<(&'static Slot, u32)>;

/// The owner of each descriptor.
fn owners(fds: &[PollFd<'_>]) -> Vec<Owner> {
    fds.iter().map(PollFd::owner).collect()
}

/// The generation of an owner.
fn generation(owner: Owner) -> Option<u32> {
    owner.map(|(_, generation)| generation)
}

/// How a wait has ended.
enum Ended {
    /// With so many ready descriptors: none at the deadline.
    WithReady(usize),
    /// A descriptor has another owner now, or has lost its owner: the wait would be in the wrong
    /// place.
    ByOwners,
}

/// Waits until a descriptor is ready.
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
            // Registering once more brings an event for the present state, which need not be what
            // is asked about; so this is done once.
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

/// The time-out of a call that does not wait.
const AT_ONCE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 0,
};

/// Asks the kernel for the present state.
fn look(fds: &mut [PollFd<'_>]) -> io::Result<usize> {
    let asked = fds
        .iter()
        .map(|one| KernelPollFd::from_borrowed_fd(one.fd, one.interest.flags()));
    let mut asked: Vec<_> = asked.collect();
    rustix::io::retry_on_intr(|| rustix::event::poll(&mut asked, Some(&AT_ONCE)))?;
    let answers: Vec<_> = asked.iter().map(KernelPollFd::revents).collect();
    for (one, answer) in fds.iter_mut().zip(answers) {
        one.refuse_stand_in(answer)?;
        one.note(answer);
    }
    Ok(fds.iter().filter(|one| !one.readiness.is_empty()).count())
}

/// [`look`] for one, without memory. Returns whether it is ready.
fn ask(one: &mut PollFd<'_>) -> io::Result<bool> {
    let mut asked = [KernelPollFd::from_borrowed_fd(one.fd, one.interest.flags())];
    rustix::io::retry_on_intr(|| rustix::event::poll(&mut asked, Some(&AT_ONCE)))?;
    let answer = asked[0].revents();
    one.refuse_stand_in(answer)?;
    one.note(answer);
    Ok(!one.readiness.is_empty())
}

/// The descriptors that have no gates, as one descriptor that has: an epoll instance.
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
                // The descriptor may be asked about more than once.
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

/// Whether both ask about the same descriptor.
fn is_same(one: &PollFd<'_>, other: &PollFd<'_>) -> bool {
    one.fd.as_raw_fd() == other.fd.as_raw_fd()
}

/// Ignores `EPERM`: a descriptor that cannot be waited for will never change its state.
fn unless_never_ready(error: io::Error) -> io::Result<()> {
    match Errno::from_io_error(&error) {
        Some(Errno::PERM) => Ok(()),
        _ => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number that cannot have an owner would not be waited for, but asked about again and again.
    #[test]
    fn a_number_out_of_bounds_is_an_error() {
        let (reader, _writer) = std::io::pipe().unwrap();
        let mut fds = [PollFd::new(&reader, Flags::READ)];
        let find = |_: BorrowedFd<'_>| Err(Errno::MFILE);
        let error = poll_numbers(&mut fds, Limit::Cancellation, find).unwrap_err();
        assert_eq!(Errno::from_io_error(&error), Some(Errno::MFILE));
    }
}
