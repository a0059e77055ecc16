//! Sockets that a forked child closes, as it has no thread that serves them.
//!
//! The handler in the child may neither lock nor allocate, so each socket has a slot of two words.
//! The server fills a slot once a socket is open, and empties it before the socket is closed.
//!
//! `fork` copies descriptors before memory, and other threads go on in between. So a slot may name
//! a number that is another file in the child. The kernel's cookie of a socket, which it gives to
//! no other, tells them apart.
//!
//! Memory ordering: the server's thread stores the cookie, and then the number by a release. The
//! handler's acquire of the number pairs with it, so it sees the cookie that belongs to the number.

use rustix::net::sockopt::socket_cookie;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::Once;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

/// The most sockets at once: a listener, and what it accepts.
pub(crate) const SLOTS: usize = 64;

/// The place of a socket.
#[derive(Debug)]
struct Slot {
    /// The descriptor's number; -1: there is none.
    number: AtomicI32,
    /// The kernel's cookie of the socket.
    cookie: AtomicU64,
}

/// The places of all sockets.
static ALL: [Slot; SLOTS] = [const {
    Slot {
        number: AtomicI32::new(-1),
        cookie: AtomicU64::new(0),
    }
}; SLOTS];

/// Makes a forked child close a socket, for as long as this is there. Drop it before the socket.
#[derive(Debug)]
pub(crate) struct ClosedInChild(Option<&'static Slot>);

impl ClosedInChild {
    /// Has children close an open socket. Called by one thread at a time. Without a free place, or
    /// where the kernel gives no cookie, children keep the socket.
    pub(crate) fn new(socket: impl AsFd) -> Self {
        static HANDLER: Once = Once::new();
        HANDLER.call_once(|| {
            // SAFETY: the handler is async-signal-safe. Without memory for it, a child keeps them.
            unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
        });
        let is_free = |slot: &&Slot| slot.number.load(Ordering::Relaxed) < 0;
        let free = socket_cookie(&socket).ok().zip(ALL.iter().find(is_free));
        Self(free.map(|(cookie, slot)| {
            slot.cookie.store(cookie, Ordering::Relaxed);
            let number = socket.as_fd().as_raw_fd();
            slot.number.store(number, Ordering::Release);
            slot
        }))
    }
}

impl Drop for ClosedInChild {
    fn drop(&mut self) {
        if let Some(slot) = self.0 {
            slot.number.store(-1, Ordering::Release);
        }
    }
}

/// Closes all of them in a forked child.
extern "C" fn in_child() {
    for slot in &ALL {
        let number = slot.number.swap(-1, Ordering::Acquire);
        if number < 0 {
            continue;
        }
        // SAFETY: used within this loop only, and a call on a number that is closed is an error.
        let socket = unsafe { BorrowedFd::borrow_raw(number) };
        let cookie = slot.cookie.load(Ordering::Relaxed);
        if socket_cookie(socket) == Ok(cookie) {
            // SAFETY: the child's copy of the server's socket, which no code of the child uses.
            unsafe { libc::close(number) };
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// Runs in a forked child, and returns its exit status.
    fn in_a_child(program: impl FnOnce() -> i32) -> i32 {
        // SAFETY: the child calls async-signal-safe functions only, and ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: ends the process.
            unsafe { libc::_exit(program()) };
        }
        let mut status = 0;
        // SAFETY: a child of this process, and a place for its status.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        libc::WEXITSTATUS(status)
    }

    /// Whether a number is an open file's.
    fn is_open(number: i32) -> bool {
        // SAFETY: a question about a number.
        unsafe { libc::fcntl(number, libc::F_GETFD) >= 0 }
    }

    #[test]
    fn a_child_closes_these_sockets_and_no_other_file() {
        let kept = TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let numbers = (socket.as_raw_fd(), kept.as_raw_fd());
        let open = || i32::from(is_open(numbers.0)) + 2 * i32::from(is_open(numbers.1));
        let only = ClosedInChild::new(&socket);
        assert_eq!(in_a_child(open), 2);
        assert!(is_open(numbers.0), "the parent keeps it");
        // The number is another socket's by now, as it may be at an unlucky fork.
        let other = TcpListener::bind("127.0.0.1:0").unwrap();
        rustix::io::dup2(&other, &mut std::mem::ManuallyDrop::new(owned(numbers.0))).unwrap();
        assert_eq!(in_a_child(open), 3);
        drop(only);
        assert_eq!(in_a_child(open), 3);
    }

    /// A descriptor by its number.
    fn owned(number: i32) -> std::os::fd::OwnedFd {
        use std::os::fd::FromRawFd;
        // SAFETY: its caller does not drop it.
        unsafe { std::os::fd::OwnedFd::from_raw_fd(number) }
    }
}
