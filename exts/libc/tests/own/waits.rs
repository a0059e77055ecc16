//! The names of `epoll_wait` and its kin, called as C does.

use super::SHORT;
use crate::support::{Locals, Rider, on_kind, on_own};
use fibre_core::internal::PlainThread;
use std::io::{Read, Write, pipe};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// A call that waits for one event of an instance, for so long, and returns how many there were.
type Call = fn(RawFd, Option<Duration>) -> i32;

/// Each name. A negative time has no end.
const CALLS: [Call; 3] = [
    |instance, time| {
        let mut event = libc::epoll_event { events: 0, u64: 0 };
        // SAFETY: room for an event.
        unsafe { libc::epoll_wait(instance, &raw mut event, 1, milliseconds(time)) }
    },
    |instance, time| {
        let mut event = libc::epoll_event { events: 0, u64: 0 };
        let time = milliseconds(time);
        // SAFETY: room for an event, and no mask.
        unsafe { libc::epoll_pwait(instance, &raw mut event, 1, time, ptr::null()) }
    },
    |instance, time| {
        let mut event = libc::epoll_event { events: 0, u64: 0 };
        let time = time.map(|time| libc::timespec {
            tv_sec: 0,
            tv_nsec: time.subsec_nanos().into(),
        });
        let time = time.as_ref().map_or(ptr::null(), ptr::from_ref);
        // SAFETY: room for an event, no time or one of this frame, and no mask.
        unsafe { libc::epoll_pwait2(instance, &raw mut event, 1, time, ptr::null()) }
    },
];

/// A time for `epoll_wait`.
fn milliseconds(time: Option<Duration>) -> i32 {
    time.map_or(-1, |time| time.as_millis() as i32)
}

/// An instance that looks at one descriptor.
fn instance_of(fd: RawFd) -> OwnedFd {
    // SAFETY: it has no conditions.
    let instance = unsafe { OwnedFd::from_raw_fd(libc::epoll_create1(libc::EPOLL_CLOEXEC)) };
    let mut event = libc::epoll_event {
        events: libc::EPOLLIN as u32,
        u64: 7,
    };
    // SAFETY: an event of this frame.
    let added = unsafe {
        libc::epoll_ctl(
            instance.as_raw_fd(),
            libc::EPOLL_CTL_ADD,
            fd,
            &raw mut event,
        )
    };
    assert_eq!(added, 0);
    instance
}

#[test]
fn a_wait_for_events_ends_by_an_event_or_by_time() {
    on_own(|| {
        for call in CALLS {
            let (reader, mut writer) = pipe().unwrap();
            let instance = instance_of(reader.as_raw_fd());
            let instance = instance.as_raw_fd();
            assert_eq!(call(instance, Some(Duration::ZERO)), 0);
            let begun = Instant::now();
            assert_eq!(call(instance, Some(SHORT)), 0);
            assert!(begun.elapsed() >= SHORT);
            let writes = fibre::spawn(move || writer.write_all(b"x").map(|()| writer));
            assert_eq!(call(instance, None), 1);
            assert_eq!(call(instance, Some(SHORT)), 1);
            drop(writes.join().unwrap());
            assert_eq!(call(-1, Some(SHORT)), -1);
        }
    });
}

#[test]
fn a_wait_for_events_leaves_the_stack_only_if_there_are_none() {
    on_kind(Locals::Own, 1, || {
        let rider = Rider::begin();
        for call in CALLS {
            let (reader, mut writer) = pipe().unwrap();
            let instance = instance_of(reader.as_raw_fd());
            rider.leaves(|| call(instance.as_raw_fd(), Some(SHORT)));
            rider.stays(|| call(instance.as_raw_fd(), Some(Duration::ZERO)));
            writer.write_all(b"x").unwrap();
            rider.stays(|| call(instance.as_raw_fd(), None));
        }
        rider.leaves(thread::yield_now);
    });
}

/// While the runtime waits for a lock of its own, or starts a thread, it marks the fibre: a spin of
/// parking_lot's ends in `sched_yield`, and std may have to wait for what it keeps. A fibre that
/// left its stack there might leave the runtime's own structures half changed.
#[test]
fn nothing_leaves_the_stack_in_the_midst_of_the_runtime() {
    for kind in [Locals::Own, Locals::Moving] {
        on_kind(kind, 1, || {
            let rider = Rider::begin();
            let (mut reader, mut writer) = pipe().unwrap();
            let (line, mut input) = pipe().unwrap();
            let instance = instance_of(line.as_raw_fd());
            let lock = Arc::new(Mutex::new(()));
            let (locked, has_locked) = mpsc::channel();
            let other = Arc::clone(&lock);
            // A kernel thread, which lets all of them go on, one after the other.
            let helper = fibre_libc::plainly(|| {
                thread::spawn(move || {
                    let guard = other.lock().unwrap();
                    locked.send(()).unwrap();
                    thread::sleep(SHORT);
                    drop(guard);
                    thread::sleep(SHORT);
                    writer.write_all(b"x").unwrap();
                    thread::sleep(SHORT);
                    input.write_all(b"x").unwrap();
                })
            });
            has_locked.recv().unwrap();
            rider.stays(|| {
                let _plain = PlainThread::begin();
                thread::yield_now();
                drop(lock.lock().unwrap());
                reader.read_exact(&mut [0]).unwrap();
                assert_eq!(CALLS[0](instance.as_raw_fd(), None), 1);
            });
            rider.leaves(thread::yield_now);
            helper.join().unwrap();
        });
    }
}

/// Where fibres share the thread's thread-locals these calls keep the processor.
#[test]
fn elsewhere_these_waits_are_the_threads() {
    on_kind(Locals::Shared, 1, || {
        let rider = Rider::begin();
        let (reader, _writer) = pipe().unwrap();
        let instance = instance_of(reader.as_raw_fd());
        for call in CALLS {
            rider.stays(|| call(instance.as_raw_fd(), Some(SHORT)));
        }
        rider.stays(thread::yield_now);
    });
}
