//! Calls that sleep, that wait for words, and that lock files.

use crate::places::{Call, SHORT, file, later, number};
use crate::support::Rider;
use libc::timespec;
use std::ffi::{c_int, c_long};
use std::os::fd::OwnedFd;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Calls of all names that wait for moments, words and locks.
pub(crate) const CALLS: [Call; 7] = [
    ("nanosleep", |rider| {
        // SAFETY: a time, and nowhere to write.
        sleep(rider, |time| unsafe {
            libc::nanosleep(&raw const time, ptr::null_mut())
        });
    }),
    ("clock_nanosleep", |rider| {
        let call = |flags, time: timespec| {
            let nowhere = ptr::null_mut();
            // SAFETY: a time, and nowhere to write.
            unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, flags, &raw const time, nowhere) }
        };
        sleep(rider, |time| call(0, time));
        // A moment that is over.
        assert_eq!(rider.stays(|| call(libc::TIMER_ABSTIME, now())), 0);
        let mut soon = now();
        soon.tv_sec += 1;
        assert_eq!(rider.leaves(|| call(libc::TIMER_ABSTIME, soon)), 0);
    }),
    ("usleep", |rider| {
        // SAFETY: a number.
        sleep(rider, |time| unsafe {
            libc::usleep(u32::try_from(time.tv_nsec / 1000).unwrap())
        });
    }),
    ("sleep", |rider| {
        // SAFETY: a number.
        let call = |seconds| unsafe { libc::sleep(seconds) };
        assert_eq!(rider.stays(|| call(0)), 0);
        assert_eq!(rider.leaves(|| call(1)), 0);
    }),
    ("syscall", syscall),
    ("fcntl", |rider| lock_file(rider, libc::fcntl)),
    ("fcntl64", |rider| lock_file(rider, fcntl64)),
];

/// The type of `fcntl`.
type Fcntl = unsafe extern "C" fn(c_int, c_int, ...) -> c_int;

unsafe extern "C" {
    fn fcntl64(fd: c_int, command: c_int, ...) -> c_int;
}

/// What the clock shows.
fn now() -> timespec {
    let mut now = time(0);
    // SAFETY: a place of this frame.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    assert_eq!(failed, 0);
    now
}

/// A time.
fn time(nanoseconds: u32) -> timespec {
    timespec {
        tv_sec: 0,
        tv_nsec: nanoseconds.into(),
    }
}

/// Calls what sleeps.
#[track_caller]
fn sleep(rider: &Rider, call: impl Fn(timespec) -> c_int) {
    assert_eq!(rider.stays(|| call(time(0))), 0);
    assert_eq!(rider.leaves(|| call(time(SHORT.subsec_nanos()))), 0);
}

/// `syscall`: std waits and wakes with it.
fn syscall(rider: &Rider) {
    let word = Arc::new(AtomicU32::new(1));
    let wait = |expected: u32| {
        let operation = libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG;
        let forever = ptr::null::<timespec>();
        let (nothing, any) = (ptr::null::<u32>(), u32::MAX);
        // SAFETY: a word, no time, and all bits.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                word.as_ptr(),
                operation,
                expected,
                forever,
                nothing,
                any,
            )
        }
    };
    let wake = |word: &AtomicU32| {
        let operation = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
        // SAFETY: a word.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, 1) }
    };
    // It is another value.
    assert_eq!(rider.stays(|| wait(0)), -1);
    assert_eq!(rider.stays(|| wake(&word)), 0);
    let own = Arc::clone(&word);
    later(move || {
        own.store(2, Ordering::Relaxed);
        assert_eq!(wake(&own), 1);
    });
    assert_eq!(rider.leaves(|| wait(1)), 0);
    // SAFETY: it takes nothing.
    let number = rider.stays(|| unsafe { libc::syscall(libc::SYS_getpid) });
    assert_eq!(number, c_long::from(std::process::id()));
}

/// Locks a file, as an open file does it.
#[track_caller]
fn lock_file(rider: &Rider, call: Fcntl) {
    let first = file(1);
    let path = format!("/proc/self/fd/{}", number(&first));
    let mut options = std::fs::OpenOptions::new();
    let second: OwnedFd = options.read(true).write(true).open(path).unwrap().into();
    let lock = move |fd: &OwnedFd, command, kind: c_int| {
        // SAFETY: all zeros is a lock.
        let mut lock: libc::flock = unsafe { std::mem::zeroed() };
        lock.l_type = i16::try_from(kind).unwrap();
        // SAFETY: a lock.
        unsafe { call(number(fd), command, &raw mut lock) }
    };
    let wait = libc::F_OFD_SETLKW;
    assert_eq!(rider.stays(|| lock(&first, wait, libc::F_WRLCK)), 0);
    later(move || assert_eq!(lock(&first, wait, libc::F_UNLCK), 0));
    assert_eq!(rider.leaves(|| lock(&second, wait, libc::F_WRLCK)), 0);
    // SAFETY: a number.
    let flags = rider.stays(|| unsafe { call(number(&second), libc::F_GETFL) });
    assert_eq!(flags & libc::O_ACCMODE, libc::O_RDWR);
}
