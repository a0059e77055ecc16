//! Calls that connect, accept, and wait for several descriptors.

use crate::places::{Call, SHORT, later, number, pair};
use crate::support::Rider;
use libc::{fd_set, nfds_t, pollfd, timespec, timeval};
use std::ffi::{c_char, c_int};
use std::io::Write;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

/// Calls of all names that wait for descriptors.
pub(crate) const CALLS: [Call; 8] = [
    ("connect", connect),
    ("accept", |rider| {
        // SAFETY: a number, and no place.
        accept(rider, |fd| unsafe {
            libc::accept(fd, ptr::null_mut(), ptr::null_mut())
        });
    }),
    ("accept4", |rider| {
        // SAFETY: a number, and no place.
        accept(rider, |fd| unsafe {
            libc::accept4(fd, ptr::null_mut(), ptr::null_mut(), libc::SOCK_CLOEXEC)
        });
    }),
    ("poll", |rider| {
        // SAFETY: descriptors.
        poll(rider, |fds, limit| unsafe {
            libc::poll(fds.as_mut_ptr(), fds.len() as nfds_t, milliseconds(limit))
        });
    }),
    ("ppoll", |rider| {
        // SAFETY: descriptors, and a time.
        poll(rider, |fds, limit| unsafe {
            let time = limit.map_or(ptr::null(), ptr::from_ref);
            libc::ppoll(fds.as_mut_ptr(), fds.len() as nfds_t, time, ptr::null())
        });
    }),
    ("__poll_chk", |rider| {
        // SAFETY: descriptors, with their size.
        poll(rider, |fds, limit| unsafe {
            let (count, size) = (fds.len() as nfds_t, size_of_val(fds));
            __poll_chk(fds.as_mut_ptr(), count, milliseconds(limit), size)
        });
    }),
    ("__ppoll_chk", |rider| {
        // SAFETY: descriptors, with their size, and a time.
        poll(rider, |fds, limit| unsafe {
            let (count, size) = (fds.len() as nfds_t, size_of_val(fds));
            let time = limit.map_or(ptr::null(), ptr::from_ref);
            __ppoll_chk(fds.as_mut_ptr(), count, time, ptr::null(), size)
        });
    }),
    ("select", |rider| poll(rider, select)),
];

unsafe extern "C" {
    fn __poll_chk(fds: *mut pollfd, count: nfds_t, timeout: c_int, room: usize) -> c_int;
    fn __ppoll_chk(
        fds: *mut pollfd,
        count: nfds_t,
        timeout: *const timespec,
        signals: *const libc::sigset_t,
        room: usize,
    ) -> c_int;
}

/// A time as `poll` has it.
fn milliseconds(limit: Option<&timespec>) -> c_int {
    limit.map_or(-1, |limit| {
        c_int::try_from(limit.tv_sec * 1000 + limit.tv_nsec / 1_000_000).unwrap()
    })
}

/// A listener, its address, and that address' length.
fn listener() -> (UnixListener, libc::sockaddr_un, libc::socklen_t) {
    static LISTENERS: AtomicU32 = AtomicU32::new(0);
    // SAFETY: all zeros is an address.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    // A name of the kernel's, which begins with a zero, and a new one: another fibre may still have
    // the last listener.
    let number_of_this = LISTENERS.fetch_add(1, Ordering::Relaxed);
    let name = format!("fibre-libc-{}-{number_of_this}", std::process::id());
    for (place, byte) in address.sun_path[1..].iter_mut().zip(name.bytes()) {
        *place = byte as c_char;
    }
    let length = (size_of::<libc::sa_family_t>() + 1 + name.len()) as libc::socklen_t;
    let fd = socket();
    // SAFETY: an address of this length.
    unsafe {
        let bound = libc::bind(number(&fd), (&raw const address).cast(), length);
        assert_eq!(bound, 0);
        // Room for one that is not accepted yet.
        assert_eq!(libc::listen(number(&fd), 0), 0);
    }
    (UnixListener::from(fd), address, length)
}

/// A socket.
fn socket() -> OwnedFd {
    // SAFETY: numbers; what is new is nobody else's.
    unsafe {
        let fd = libc::socket(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0);
        assert!(fd >= 0);
        OwnedFd::from_raw_fd(fd)
    }
}

/// `connect` waits if the listener has no room.
fn connect(rider: &Rider) {
    let (listener, address, length) = listener();
    let call = |fd: &OwnedFd| {
        let address = (&raw const address).cast();
        // SAFETY: an address of this length.
        unsafe { libc::connect(number(fd), address, length) }
    };
    let (first, second) = (socket(), socket());
    assert_eq!(rider.stays(|| call(&first)), 0);
    later(move || drop((listener.accept().unwrap(), listener.accept().unwrap())));
    assert_eq!(rider.leaves(|| call(&second)), 0);
}

/// Calls what accepts.
#[track_caller]
fn accept(rider: &Rider, call: impl Fn(c_int) -> c_int) {
    let (listener, address, length) = listener();
    let connect = move |fd: &OwnedFd| {
        let address = (&raw const address).cast();
        // SAFETY: an address of this length.
        assert_eq!(unsafe { libc::connect(number(fd), address, length) }, 0);
    };
    let accepted = |fd: c_int| {
        assert!(fd >= 0);
        // SAFETY: it is new, and nobody else's.
        drop(unsafe { OwnedFd::from_raw_fd(fd) });
    };
    let first = socket();
    connect(&first);
    accepted(rider.stays(|| call(number(&listener))));
    later(move || connect(&socket()));
    accepted(rider.leaves(|| call(number(&listener))));
    listener.set_nonblocking(true).unwrap();
    assert_eq!(rider.stays(|| call(number(&listener))), -1);
}

/// Calls what waits for descriptors.
#[track_caller]
fn poll(rider: &Rider, call: impl Fn(&mut [pollfd], Option<&timespec>) -> c_int) {
    let (near, mut far) = pair();
    let asked = pollfd {
        fd: number(&near),
        events: libc::POLLIN,
        revents: 0,
    };
    let time = |nanoseconds| timespec {
        tv_sec: 0,
        tv_nsec: nanoseconds,
    };
    let call = |limit: Option<&timespec>| call(&mut [asked], limit);
    let (none, short) = (time(0), time(i64::from(SHORT.subsec_nanos())));
    assert_eq!(rider.stays(|| call(Some(&none))), 0);
    assert_eq!(rider.leaves(|| call(Some(&short))), 0);
    let other = far.try_clone().unwrap();
    later(move || far.write_all(b"x").unwrap());
    assert_eq!(rider.leaves(|| call(None)), 1);
    assert_eq!(rider.stays(|| call(None)), 1);
    assert_eq!(rider.stays(|| call(Some(&short))), 1);
    drop(other);
}

/// `select` for the first descriptor.
fn select(fds: &mut [pollfd], limit: Option<&timespec>) -> c_int {
    let limit = limit.map(|limit| timeval {
        tv_sec: limit.tv_sec,
        tv_usec: limit.tv_nsec / 1000,
    });
    let mut limit = limit;
    let limit = limit.as_mut().map_or(ptr::null_mut(), ptr::from_mut);
    // SAFETY: a set with a number that it has room for, and a time.
    unsafe {
        let mut set: fd_set = std::mem::zeroed();
        libc::FD_SET(fds[0].fd, &raw mut set);
        let nothing = ptr::null_mut;
        libc::select(fds[0].fd + 1, &raw mut set, nothing(), nothing(), limit)
    }
}
