//! `select` and `pselect`, over [`wait_for_all`].
//!
//! Like the kernel, they look at no more bits than the process's descriptor table has places,
//! whatever the count says: programs pass `getdtablesize()` with sets of `FD_SETSIZE` bits.

use super::memory::{Memory, duration};
use super::poll::wait_for_all;
use super::switching::Switching;
use super::syscall::syscall;
use crate::raw::Failure;
use rustix::io::Errno;
use std::ffi::{c_int, c_short};
use std::ptr;
use std::time::{Duration, Instant};

/// Of each set: what `poll` is asked for its bits, and what answers set them, as in the kernel.
const KINDS: [(c_short, c_short); 3] = [
    (
        libc::POLLIN,
        libc::POLLRDNORM | libc::POLLRDBAND | libc::POLLIN | libc::POLLHUP | libc::POLLERR,
    ),
    (
        libc::POLLOUT,
        libc::POLLWRBAND | libc::POLLWRNORM | libc::POLLOUT | libc::POLLERR,
    ),
    (libc::POLLPRI, libc::POLLPRI),
];

/// Microseconds in a second.
const SECOND: i64 = 1_000_000;

/// `select`: with a time-out, null for none; what is left of it is written back. Blocks the fibre.
///
/// # Errors
///
/// As [`select`].
///
/// # Safety
///
/// As for [`select`]; the time-out is null or the caller's.
pub unsafe fn select_timed<M: Memory>(
    count: c_int,
    sets: [*mut libc::fd_set; 3],
    timeout: *mut libc::timeval,
    switching: Switching,
) -> Result<usize, Failure> {
    // SAFETY: null, or the caller's time.
    let time = unsafe { M::fetch_any(timeout) }?;
    let limit = time.as_ref().map(of_timeval).transpose()?;
    let begun = Instant::now();
    // SAFETY: the caller's sets.
    let ready = unsafe { select::<M>(count, sets, limit, switching) };
    if let Some(limit) = limit {
        // SAFETY: the caller's time.
        unsafe { tell_rest::<M>(timeout, limit.saturating_sub(begun.elapsed())) };
    }
    ready
}

/// `select`, made by the kernel. Blocks the thread.
///
/// # Errors
///
/// Those of the call.
///
/// # Safety
///
/// As for [`select_timed`].
pub unsafe fn select_on_thread<M: Memory>(
    count: c_int,
    sets: [*mut libc::fd_set; 3],
    timeout: *mut libc::timeval,
) -> Result<usize, Errno> {
    // SAFETY: null, or the caller's time.
    let time = unsafe { M::fetch_any(timeout) }?;
    let limit = time.as_ref().map(of_timeval).transpose()?;
    // A time beyond all numbers never ends.
    let mut left = limit.map(|limit| libc::timespec {
        tv_sec: i64::try_from(limit.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(limit.subsec_nanos()),
    });
    let time = left.as_mut().map_or(ptr::null_mut(), ptr::from_mut);
    let ([readable, writable, urgent], mask) = (sets, ptr::null::<usize>());
    let call = syscall!(SYS_pselect6, count, readable, writable, urgent, time, mask);
    let ready = call.here();
    // The kernel has written what is left.
    if let Some(Ok(left)) = left.as_ref().map(duration) {
        // SAFETY: the caller's time.
        unsafe { tell_rest::<M>(timeout, left) };
    }
    ready
}

/// Tells what is left of a time-out, if that can be written: the kernel, too, lets the call succeed
/// if not.
///
/// # Safety
///
/// It is the caller's.
unsafe fn tell_rest<M: Memory>(timeout: *mut libc::timeval, left: Duration) {
    let left = libc::timeval {
        tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
        tv_usec: i64::from(left.subsec_micros()),
    };
    if M::writable(timeout, 1).is_ok() {
        // SAFETY: the caller's promise.
        unsafe { timeout.write_unaligned(left) };
    }
}

/// A time-out, as `select` takes it: more than a second of microseconds counts.
fn of_timeval(time: &libc::timeval) -> Result<Duration, Errno> {
    let seconds = u64::try_from(time.tv_sec).map_err(|_| Errno::INVAL)?;
    let rest = u64::try_from(time.tv_usec).map_err(|_| Errno::INVAL)?;
    let seconds = seconds.saturating_add(rest / SECOND.unsigned_abs());
    Ok(Duration::from_secs(seconds) + Duration::from_micros(rest % SECOND.unsigned_abs()))
}

/// `pselect`: waits for sets of descriptors, for so long. Blocks the fibre.
///
/// # Errors
///
/// Those of the call; that the fibre has been cancelled.
///
/// # Safety
///
/// The sets are null, or have so many bits, or as many as the process's table of descriptors has
/// places.
pub unsafe fn select<M: Memory>(
    count: c_int,
    sets: [*mut libc::fd_set; 3],
    limit: Option<Duration>,
    switching: Switching,
) -> Result<usize, Failure> {
    let Ok(mut bits) = usize::try_from(count) else {
        return Err(Errno::INVAL.into());
    };
    if bits > libc::FD_SETSIZE {
        bits = bits.min(table_size()?);
    }
    // SAFETY: the caller's promise; the kernel, too, takes a set for whole words.
    let [readable, writable, urgent] = sets.map(|set| unsafe { Set::new::<M>(set, bits) });
    let mut sets = [readable?, writable?, urgent?];
    // It has come from such a number, or is less.
    let every = (0..bits as c_int).map(|fd| question(fd, &sets));
    let mut asked: Vec<_> = every.filter(|one| one.events != 0).collect();
    wait_for_all(&mut asked, limit, switching)?;
    if asked.iter().any(|one| one.revents & libc::POLLNVAL != 0) {
        return Err(Errno::BADF.into());
    }
    sets.iter_mut().for_each(|set| set.bits.fill(0));
    let mut told = 0;
    for one in &asked {
        for (set, (question, answers)) in sets.iter_mut().zip(KINDS) {
            if one.events & question != 0 && one.revents & answers != 0 {
                set.insert(one.fd);
                told += 1;
            }
        }
    }
    for set in &sets {
        // SAFETY: the caller's promise still.
        unsafe { set.tell::<M>() }?;
    }
    Ok(told)
}

/// How many places the process' table of descriptors has: more than its highest number, and mostly
/// far less than it may have.
#[cold]
fn table_size() -> Result<usize, Errno> {
    // The process' own has none if its first thread has ended. One field is no reason for a crate.
    let status = std::fs::read("/proc/thread-self/status");
    let status = status.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::NOMEM))?;
    let lines = status.split(|&byte| byte == b'\n');
    let size = lines.filter_map(|line| str::from_utf8(line.strip_prefix(b"FDSize:")?).ok());
    let size = size.filter_map(|size| size.trim().parse().ok()).next();
    size.ok_or(Errno::NOMEM)
}

/// What the sets ask about a descriptor.
fn question(fd: c_int, sets: &[Set; 3]) -> libc::pollfd {
    let asked = sets.iter().zip(KINDS).filter(|(set, _)| set.contains(fd));
    libc::pollfd {
        fd,
        events: asked.fold(0, |events, (_, (question, _))| events | question),
        revents: 0,
    }
}

/// A set of descriptors: what is asked, and then what is told. Programs may pass one set twice, so
/// this is a copy; as the kernel's answers, that for the last set stays then.
struct Set {
    /// Where the program has it, or null.
    place: *mut u64,
    /// Its bits.
    bits: Vec<u64>,
}

impl Set {
    /// The program's, with so many bits; an empty one for null.
    ///
    /// # Safety
    ///
    /// It is null, or a pointer to so many.
    ///
    /// # Errors
    ///
    /// `EFAULT` if they are not there.
    unsafe fn new<M: Memory>(set: *mut libc::fd_set, bits: usize) -> Result<Self, Errno> {
        let place: *mut u64 = set.cast();
        let words = if set.is_null() { 0 } else { bits.div_ceil(64) };
        M::readable(place, words)?;
        let mut bits = vec![0; words];
        if words > 0 {
            // SAFETY: the caller's promise.
            unsafe { ptr::copy_nonoverlapping(place, bits.as_mut_ptr(), words) };
        }
        Ok(Self { place, bits })
    }

    /// The word and the bit of a descriptor.
    fn place_of(fd: c_int) -> (usize, u64) {
        let fd = fd.unsigned_abs() as usize;
        (fd / 64, 1 << (fd % 64))
    }

    /// Whether it is in the set.
    fn contains(&self, fd: c_int) -> bool {
        let (word, bit) = Self::place_of(fd);
        self.bits.get(word).is_some_and(|word| word & bit != 0)
    }

    /// Adds it.
    fn insert(&mut self, fd: c_int) {
        let (word, bit) = Self::place_of(fd);
        if let Some(word) = self.bits.get_mut(word) {
            *word |= bit;
        }
    }

    /// Writes the bits to where the program has the set.
    ///
    /// # Safety
    ///
    /// As for `new`.
    ///
    /// # Errors
    ///
    /// `EFAULT` if they cannot be written.
    unsafe fn tell<M: Memory>(&self) -> Result<(), Errno> {
        M::writable(self.place, self.bits.len())?;
        if !self.bits.is_empty() {
            // SAFETY: the caller's promise.
            unsafe { ptr::copy_nonoverlapping(self.bits.as_ptr(), self.place, self.bits.len()) };
        }
        Ok(())
    }
}
