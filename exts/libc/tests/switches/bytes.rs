//! Calls that read, write, receive and send.

use crate::places::{Call, MANY, file, later, number, pair, read_later};
use crate::support::Rider;
use libc::{iovec, msghdr};
use std::ffi::{c_int, c_void};
use std::io::{Read, Write, pipe};
use std::os::unix::net::UnixStream;
use std::ptr;

/// Calls of all names that move bytes.
pub(crate) const CALLS: [Call; 16] = [
    ("read", |rider| {
        let call = |fd, bytes: &mut [u8]| {
            // SAFETY: a buffer of this length.
            unsafe { libc::read(fd, bytes.as_mut_ptr().cast(), bytes.len()) }
        };
        read_from_pipe(rider, call);
        receive(rider, call);
    }),
    ("readv", |rider| {
        let call = |fd, bytes: &mut [u8]| {
            let whole = vector(bytes.as_ptr(), bytes.len());
            // SAFETY: a buffer.
            unsafe { libc::readv(fd, &raw const whole, 1) }
        };
        read_from_pipe(rider, call);
        receive(rider, call);
    }),
    ("recv", |rider| {
        receive(rider, |fd, bytes| {
            // SAFETY: a buffer of this length.
            unsafe { libc::recv(fd, bytes.as_mut_ptr().cast(), bytes.len(), 0) }
        });
    }),
    ("recvfrom", |rider| {
        receive(rider, |fd, bytes| {
            let (place, nobody) = (bytes.as_mut_ptr().cast(), ptr::null_mut());
            // SAFETY: a buffer of this length.
            unsafe { libc::recvfrom(fd, place, bytes.len(), 0, nobody, ptr::null_mut()) }
        });
    }),
    ("recvmsg", |rider| {
        receive(rider, |fd, bytes| {
            let mut whole = vector(bytes.as_ptr(), bytes.len());
            let mut message = message(&mut whole);
            // SAFETY: a message.
            unsafe { libc::recvmsg(fd, &raw mut message, 0) }
        });
    }),
    ("write", |rider| {
        let call = |fd, bytes: &[u8]| {
            // SAFETY: a buffer of this length.
            unsafe { libc::write(fd, bytes.as_ptr().cast(), bytes.len()) }
        };
        write_to_pipe(rider, call);
        send(rider, call);
    }),
    ("writev", |rider| {
        let call = |fd, bytes: &[u8]| {
            let whole = vector(bytes.as_ptr(), bytes.len());
            // SAFETY: a buffer.
            unsafe { libc::writev(fd, &raw const whole, 1) }
        };
        write_to_pipe(rider, call);
        send(rider, call);
    }),
    ("send", |rider| {
        send(rider, |fd, bytes| {
            // SAFETY: a buffer of this length.
            unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), 0) }
        });
    }),
    ("sendto", |rider| {
        send(rider, |fd, bytes| {
            let place = bytes.as_ptr().cast();
            // SAFETY: a buffer of this length.
            unsafe { libc::sendto(fd, place, bytes.len(), 0, ptr::null(), 0) }
        });
    }),
    ("sendmsg", |rider| {
        send(rider, |fd, bytes| {
            let mut whole = vector(bytes.as_ptr(), bytes.len());
            let message = message(&mut whole);
            // SAFETY: a message.
            unsafe { libc::sendmsg(fd, &raw const message, 0) }
        });
    }),
    ("sendfile", |rider| send_file(rider, sendfile)),
    ("sendfile64", |rider| send_file(rider, libc::sendfile64)),
    ("splice", splice),
    ("__read_chk", |rider| {
        read_from_pipe(rider, |fd, bytes| {
            // SAFETY: a buffer of this length.
            unsafe { __read_chk(fd, bytes.as_mut_ptr().cast(), bytes.len(), bytes.len()) }
        });
    }),
    ("__recv_chk", |rider| {
        receive(rider, |fd, bytes| {
            // SAFETY: a buffer of this length.
            unsafe { __recv_chk(fd, bytes.as_mut_ptr().cast(), bytes.len(), bytes.len(), 0) }
        });
    }),
    ("__recvfrom_chk", |rider| {
        receive(rider, |fd, bytes| {
            let (place, count, nobody) = (bytes.as_mut_ptr().cast(), bytes.len(), ptr::null_mut());
            // SAFETY: a buffer of this length.
            unsafe { __recvfrom_chk(fd, place, count, count, 0, nobody, ptr::null_mut()) }
        });
    }),
];

/// The type of `sendfile`.
type SendFile = unsafe extern "C" fn(c_int, c_int, *mut i64, usize) -> isize;

unsafe extern "C" {
    fn sendfile(out: c_int, file: c_int, offset: *mut i64, count: usize) -> isize;
    fn __read_chk(fd: c_int, bytes: *mut c_void, count: usize, room: usize) -> isize;
    fn __recv_chk(fd: c_int, bytes: *mut c_void, count: usize, room: usize, flags: c_int) -> isize;
    fn __recvfrom_chk(
        fd: c_int,
        bytes: *mut c_void,
        count: usize,
        room: usize,
        flags: c_int,
        address: *mut libc::sockaddr,
        length: *mut libc::socklen_t,
    ) -> isize;
}

/// A buffer.
fn vector(start: *const u8, count: usize) -> iovec {
    iovec {
        iov_base: start.cast_mut().cast(),
        iov_len: count,
    }
}

/// A message of one buffer.
fn message(whole: &mut iovec) -> msghdr {
    // SAFETY: all zeros is a message of nothing.
    let mut message: msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = whole;
    message.msg_iovlen = 1;
    message
}

/// Calls what reads from a pipe.
#[track_caller]
fn read_from_pipe(rider: &Rider, call: impl Fn(c_int, &mut [u8]) -> isize) {
    let (reader, mut writer) = pipe().unwrap();
    let mut bytes = [0; 8];
    writer.write_all(b"now").unwrap();
    assert_eq!(rider.stays(|| call(number(&reader), &mut bytes)), 3);
    later(move || writer.write_all(b"later").unwrap());
    assert_eq!(rider.leaves(|| call(number(&reader), &mut bytes)), 5);
    // Nobody writes any more.
    assert_eq!(rider.stays(|| call(number(&reader), &mut bytes)), 0);
}

/// Calls what receives from a socket.
#[track_caller]
fn receive(rider: &Rider, call: impl Fn(c_int, &mut [u8]) -> isize) {
    let (near, mut far) = pair();
    let mut bytes = [0; 8];
    far.write_all(b"now").unwrap();
    assert_eq!(rider.stays(|| call(number(&near), &mut bytes)), 3);
    let other = far.try_clone().unwrap();
    later(move || (&far).write_all(b"later").unwrap());
    assert_eq!(rider.leaves(|| call(number(&near), &mut bytes)), 5);
    near.set_nonblocking(true).unwrap();
    assert_eq!(rider.stays(|| call(number(&near), &mut bytes)), -1);
    drop(other);
    assert_eq!(rider.stays(|| call(number(&near), &mut bytes)), 0);
}

/// Calls what writes to a pipe.
#[track_caller]
fn write_to_pipe(rider: &Rider, call: impl Fn(c_int, &[u8]) -> isize) {
    let (reader, writer) = pipe().unwrap();
    assert_eq!(rider.stays(|| call(number(&writer), b"now")), 3);
    read_later(reader, MANY + 3);
    let all = vec![0; MANY];
    assert_eq!(rider.leaves(|| call(number(&writer), &all)), MANY as isize);
}

/// Calls what sends to a socket.
#[track_caller]
fn send(rider: &Rider, call: impl Fn(c_int, &[u8]) -> isize) {
    let (near, far) = pair();
    assert_eq!(rider.stays(|| call(number(&near), b"now")), 3);
    read_later(far.try_clone().unwrap(), MANY + 3);
    let all = vec![0; MANY];
    assert_eq!(rider.leaves(|| call(number(&near), &all)), MANY as isize);
    drop(far);
    // The one who reads may still have it.
    while rider.watch(|| call(number(&near), b"gone")).0 >= 0 {
        fibre::yield_now();
    }
}

/// Calls what sends a file.
#[track_caller]
fn send_file(rider: &Rider, call: SendFile) {
    let (near, far) = pair();
    let file = file(MANY + 3);
    // SAFETY: numbers, and no place.
    let sends = |count| unsafe { call(number(&near), number(&file), ptr::null_mut(), count) };
    assert_eq!(rider.stays(|| sends(3)), 3);
    read_later(far, MANY + 3);
    assert_eq!(rider.leaves(|| sends(MANY)), MANY as isize);
    assert_eq!(rider.stays(|| sends(1)), 0);
}

/// `splice` stays with a flag, and leaves without.
fn splice(rider: &Rider) {
    let (near, mut far): (UnixStream, UnixStream) = pair();
    let (mut reader, writer) = pipe().unwrap();
    far.write_all(b"twice").unwrap();
    let nowhere = ptr::null_mut;
    let call = |count, flags| {
        let (from, to) = (number(&near), number(&writer));
        // SAFETY: numbers, and no places.
        unsafe { libc::splice(from, nowhere(), to, nowhere(), count, flags) }
    };
    assert_eq!(rider.stays(|| call(3, libc::SPLICE_F_NONBLOCK)), 3);
    assert_eq!(rider.leaves(|| call(2, 0)), 2);
    let mut bytes = [0; 5];
    reader.read_exact(&mut bytes).unwrap();
    assert_eq!(&bytes, b"twice");
}
