//! Emulates `O_NONBLOCK` for C programs.
//!
//! A fibre makes a blocking listener non-blocking when it first accepts from it. The program does
//! not see that: `fcntl` and `ioctl` show what it has set itself. The library notes the hidden flag
//! for the number ([`Known::HIDDEN`]) after it has set the flag, and removes the note before it
//! clears the flag; both under one lock. So a caller that sees the note sees the flag; a caller
//! that sees the flag without the note looks again under the lock.
//!
//! If the program sets the flag of a listener itself and clears it again, the library hides it from
//! then on: fibres may have waited for connections all the while, or be about to accept.
//!
//! Duplicates share the flag, so they share the note: a duplicate inherits it, and if the program
//! sets or clears the flag, the note changes for all numbers of the socket. The library does not
//! change a blocking listener that has duplicates already, nor one that it has found, which others
//! may have.
//!
//! No fibre switches while it holds the lock. A forked child has one thread, and leaves it alone:
//! another may have held it.

use crate::raw::{Known, add_known, find, known, known_as, remove_known};
use crate::source::make_nonblocking;
use fibre_core::is_forked_child;
use fibre_core::sync::thread_mutex::{Mutex, MutexGuard};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl, fstat};
use rustix::io::Errno;
use rustix::net::sockopt::socket_acceptconn;
use std::os::fd::BorrowedFd;

/// Held while a flag and its note are changed.
static CHANGES: Mutex<()> = Mutex::new(());

/// Keeps other callers from changing hidden flags, and waits for one that does.
fn alone() -> Option<MutexGuard<'static, ()>> {
    (!is_forked_child()).then(|| CHANGES.lock())
}

/// Whether it is a socket that is used by its number.
#[must_use]
pub fn is_known_socket(fd: BorrowedFd<'_>) -> bool {
    known(fd).has(Known::RAW | Known::SOCKET)
}

/// Whether it is noted that a descriptor's flag is hidden.
fn is_noted(fd: BorrowedFd<'_>) -> bool {
    known(fd).has(Known::HIDDEN)
}

/// Whether a descriptor, which is seen to be non-blocking, is so behind its program's back.
#[must_use]
pub fn is_hidden(fd: BorrowedFd<'_>) -> bool {
    is_noted(fd) || {
        let _alone = alone();
        is_noted(fd)
    }
}

/// Where a fibre waits that accepts from a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AcceptWait {
    /// At its gate: it is non-blocking, or has been made so here.
    AtGate,
    /// At its gate, to accept on another thread then: it is a blocking listener that others may
    /// have.
    ForThread,
    /// On another thread: it is no listener, so the call fails, or it is one of a kind that does
    /// not say so (Bluetooth).
    OnThread,
}

/// Where a fibre waits that accepts from this descriptor. A blocking listener is made non-blocking,
/// unless others may have it.
///
/// # Errors
///
/// Those of `fcntl`.
pub fn prepare_to_accept(fd: BorrowedFd<'_>) -> Result<AcceptWait, Errno> {
    if find(fd)?.has(Known::HIDDEN) {
        return Ok(AcceptWait::AtGate);
    }
    if fcntl_getfl(fd)?.contains(OFlags::NONBLOCK) {
        // A caller that has set it just now has noted it when this returns.
        drop(alone());
        return Ok(AcceptWait::AtGate);
    }
    if socket_acceptconn(fd) != Ok(true) {
        return Ok(AcceptWait::OnThread);
    }
    let _alone = alone();
    let known = known(fd);
    let flags = fcntl_getfl(fd)?;
    if flags.contains(OFlags::NONBLOCK) {
        return Ok(AcceptWait::AtGate);
    }
    if known.has(Known::SHARED) || !is_known_socket(fd) {
        return Ok(AcceptWait::ForThread);
    }
    fcntl_setfl(fd, flags | OFlags::NONBLOCK)?;
    add_known(fd, Known::HIDDEN);
    Ok(AcceptWait::AtGate)
}

/// Makes a listener non-blocking again that hides it, if another process that has it has changed
/// that. Costs a system call.
pub fn keep_hidden(fd: BorrowedFd<'_>) {
    let is_blocking = || fcntl_getfl(fd).is_ok_and(|flags| !flags.contains(OFlags::NONBLOCK));
    if !is_noted(fd) || !is_blocking() {
        return;
    }
    let _alone = alone();
    if is_noted(fd) {
        // The call that follows says what is wrong.
        let _ = make_nonblocking(fd);
    }
}

/// Lets a duplicate hide what the other number hides.
pub fn hide_duplicate(fd: BorrowedFd<'_>, duplicate: BorrowedFd<'_>) {
    let _alone = alone();
    if is_noted(fd) {
        add_known(duplicate, Known::HIDDEN);
    }
}

/// The flags of a descriptor, as its program sees them.
///
/// # Errors
///
/// Those of `fcntl`.
pub fn flags(fd: BorrowedFd<'_>) -> Result<OFlags, Errno> {
    let flags = fcntl_getfl(fd)?;
    if flags.contains(OFlags::NONBLOCK) && is_hidden(fd) {
        return Ok(flags - OFlags::NONBLOCK);
    }
    Ok(flags)
}

/// Sets the flags of a descriptor, as its program sees them.
///
/// # Errors
///
/// Those of `fcntl`.
pub fn set_flags(fd: BorrowedFd<'_>, flags: OFlags) -> Result<(), Errno> {
    let _alone = alone();
    let is_shown = flags.contains(OFlags::NONBLOCK);
    let is_hidden = is_noted(fd) || (!is_shown && hides_again(fd)?);
    let kept = if is_hidden {
        OFlags::NONBLOCK
    } else {
        OFlags::empty()
    };
    fcntl_setfl(fd, flags | kept)?;
    if is_hidden && is_shown {
        show(fd);
    }
    Ok(())
}

/// Sets or clears `O_NONBLOCK`, as the program of a descriptor sees it.
///
/// # Errors
///
/// Those of `fcntl`.
pub fn set_nonblocking(fd: BorrowedFd<'_>, is_set: bool) -> Result<(), Errno> {
    let mut wanted = flags(fd)?;
    wanted.set(OFlags::NONBLOCK, is_set);
    set_flags(fd, wanted)
}

/// Whether a listener's program takes back that it is non-blocking: then it is hidden that it stays
/// so, whatever its numbers, as fibres may be on their way to accept that have waited since it was
/// hidden before, or have seen the program's own flag.
fn hides_again(fd: BorrowedFd<'_>) -> Result<bool, Errno> {
    let hides = is_own_socket(fd)
        && fcntl_getfl(fd)?.contains(OFlags::NONBLOCK)
        && socket_acceptconn(fd) == Ok(true);
    if hides {
        add_known(fd, Known::HIDDEN);
        let others = duplicates(fd, Known::SOCKET).filter(|other| is_own_socket(*other));
        others.for_each(|other| add_known(other, Known::HIDDEN));
    }
    Ok(hides)
}

/// Whether it is a socket that calls of this library have made.
fn is_own_socket(fd: BorrowedFd<'_>) -> bool {
    is_known_socket(fd) && !known(fd).has(Known::FOUND)
}

/// Hides nothing of a socket any longer, whatever its numbers.
fn show(fd: BorrowedFd<'_>) {
    remove_known(fd, Known::HIDDEN);
    duplicates(fd, Known::HIDDEN).for_each(|other| remove_known(other, Known::HIDDEN));
}

/// The numbers of a socket that this is known of, if it has been duplicated. It looks at all
/// sockets that have been.
fn duplicates(
    fd: BorrowedFd<'_>,
    with: Known,
) -> impl Iterator<Item = BorrowedFd<'static>> + use<> {
    let own = file_of(fd);
    // SAFETY: the numbers are used for flags, and passed to the kernel, which refuses those that
    // are not open.
    let others =
        known_as(with | Known::SHARED).map(|other| unsafe { BorrowedFd::borrow_raw(other) });
    others.filter(move |other| own.is_some() && file_of(*other) == own)
}

/// The file of a descriptor. A socket is opened once, so what is the same file is the same open
/// file.
fn file_of(fd: BorrowedFd<'_>) -> Option<(u64, u64)> {
    fstat(fd).ok().map(|status| (status.st_dev, status.st_ino))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use crate::raw::made;
    use std::net::TcpListener;
    use std::os::fd::AsFd;

    /// A process that shares a listener makes it blocking, which no call of ours sees.
    #[test]
    fn a_hidden_flag_that_others_take_away_is_set_again() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let fd = listener.as_fd();
        made(fd, Known::SOCKET);
        assert_eq!(prepare_to_accept(fd), Ok(AcceptWait::AtGate));
        let of_kernel = || fcntl_getfl(fd).unwrap();
        fcntl_setfl(fd, of_kernel() - OFlags::NONBLOCK).unwrap();
        keep_hidden(fd);
        assert!(of_kernel().contains(OFlags::NONBLOCK));
        assert!(!flags(fd).unwrap().contains(OFlags::NONBLOCK));
        // What its program has seen to be blocking, and is, stays so.
        let other = TcpListener::bind("127.0.0.1:0").unwrap();
        keep_hidden(other.as_fd());
        assert!(!fcntl_getfl(&other).unwrap().contains(OFlags::NONBLOCK));
    }
}
