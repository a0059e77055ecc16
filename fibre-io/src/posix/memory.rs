//! Memory that a program passes to a library, which reads and writes there.
//!
//! The kernel answers an invalid pointer with `EFAULT`; a library that follows it crashes the
//! program. So libraries differ in their checks before they follow one.

use rustix::io::Errno;
use std::ffi::c_int;
use std::time::Duration;

/// What a library does before it reads and writes the program's memory.
pub trait Memory {
    /// Whether so many values can be read.
    ///
    /// # Errors
    ///
    /// `EFAULT` if not.
    fn readable<T>(start: *const T, count: usize) -> Result<(), Errno>;

    /// Whether so many values can be written, which the caller does next: what was there is lost.
    /// They are whole words.
    ///
    /// # Errors
    ///
    /// `EFAULT` if not.
    fn writable<T>(start: *mut T, count: usize) -> Result<(), Errno>;

    /// What a program has at this place.
    ///
    /// # Errors
    ///
    /// `EFAULT` if it cannot be read.
    ///
    /// # Safety
    ///
    /// What can be read there is such a value.
    unsafe fn fetch<T: Copy>(place: *const T) -> Result<T, Errno> {
        Self::readable(place, 1)?;
        // SAFETY: the caller's promise; programs need not align what the kernel reads.
        Ok(unsafe { place.read_unaligned() })
    }

    /// The same, of a place that may be null: `None`.
    ///
    /// # Errors
    ///
    /// As [`fetch`](Self::fetch).
    ///
    /// # Safety
    ///
    /// As for [`fetch`](Self::fetch).
    unsafe fn fetch_any<T: Copy>(place: *const T) -> Result<Option<T>, Errno> {
        if place.is_null() {
            return Ok(None);
        }
        // SAFETY: passed on.
        unsafe { Self::fetch(place) }.map(Some)
    }
}

/// Follows every pointer but null, as functions of the C library do. For calls with pointers that
/// the kernel has followed before.
#[derive(Debug)]
pub struct Trusted;

impl Memory for Trusted {
    fn readable<T>(start: *const T, count: usize) -> Result<(), Errno> {
        if count > 0 && start.is_null() {
            return Err(Errno::FAULT);
        }
        Ok(())
    }

    fn writable<T>(start: *mut T, count: usize) -> Result<(), Errno> {
        Self::readable(start, count)
    }
}

/// A time-out in milliseconds, as `poll` takes it and `ppoll` wants it, which every CPU's kernel
/// has; negative: none.
#[must_use]
pub fn of_milliseconds(timeout: c_int) -> Option<libc::timespec> {
    (timeout >= 0).then(|| libc::timespec {
        tv_sec: i64::from(timeout / 1000),
        tv_nsec: i64::from(timeout % 1000) * 1_000_000,
    })
}

/// A time that a program gives.
///
/// # Errors
///
/// `EINVAL` for an invalid one.
pub fn duration(time: &libc::timespec) -> Result<Duration, Errno> {
    let seconds = u64::try_from(time.tv_sec).map_err(|_| Errno::INVAL)?;
    match u32::try_from(time.tv_nsec) {
        Ok(nanoseconds @ 0..1_000_000_000) => Ok(Duration::new(seconds, nanoseconds)),
        _ => Err(Errno::INVAL),
    }
}
