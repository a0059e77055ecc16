//! A descriptor's number with its slot: made, found, used and closed.

use super::failure::Failure;
use crate::backoff::descriptor_freed;
use crate::descriptor::flags::Known;
use crate::descriptor::table::Slot;
use crate::descriptor::use_count::InUse;
use crate::funnel::Direction;
use crate::gate::single::Gate;
use crate::source::{gate_of, register};
use fibre_core::is_forked_child;
use rustix::fs::{FileType, fstat};
use rustix::io::{Errno, fcntl_getfd};
use rustix::net::{ipproto, sockopt};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

/// A number while a call uses it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Number<'fd> {
    /// The descriptor.
    fd: BorrowedFd<'fd>,
    /// The slot of its number.
    slot: &'static Slot,
    /// The generation of the owner that had the number when the call began.
    generation: u32,
}

impl<'fd> Number<'fd> {
    /// The number of this descriptor. If the number has no owner, the descriptor counts as found.
    ///
    /// # Errors
    ///
    /// `EBADF` if there is no such descriptor; `EMFILE` if the number is beyond four million.
    #[inline]
    pub(super) fn of(fd: BorrowedFd<'fd>) -> Result<Self, Errno> {
        let slot = Slot::of(fd.as_raw_fd()).ok_or_else(|| beyond_the_table(fd))?;
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
    pub(super) fn gate(&self, direction: Direction) -> &'static Gate {
        gate_of(self.slot, direction)
    }

    /// What is known of the descriptor.
    #[inline]
    pub(super) fn known(&self) -> Known {
        self.slot.known.get()
    }

    /// Whether the number still has the owner it had when the call began.
    #[inline]
    pub(super) fn is_current(&self) -> bool {
        self.slot.has_owner(self.generation)
    }

    /// Whether events are sure to come, without asking the kernel.
    #[inline]
    pub(super) fn is_registered(&self) -> bool {
        self.slot.is_registered() && !self.known().has(Known::FOUND)
    }

    /// Whether the descriptor was registered when that was last checked.
    pub(super) fn has_instance(&self) -> bool {
        self.slot.is_registered()
    }

    /// Makes sure that events come: registers the descriptor, or confirms its registration.
    ///
    /// # Errors
    ///
    /// Those of `epoll_ctl`; `EPERM` for a descriptor that cannot be waited for.
    pub(super) fn register(&self) -> Result<(), Failure> {
        Ok(register(self.fd, self.slot)?)
    }

    /// Enters the number, to try again after a wait.
    ///
    /// # Errors
    ///
    /// `EBADF` if the descriptor has been closed.
    pub(super) fn enter(&self) -> Result<InUse<'static>, Errno> {
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

/// Why a number beyond the table has no slot.
#[cold]
fn beyond_the_table(fd: BorrowedFd<'_>) -> Errno {
    match fcntl_getfd(fd) {
        Ok(_) => Errno::MFILE,
        Err(closed) => closed,
    }
}

/// Adopts a descriptor that has no owner yet, as found. Returns its generation.
#[cold]
fn adopt(fd: BorrowedFd<'_>, slot: &'static Slot) -> Result<u32, Errno> {
    let kind = kind_of(fd)?;
    loop {
        // Of two calls that find it at once, one is the first.
        let _ = slot.adopt(kind | Known::RAW | Known::FOUND | Known::SHARED | Known::TIMED);
        if let Some(generation) = slot.owner() {
            return Ok(generation);
        }
        // Another thread is closing or making the descriptor.
        std::thread::yield_now();
    }
}

/// What kind of descriptor this is, as flags.
fn kind_of(fd: BorrowedFd<'_>) -> Result<Known, Errno> {
    Ok(match FileType::from_raw_mode(fstat(fd)?.st_mode) {
        FileType::Socket if is_tcp(fd) => Known::SOCKET | Known::DRAINS,
        FileType::Socket => Known::SOCKET,
        FileType::RegularFile | FileType::Directory | FileType::BlockDevice => Known::FILE,
        _ => Known::NOTHING,
    })
}

/// Whether a socket is a TCP socket, also over several paths (MPTCP). A short read drains it, as a
/// peer can send nothing but bytes.
fn is_tcp(fd: BorrowedFd<'_>) -> bool {
    let protocol = sockopt::socket_protocol(fd);
    matches!(protocol, Ok(Some(ipproto::TCP | ipproto::MPTCP)))
}

/// The flags of a descriptor; none, if no call has used it.
#[inline]
#[must_use]
pub fn known(fd: BorrowedFd<'_>) -> Known {
    Slot::existing(fd.as_raw_fd()).map_or(Known::NOTHING, |slot| slot.known.get())
}

/// Sets further flags of a descriptor that has been made here or found.
pub fn add_known(fd: BorrowedFd<'_>, known: Known) {
    if let Some(slot) = raw_slot(fd) {
        slot.known.add(known);
    }
}

/// Clears flags of a descriptor.
pub fn remove_known(fd: BorrowedFd<'_>, known: Known) {
    if let Some(slot) = raw_slot(fd) {
        slot.known.remove(known);
    }
}

/// The numbers of all descriptors with these flags. Looks at all slots.
#[cold]
pub fn known_as(known: Known) -> impl Iterator<Item = RawFd> {
    Slot::all().filter_map(move |(fd, slot)| slot.known.get().has(known).then_some(fd))
}

/// Whether a descriptor is a file, a directory or a disk ([`Known::FILE`]). If that flag is set for
/// a descriptor that was found, the kernel is asked again, as another descriptor may have got the
/// number unseen; then its flags are set anew. Blocks nothing.
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

/// Records that a system call of the caller's has just made this descriptor, with these flags. From
/// now on it must be closed by [`close()`]. Blocks nothing.
///
/// ```
/// use fibre::io::raw::{self, Known};
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
        // Waiters for an earlier descriptor of the number are in the parent.
        slot.known.set(known | Known::RAW);
    } else {
        slot.make(known | Known::RAW);
    }
}

/// Records that a system call of the caller's has just made this descriptor, of an unknown kind.
/// Wakes waiters for an earlier descriptor of its number; the first use finds out its kind. Blocks
/// nothing.
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

/// Closes a descriptor with `call`: a system call that closes it, or replaces it, like `dup3`.
/// Calls that wait for the descriptor fail with `EBADF`. No call on it touches a descriptor that
/// gets the number afterwards. Blocks only as far as `call` does.
///
/// ```
/// use fibre::io::raw;
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
/// No owner of the descriptor will close it, too, or use it as if it were still open.
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

/// Makes all calls that wait for a direction try again. For a caller that knows of a change which
/// the kernel does not report.
pub fn try_again(fd: BorrowedFd<'_>, direction: Direction) {
    if let Some(slot) = Slot::existing(fd.as_raw_fd()) {
        gate_of(slot, direction).wake_all();
    }
}

/// The flags of a descriptor, which are found out if no call has used it yet.
///
/// # Errors
///
/// `EBADF` if there is no such descriptor.
pub fn find(fd: BorrowedFd<'_>) -> Result<Known, Errno> {
    Ok(Number::of(fd)?.known())
}

/// Evicts the owner of a number that is about to be closed.
fn forget(fd: RawFd) {
    if fd < 0 {
        return;
    }
    // SAFETY: the caller that closes it has it open; if it is not open, the kernel says so.
    let borrowed = unsafe { BorrowedFd::borrow_raw(fd) };
    if let Some(slot) = Slot::existing(fd) {
        slot.evict(|epoll| epoll.remove(borrowed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A signal handler may ask about numbers that no call has used, in the midst of an allocation.
    #[test]
    fn asking_about_a_number_makes_no_slots() {
        let number = 3 << 20;
        // SAFETY: the number is not open, and the kernel tells every user of it so.
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
