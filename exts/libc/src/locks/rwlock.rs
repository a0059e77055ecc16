//! Read-write locks.
//!
//! The C library does not see a fibre that waits to write, and would let readers pass it by. Of
//! locks that prefer writers (`PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP`), those that fibres
//! wait to write are listed here, and a reader's attempt fails while its lock is among them. A
//! writer that gives up has the readers try again.

use super::mark::{Mark, has};
use super::queue::{NOT_YET, changed, wait_for};
use super::until::{OVER, Until};
use crate::entry::{may_switch_as_thread, plain_calls, threads_are_fibres};
use crate::next::call_next;
use fibre_io::posix::attributes::by_attributes;
use libc::{clockid_t, pthread_rwlock_t, timespec};
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// How many fibres wait to write, by the addresses of locks that prefer writers.
static WRITERS: Mutex<BTreeMap<usize, usize>> = Mutex::new(BTreeMap::new());

/// How many these are in all. Sequentially consistent: a reader that is kept out by a writer is in
/// its list before the writer looks whom to wake.
static WAITING: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" {
    fn pthread_rwlockattr_setkind_np(
        attributes: *mut libc::pthread_rwlockattr_t,
        kind: c_int,
    ) -> c_int;
}

/// The kind of a lock that prefers writers, `PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP`.
const PREFERS_WRITERS: c_int = 2;

/// Whether processes share it.
unsafe fn is_shared(lock: *const pthread_rwlock_t) -> bool {
    static MARK: OnceLock<Mark> = OnceLock::new();
    // SAFETY: the caller's lock.
    unsafe {
        has(&MARK, lock, |place, has_it| {
            make(place, |attributes| {
                libc::pthread_rwlockattr_setpshared(attributes, has_it.into())
            })
        })
    }
}

/// Whether it prefers writers.
unsafe fn prefers_writers(lock: *const pthread_rwlock_t) -> bool {
    static MARK: OnceLock<Mark> = OnceLock::new();
    // SAFETY: the caller's lock.
    unsafe {
        has(&MARK, lock, |place, has_it: bool| {
            let kind = if has_it { PREFERS_WRITERS } else { 0 };
            make(place, |attributes| {
                pthread_rwlockattr_setkind_np(attributes, kind)
            })
        })
    }
}

/// Makes a lock with an attribute in a place of ours. Returns an error number.
fn make(
    place: *mut pthread_rwlock_t,
    set: impl FnOnce(*mut libc::pthread_rwlockattr_t) -> c_int,
) -> c_int {
    // SAFETY: a place of ours; these belong together.
    unsafe {
        by_attributes(
            libc::pthread_rwlockattr_init,
            set,
            |attributes| libc::pthread_rwlock_init(place, attributes),
            libc::pthread_rwlockattr_destroy,
        )
    }
}

/// A fibre that waits to write a lock that prefers writers.
struct Writer(usize);

impl Writer {
    /// Lists the caller.
    fn list(lock: usize) -> Self {
        *writers().entry(lock).or_default() += 1;
        WAITING.fetch_add(1, Ordering::SeqCst);
        Self(lock)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        WAITING.fetch_sub(1, Ordering::SeqCst);
        let mut writers = writers();
        if let Some(count) = writers.get_mut(&self.0) {
            *count -= 1;
            if *count == 0 {
                writers.remove(&self.0);
            }
        }
    }
}

/// The list, whoever has it: nothing panics there.
fn writers() -> MutexGuard<'static, BTreeMap<usize, usize>> {
    WRITERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a fibre waits to write a lock that prefers writers.
#[inline]
fn is_kept_for_a_writer(lock: *mut pthread_rwlock_t) -> bool {
    let is_listed = || plain_calls(|| writers().contains_key(&lock.addr()));
    WAITING.load(Ordering::SeqCst) > 0 && is_listed()
}

/// Takes a lock for a fibre; `None`: the caller is to do that by the C library's call. `attempt`
/// does not wait, nor does `look`, which says more of the reason; `writes` is whether it is to
/// write.
#[inline(always)]
unsafe fn take_as_fibre(
    lock: *mut pthread_rwlock_t,
    until: Until,
    attempt: unsafe extern "C" fn(*mut pthread_rwlock_t) -> c_int,
    look: fn(*mut pthread_rwlock_t) -> c_int,
    writes: bool,
) -> Option<c_int> {
    if !threads_are_fibres() {
        return None;
    }
    // SAFETY: the caller's lock.
    let attempt = || unsafe { attempt(lock) };
    match attempt() {
        NOT_YET => {}
        done => return Some(done),
    }
    // SAFETY: the caller's lock.
    if !may_switch_as_thread() || unsafe { is_shared(lock) } {
        return None;
    }
    // SAFETY: the caller's time.
    let Ok(wait) = (unsafe { until.wait() }) else {
        return Some(libc::EINVAL);
    };
    match look(lock) {
        // SAFETY: the caller's lock.
        libc::ETIMEDOUT if writes && unsafe { prefers_writers(lock) } => {
            let listed = plain_calls(|| Writer::list(lock.addr()));
            let done = wait_for(lock.addr(), wait, attempt);
            plain_calls(|| drop(listed));
            if done != 0 {
                changed(lock.addr(), u32::MAX);
            }
            Some(done)
        }
        libc::ETIMEDOUT => Some(wait_for(lock.addr(), wait, attempt)),
        done => Some(done),
    }
}

/// Defines the calls that take a lock in one way.
macro_rules! takes {
    ($forever:ident, $timed:ident, $clocked:ident, $attempt:path, $look:path, $writes:literal) => {
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $forever(lock: *mut pthread_rwlock_t) -> c_int {
            // SAFETY: the caller's lock.
            match unsafe { take_as_fibre(lock, Until::FOREVER, $attempt, $look, $writes) } {
                Some(done) => done,
                None => call_next!($forever: fn(lock => *mut pthread_rwlock_t) -> c_int),
            }
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $timed(lock: *mut pthread_rwlock_t, time: *const timespec) -> c_int {
            let clock = libc::CLOCK_REALTIME;
            let until = Until { clock, time };
            // SAFETY: the caller's lock and time.
            match unsafe { take_as_fibre(lock, until, $attempt, $look, $writes) } {
                Some(done) => done,
                None => call_next!($timed: fn(
                    lock => *mut pthread_rwlock_t, time => *const timespec
                ) -> c_int),
            }
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $clocked(
            lock: *mut pthread_rwlock_t,
            clock: clockid_t,
            time: *const timespec,
        ) -> c_int {
            let until = Until { clock, time };
            // SAFETY: the caller's lock and time.
            match unsafe { take_as_fibre(lock, until, $attempt, $look, $writes) } {
                Some(done) => done,
                None => call_next!($clocked: fn(
                    lock => *mut pthread_rwlock_t, clock => clockid_t, time => *const timespec
                ) -> c_int),
            }
        }
    };
}

/// An attempt to read, which fails while a fibre waits to write a lock that prefers that.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_rwlock_tryrdlock(lock: *mut pthread_rwlock_t) -> c_int {
    if threads_are_fibres() && is_kept_for_a_writer(lock) {
        return NOT_YET;
    }
    call_next!(pthread_rwlock_tryrdlock: fn(lock => *mut pthread_rwlock_t) -> c_int)
}

/// An attempt to read that says if the caller writes.
fn look_as_reader(lock: *mut pthread_rwlock_t) -> c_int {
    if is_kept_for_a_writer(lock) {
        // The writer itself has to hear of that; no other reader is to get the lock here.
        return match look_as_writer(lock) {
            libc::EDEADLK => libc::EDEADLK,
            0 => {
                // SAFETY: the caller's lock, which has just been taken.
                unsafe { pthread_rwlock_unlock(lock) };
                libc::ETIMEDOUT
            }
            _ => libc::ETIMEDOUT,
        };
    }
    let time = &raw const OVER;
    call_next!(pthread_rwlock_timedrdlock: fn(
        lock => *mut pthread_rwlock_t, time => *const timespec
    ) -> c_int)
}

/// The same to write.
fn look_as_writer(lock: *mut pthread_rwlock_t) -> c_int {
    let time = &raw const OVER;
    call_next!(pthread_rwlock_timedwrlock: fn(
        lock => *mut pthread_rwlock_t, time => *const timespec
    ) -> c_int)
}

takes! {
    pthread_rwlock_rdlock, pthread_rwlock_timedrdlock, pthread_rwlock_clockrdlock,
    pthread_rwlock_tryrdlock, look_as_reader, false
}
takes! {
    pthread_rwlock_wrlock, pthread_rwlock_timedwrlock, pthread_rwlock_clockwrlock,
    libc::pthread_rwlock_trywrlock, look_as_writer, true
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_rwlock_unlock(lock: *mut pthread_rwlock_t) -> c_int {
    let done = call_next!(pthread_rwlock_unlock: fn(lock => *mut pthread_rwlock_t) -> c_int);
    if done == 0 && threads_are_fibres() {
        // Readers may all go on.
        changed(lock.addr(), u32::MAX);
    }
    done
}
