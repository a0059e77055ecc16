//! Condition variables. The C library's has no attempt, and it unlocks the mutex unseen. So all
//! waiters are ours, but for variables that processes share: fibres wait in the table, and threads
//! at a word; both only if there was no signal since the caller, who had the mutex, looked.

use super::mark::{Mark, has};
use super::mutex::{pthread_mutex_lock, pthread_mutex_unlock};
use super::queue::{Counted, NOT_YET, Slot, changed, slot, wait_cancellably};
use super::until::Until;
use crate::entry::{cancellation_point, may_switch_as_thread, threads_are_fibres};
use crate::next::call_next;
use fibre_io::posix::attributes::by_attributes;
use fibre_io::posix::syscall::syscall;
use fibre_sync::raw::Wait;
use libc::{clockid_t, pthread_cond_t, pthread_condattr_t, pthread_mutex_t, timespec};
use rustix::io::Errno;
use std::ffi::c_int;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

/// Makes a condition variable by attributes that `set` changes.
unsafe fn make(
    cond: *mut pthread_cond_t,
    set: impl FnOnce(*mut pthread_condattr_t) -> c_int,
) -> c_int {
    // SAFETY: the caller's place; these belong together.
    unsafe {
        by_attributes(
            libc::pthread_condattr_init,
            set,
            |attributes| libc::pthread_cond_init(cond, attributes),
            libc::pthread_condattr_destroy,
        )
    }
}

/// Whether processes share it.
unsafe fn is_shared(cond: *const pthread_cond_t) -> bool {
    static MARK: OnceLock<Mark> = OnceLock::new();
    // SAFETY: a place of ours; the caller's variable.
    unsafe {
        has(&MARK, cond, |place, has_it| {
            make(place, |attributes| {
                libc::pthread_condattr_setpshared(attributes, has_it.into())
            })
        })
    }
}

/// The clock of its time-outs.
unsafe fn clock_of(cond: *const pthread_cond_t) -> clockid_t {
    static MARK: OnceLock<Mark> = OnceLock::new();
    // SAFETY: a place of ours; the caller's variable.
    let is_monotonic = unsafe {
        has(&MARK, cond, |place, has_it| {
            let clock = match has_it {
                true => libc::CLOCK_MONOTONIC,
                false => libc::CLOCK_REALTIME,
            };
            make(place, |attributes| {
                libc::pthread_condattr_setclock(attributes, clock)
            })
        })
    };
    match is_monotonic {
        true => libc::CLOCK_MONOTONIC,
        false => libc::CLOCK_REALTIME,
    }
}

/// Waits for a signal; `None`: by the C library's call.
unsafe fn wait_as_fibre(
    cond: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    until: impl FnOnce() -> Until,
) -> Option<c_int> {
    // SAFETY: the caller's variable.
    if !threads_are_fibres() || unsafe { is_shared(cond) } {
        return None;
    }
    let until = until();
    // SAFETY: the caller's time.
    let Ok(wait) = (unsafe { until.wait() }) else {
        return Some(libc::EINVAL);
    };
    cancellation_point();
    let slot = slot(cond.addr());
    let seen = slot.signals.load(Ordering::SeqCst);
    // SAFETY: the caller's mutex.
    let error = unsafe { pthread_mutex_unlock(mutex) };
    if error != 0 {
        return Some(error);
    }
    let waited = match may_switch_as_thread() {
        true => wait_in_table(cond.addr(), slot, seen, wait),
        false => wait_at_word(slot, seen, until),
    };
    // SAFETY: the caller's mutex.
    match unsafe { pthread_mutex_lock(mutex) } {
        0 if waited == libc::ECANCELED => {
            cancellation_point();
            // It may wake for no reason.
            Some(0)
        }
        0 => Some(waited),
        error => Some(error),
    }
}

/// Waits in a fibre.
fn wait_in_table(cond: usize, slot: &Slot, seen: u32, wait: Wait) -> c_int {
    wait_cancellably(cond, wait, || {
        match slot.signals.load(Ordering::SeqCst) == seen {
            true => NOT_YET,
            false => 0,
        }
    })
}

/// Waits in the kernel.
fn wait_at_word(slot: &Slot, seen: u32, until: Until) -> c_int {
    let clock = match until.clock {
        libc::CLOCK_REALTIME => libc::FUTEX_CLOCK_REALTIME,
        _ => 0,
    };
    let operation = libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG | clock;
    let word = slot.signals.as_ptr();
    let nothing = std::ptr::null::<u32>();
    // SAFETY: null, or the caller's.
    if unsafe { until.time.as_ref() }.is_some_and(|time| time.tv_sec < 0) {
        return libc::ETIMEDOUT;
    }
    let _counted = Counted::among(&slot.threads);
    loop {
        let call = syscall!(
            SYS_futex,
            word,
            operation,
            seen,
            until.time,
            nothing,
            u32::MAX
        );
        match call.here() {
            Err(Errno::INTR) if slot.signals.load(Ordering::SeqCst) == seen => {}
            Err(Errno::TIMEDOUT) => return libc::ETIMEDOUT,
            _ => return 0,
        }
    }
}

/// Wakes up to `most` fibres, and threads: too many of these, as POSIX allows.
fn signal(cond: usize, most: u32) {
    let slot = slot(cond);
    slot.signals.fetch_add(1, Ordering::SeqCst);
    changed(cond, most);
    if slot.threads.load(Ordering::SeqCst) > 0 {
        let operation = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
        // It does not fail.
        let _ = syscall!(SYS_futex, slot.signals.as_ptr(), operation, i32::MAX).here();
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_cond_wait(
    cond: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
) -> c_int {
    // SAFETY: the caller's.
    match unsafe { wait_as_fibre(cond, mutex, || Until::FOREVER) } {
        Some(done) => done,
        None => call_next!(pthread_cond_wait: fn(
            cond => *mut pthread_cond_t, mutex => *mut pthread_mutex_t
        ) -> c_int),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_cond_timedwait(
    cond: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    time: *const timespec,
) -> c_int {
    // SAFETY: the caller's.
    let until = || unsafe {
        let clock = clock_of(cond);
        Until { clock, time }
    };
    // SAFETY: the caller's.
    match unsafe { wait_as_fibre(cond, mutex, until) } {
        Some(done) => done,
        None => call_next!(pthread_cond_timedwait: fn(
            cond => *mut pthread_cond_t, mutex => *mut pthread_mutex_t, time => *const timespec
        ) -> c_int),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_cond_clockwait(
    cond: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    clock: clockid_t,
    time: *const timespec,
) -> c_int {
    // SAFETY: the caller's.
    match unsafe { wait_as_fibre(cond, mutex, || Until { clock, time }) } {
        Some(done) => done,
        None => call_next!(pthread_cond_clockwait: fn(
            cond => *mut pthread_cond_t,
            mutex => *mut pthread_mutex_t,
            clock => clockid_t,
            time => *const timespec
        ) -> c_int),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_cond_signal(cond: *mut pthread_cond_t) -> c_int {
    if threads_are_fibres() {
        signal(cond.addr(), 1);
    }
    // Whoever waited before threads were fibres, or in another process.
    call_next!(pthread_cond_signal: fn(cond => *mut pthread_cond_t) -> c_int)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_cond_broadcast(cond: *mut pthread_cond_t) -> c_int {
    if threads_are_fibres() {
        signal(cond.addr(), u32::MAX);
    }
    call_next!(pthread_cond_broadcast: fn(cond => *mut pthread_cond_t) -> c_int)
}
