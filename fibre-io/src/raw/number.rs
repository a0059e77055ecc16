//! A number and its slot, and what becomes of it.

use super::failure::Failure;
use crate::backoff::descriptor_freed;
use crate::gate::Gate;
use crate::known::Known;
use crate::source::{Direction, register};
use crate::table::Slot;
use crate::users::InUse;
use fibre_core::is_forked_child;
use rustix::fs::{FileType, fstat};
use rustix::io::Errno;
use rustix::net::{ipproto, sockopt};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

/// A number while a call uses it.
#[derive(Debug, Clone, Copy)]
pub struct Number<'fd> {
    /// The descriptor.
    fd: BorrowedFd<'fd>,
    /// The slot of its number.
    slot: &'static Slot,
    /// Which of all owners of the number had it when the call began.
    generation: u32,
}

impl<'fd> Number<'fd> {
    /// The number of this descriptor. If nobody has it, it has been found.
    ///
    /// # Errors
    ///
    /// `EBADF` if there is no such descriptor; `EMFILE` if the number is beyond four million.
    #[inline]
    pub fn of(fd: BorrowedFd<'fd>) -> Result<Self, Errno> {
        let slot = Slot::of(fd.as_raw_fd()).ok_or(Errno::MFILE)?;
        let generation = match slot.owner() {
            Some(generation) => generation,
            None => adopt(fd, slot)?,
        };
        Ok(Self {
            fd,
            slot,
            generation,
        })
    }

    /// The gate of a direction.
    pub fn gate(&self, direction: Direction) -> &'static Gate {
        match direction {
            Direction::Read => &self.slot.read,
            Direction::Write => &self.slot.write,
        }
    }

    /// What is known of the descriptor.
    #[inline]
    pub fn known(&self) -> Known {
        self.slot.known.get()
    }

    /// Whether the number has the owner that it had.
    #[inline]
    pub fn is_current(&self) -> bool {
        self.slot.has_owner(self.generation)
    }

    /// Whether events are sure to come, without asking.
    #[inline]
    pub fn is_registered(&self) -> bool {
        self.slot.is_registered() && !self.known().has(Known::FOUND)
    }

    /// Whether events came when that was last asked.
    pub fn has_instance(&self) -> bool {
        self.slot.is_registered()
    }

    /// Sees to it that events come.
    ///
    /// # Errors
    ///
    /// Those of `epoll_ctl`; `EPERM` for what cannot be waited for.
    pub fn register(&self) -> Result<(), Failure> {
        Ok(register(self.fd, self.slot)?)
    }

    /// Enters the number, to try again after a wait.
    ///
    /// # Errors
    ///
    /// `EBADF` if the descriptor has been closed.
    pub fn enter(&self) -> Result<InUse<'static>, Errno> {
        let inside = self.slot.users.enter().ok_or(Errno::BADF)?;
        if self.is_current() {
            Ok(inside)
        } else {
            Err(Errno::BADF)
        }
    }
}

impl AsFd for Number<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd
    }
}

/// Finds a descriptor that nobody has told of. Returns its generation.
#[cold]
fn adopt(fd: BorrowedFd<'_>, slot: &'static Slot) -> Result<u32, Errno> {
    let kind = kind_of(fd)?;
    loop {
        // Of two who find it at once, one is the first.
        let _ = slot.adopt(kind | Known::RAW | Known::FOUND | Known::SHARED | Known::TIMED);
        if let Some(generation) = slot.owner() {
            return Ok(generation);
        }
        // It is being closed, or made.
        std::thread::yield_now();
    }
}

/// What a descriptor is.
fn kind_of(fd: BorrowedFd<'_>) -> Result<Known, Errno> {
    Ok(match FileType::from_raw_mode(fstat(fd)?.st_mode) {
        FileType::Socket if is_tcp(fd) => Known::SOCKET | Known::DRAINS,
        FileType::Socket => Known::SOCKET,
        FileType::RegularFile | FileType::Directory | FileType::BlockDevice => Known::FILE,
        _ => Known::NOTHING,
    })
}

/// Whether a socket is of TCP, also over several paths: a short read drains it, as a peer can send nothing but bytes.
fn is_tcp(fd: BorrowedFd<'_>) -> bool {
    let protocol = sockopt::socket_protocol(fd);
    matches!(protocol, Ok(Some(ipproto::TCP | ipproto::MPTCP)))
}

/// What is known of a descriptor; nothing, if nobody has used it.
#[inline]
#[must_use]
pub fn known(fd: BorrowedFd<'_>) -> Known {
    Slot::existing(fd.as_raw_fd()).map_or(Known::NOTHING, |slot| slot.known.get())
}

/// Notes something more about a descriptor that has been made here or found.
pub fn add_known(fd: BorrowedFd<'_>, known: Known) {
    if let Some(slot) = raw_slot(fd) {
        slot.known.add(known);
    }
}

/// Notes that something is so no more.
pub fn remove_known(fd: BorrowedFd<'_>, known: Known) {
    if let Some(slot) = raw_slot(fd) {
        slot.known.remove(known);
    }
}

/// The numbers of descriptors of which this is known. It looks at all.
#[cold]
pub fn known_as(known: Known) -> impl Iterator<Item = RawFd> {
    Slot::all().filter_map(move |(fd, slot)| slot.known.get().has(known).then_some(fd))
}

/// Whether a descriptor is a file, a directory or a disk ([`Known::FILE`]). If that is known of one that was found, it is asked
/// again, as another one may have got the number unseen; then it is noted what that is. Blocks nothing.
///
/// # Errors
///
/// `EBADF` if there is no such descriptor.
pub fn is_file(fd: BorrowedFd<'_>) -> Result<bool, Errno> {
    let Some(slot) = raw_slot(fd) else {
        return Ok(false);
    };
    let known = slot.known.get();
    if known.has(Known::FILE | Known::FOUND) {
        let kind = kind_of(fd)?;
        if kind != Known::FILE {
            slot.known.remove(Known::FILE);
            slot.known.add(kind);
        }
        return Ok(kind == Known::FILE);
    }
    Ok(known.has(Known::FILE))
}

/// The slot of a descriptor that has no object.
fn raw_slot(fd: BorrowedFd<'_>) -> Option<&'static Slot> {
    Slot::existing(fd.as_raw_fd()).filter(|slot| slot.known.get().has(Known::RAW))
}

/// Notes that a system call of the caller's has just made this descriptor, of which this is known. From now on it
/// is to be closed by [`close()`]. Blocks nothing.
///
/// ```
/// use fibre_io::raw::{self, Known};
/// use std::os::fd::AsFd;
///
/// let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
/// raw::made(ours.as_fd(), Known::SOCKET);
/// assert!(raw::known(ours.as_fd()).has(Known::SOCKET));
/// # drop(theirs);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn made(fd: BorrowedFd<'_>, known: Known) {
    let Some(slot) = Slot::of(fd.as_raw_fd()) else {
        return;
    };
    if is_forked_child() {
        // Who waits for an earlier one is in the parent.
        slot.known.set(known | Known::RAW);
    } else {
        slot.make(known | Known::RAW);
    }
}

/// Notes that a system call of the caller's has just made this descriptor, of which nothing is known: who waits for
/// an earlier one of its number is told, and what it is will be found out when it is used. Blocks nothing.
pub fn renewed(fd: BorrowedFd<'_>) {
    let Some(slot) = Slot::existing(fd.as_raw_fd()) else {
        return;
    };
    if is_forked_child() {
        slot.known.set(Known::NOTHING);
    } else if slot.owner().is_some() {
        slot.forget();
    }
}

/// Closes a descriptor by `call`, a system call that closes it, or puts another one into its place, like `dup3`. Calls that wait
/// for it fail with `EBADF`; those that go on, and later ones, touch nothing that gets the number then. Blocks nothing but what
/// `call` does.
///
/// ```
/// use fibre_io::raw;
/// use std::os::fd::IntoRawFd;
///
/// let number = std::fs::File::open("/")?.into_raw_fd();
/// // SAFETY: nobody else has the number.
/// let close = || Ok(unsafe { rustix::io::close(number) });
/// // SAFETY: the same.
/// unsafe { raw::close(number, close) }?;
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Safety
///
/// Nobody owns the descriptor who will close it, too, or use it as if it were open still.
///
/// # Errors
///
/// Those of `call`.
pub unsafe fn close<T>(fd: RawFd, call: impl FnOnce() -> Result<T, Errno>) -> Result<T, Errno> {
    forget(fd);
    let done = call();
    descriptor_freed();
    done
}

/// Lets all calls that wait for a direction try again: the caller knows of something that the kernel does not tell.
pub fn try_again(fd: BorrowedFd<'_>, direction: Direction) {
    if let Some(slot) = Slot::existing(fd.as_raw_fd()) {
        match direction {
            Direction::Read => slot.read.wake_all(),
            Direction::Write => slot.write.wake_all(),
        }
    }
}

/// What is known of a descriptor, which is found out if nobody has used it.
///
/// # Errors
///
/// `EBADF` if there is no such descriptor.
pub fn find(fd: BorrowedFd<'_>) -> Result<Known, Errno> {
    Ok(Number::of(fd)?.known())
}

/// Takes a number that is about to be closed from its owner.
fn forget(fd: RawFd) {
    if fd < 0 {
        return;
    }
    // SAFETY: whoever closes it has it open; if nobody has, the kernel says so.
    let borrowed = unsafe { BorrowedFd::borrow_raw(fd) };
    if let Some(slot) = Slot::existing(fd) {
        slot.evict(|epoll| epoll.remove(borrowed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A signal's handler may ask about numbers that nobody has used, in the midst of an allocation.
    #[test]
    fn asking_about_a_number_makes_no_slots() {
        let number = 3 << 20;
        // SAFETY: it is not open, which the kernel says to whoever uses it.
        let fd = unsafe { BorrowedFd::borrow_raw(number) };
        assert_eq!(known(fd), Known::NOTHING);
        add_known(fd, Known::SOCKET);
        remove_known(fd, Known::SOCKET);
        assert_eq!(is_file(fd), Ok(false));
        try_again(fd, Direction::Read);
        renewed(fd);
        forget(number);
        assert!(Slot::all().all(|(other, _)| other != number));
    }
}
