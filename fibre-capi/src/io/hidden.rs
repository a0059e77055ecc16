//! `O_NONBLOCK`, as programs see it.
//!
//! A blocking listener is made non-blocking when a fibre first accepts from it, and its program does not see that: `fcntl` and `ioctl`
//! show what it has set itself. What they hide is noted for the number ([`Known::HIDDEN`]) after the flag is set, and
//! taken back before the flag goes; both under one lock. So who sees the note sees the flag; who sees the flag without the
//! note looks again under the lock.
//!
//! If the program sets the flag itself and takes it back, it is hidden again at once: fibres may wait for connections all the while.
//!
//! Duplicates share the flag, so they share the note: a duplicate inherits it, and the program's own setting takes it from
//! all numbers of the socket. A listener that has duplicates already is not changed.
//!
//! No fibre switches while it holds the lock. A forked child has one thread, and leaves it alone: another may have held it.

use super::entry::{borrow, small};
use super::system::system;
use fibre_core::is_forked_child;
use fibre_io::raw::{Known, add_known, find, known, known_as, remove_known};
use parking_lot::{Mutex, MutexGuard};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl, fstat};
use rustix::io::Errno;
use rustix::net::sockopt::socket_acceptconn;
use std::ffi::c_int;
use std::os::fd::RawFd;

/// Held while a flag and its note are changed.
static CHANGES: Mutex<()> = Mutex::new(());

/// Keeps others from changing flags that are hidden, and waits for who does.
fn alone() -> Option<MutexGuard<'static, ()>> {
    (!is_forked_child()).then(|| CHANGES.lock())
}

/// Whether it is a socket that is used by its number.
pub fn is_known_socket(fd: RawFd) -> bool {
    fd >= 0 && known(borrow(fd)).has(Known::RAW | Known::SOCKET)
}

/// Whether it is noted that a descriptor's flag is hidden.
fn is_noted(fd: RawFd) -> bool {
    fd >= 0 && known(borrow(fd)).has(Known::HIDDEN)
}

/// Whether a descriptor, which is seen to be non-blocking, is so behind its program's back.
pub fn is_hidden(fd: RawFd) -> bool {
    is_noted(fd) || {
        let _alone = alone();
        is_noted(fd)
    }
}

/// Whether a listener is non-blocking, or has been made so here.
///
/// # Errors
///
/// Those of `fcntl`.
pub fn may_wait_at_gate(fd: RawFd) -> Result<bool, Errno> {
    if find(borrow(fd))?.has(Known::HIDDEN) {
        return Ok(true);
    }
    if fcntl_getfl(borrow(fd))?.contains(OFlags::NONBLOCK) {
        // Who has set it just now has noted it when this returns.
        drop(alone());
        return Ok(true);
    }
    let _alone = alone();
    let known = known(borrow(fd));
    let flags = fcntl_getfl(borrow(fd))?;
    if flags.contains(OFlags::NONBLOCK) {
        return Ok(true);
    }
    let is_shared = known.has(Known::SHARED) || !is_known_socket(fd);
    if !is_shared {
        fcntl_setfl(borrow(fd), flags | OFlags::NONBLOCK)?;
        add_known(borrow(fd), Known::HIDDEN);
    }
    Ok(!is_shared)
}

/// Lets a duplicate hide what the other number hides.
pub fn hide_duplicate(fd: RawFd, duplicate: RawFd) {
    let _alone = alone();
    if is_noted(fd) {
        add_known(borrow(duplicate), Known::HIDDEN);
    }
}

/// The flags of a descriptor, as its program sees them.
///
/// # Errors
///
/// Those of `fcntl`.
pub fn flags(fd: c_int) -> Result<c_int, Errno> {
    let flags = small(system!(SYS_fcntl, fd, libc::F_GETFL)?);
    if flags & libc::O_NONBLOCK != 0 && is_hidden(fd) {
        return Ok(flags & !libc::O_NONBLOCK);
    }
    Ok(flags)
}

/// Sets the flags of a descriptor, as its program sees them.
///
/// # Errors
///
/// Those of `fcntl`.
pub fn set_flags(fd: c_int, flags: c_int) -> Result<c_int, Errno> {
    let _alone = alone();
    let is_hidden = is_noted(fd) || (flags & libc::O_NONBLOCK == 0 && hides_again(fd)?);
    let kept = if is_hidden { libc::O_NONBLOCK } else { 0 };
    let done = system!(SYS_fcntl, fd, libc::F_SETFL, flags | kept)?;
    if is_hidden && flags & libc::O_NONBLOCK != 0 {
        show(fd);
    }
    Ok(small(done))
}

/// Whether a listener's program takes back that it is non-blocking: then it is hidden that it stays so, as fibres may be on
/// their way to accept that have waited since it was hidden before.
fn hides_again(fd: RawFd) -> Result<bool, Errno> {
    if !is_known_socket(fd) {
        return Ok(false);
    }
    let fd = borrow(fd);
    let hides = !known(fd).has(Known::SHARED)
        && fcntl_getfl(fd)?.contains(OFlags::NONBLOCK)
        && socket_acceptconn(fd) == Ok(true);
    if hides {
        add_known(fd, Known::HIDDEN);
    }
    Ok(hides)
}

/// Hides nothing of a socket any longer, whatever its numbers.
fn show(fd: RawFd) {
    remove_known(borrow(fd), Known::HIDDEN);
    // A socket is opened once, so what is the same file is the same open file.
    let file = |fd| fstat(borrow(fd)).map(|it| (it.st_dev, it.st_ino));
    let Ok(own) = file(fd) else {
        return;
    };
    for other in known_as(Known::HIDDEN | Known::SHARED) {
        if file(other) == Ok(own) {
            remove_known(borrow(other), Known::HIDDEN);
        }
    }
}
