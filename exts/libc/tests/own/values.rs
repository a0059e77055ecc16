//! Thread-locals that are borrowed or initialised over a wait, and `errno`.

use super::crowd;
use crate::support::on_own;
use std::cell::{LazyCell, RefCell};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

/// How many fibres there are at a time.
const FIBRES: usize = 8;

thread_local! {
    /// What a fibre has received so far.
    static RECEIVED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    /// What waits for its first value.
    static SLOW: LazyCell<usize> = LazyCell::new(|| {
        thread::sleep(Duration::from_micros(100));
        7
    });
}

#[test]
fn a_borrow_lasts_over_a_wait() {
    on_own(|| {
        let all = Barrier::new(FIBRES);
        crowd(FIBRES, move |number| {
            let (mut near, mut far) = UnixStream::pair().unwrap();
            let gives = fibre::spawn(move || far.write_all(&[number as u8; 3]).map(|()| far));
            RECEIVED.with_borrow_mut(|received| {
                // All hold theirs now.
                all.wait();
                let mut byte = [0];
                for _ in 0..3 {
                    near.read_exact(&mut byte).unwrap();
                    received.push(byte[0]);
                }
            });
            gives.join().unwrap().unwrap();
            assert_eq!(RECEIVED.take(), [number as u8; 3]);
            assert_eq!(SLOW.with(|slow| **slow), 7);
        });
    });
}

/// `errno`, as the fibre finds it.
fn error_number() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap()
}

/// A call that fails after a wait leaves its error, and one that succeeds leaves the last one,
/// whatever other fibres do meanwhile, and wherever the caller goes on.
#[test]
fn errno_is_the_fibres_after_a_wait() {
    on_own(|| {
        crowd(FIBRES, |number| {
            let (mut near, mut far) = UnixStream::pair().unwrap();
            for _ in 0..5 {
                // SAFETY: it has no conditions; a number that is no descriptor.
                unsafe { *libc::__errno_location() = 1000 + number as i32 };
                thread::sleep(Duration::from_micros(50));
                assert_eq!(error_number(), 1000 + number as i32);
                // SAFETY: nothing has this number.
                assert_eq!(unsafe { libc::write(-1, c"x".as_ptr().cast(), 1) }, -1);
                assert_eq!(error_number(), libc::EBADF);
                near.set_read_timeout(Some(Duration::from_millis(1)))
                    .unwrap();
                let mut byte = 0_u8;
                // SAFETY: room for a byte.
                let read = unsafe { libc::read(near.as_raw_fd(), (&raw mut byte).cast(), 1) };
                assert_eq!((read, error_number()), (-1, libc::EAGAIN));
                let late = near.read(&mut [0]).unwrap_err();
                assert_eq!(late.kind(), ErrorKind::WouldBlock);
            }
            far.write_all(b"x").unwrap();
            near.read_exact(&mut [0]).unwrap();
        });
    });
}
