//! Semaphores.

use super::mark::{Mark, has};
use super::queue::{NOT_YET, changed, wait_cancellably};
use super::until::Until;
use crate::entry::{cancellation_point, failed, may_switch_as_thread, threads_are_fibres};
use crate::errno;
use crate::next::call_next;
use libc::{clockid_t, sem_t, timespec};
use rustix::io::Errno;
use std::ffi::c_int;
use std::sync::OnceLock;

/// Whether processes share it, as those with a name.
unsafe fn is_shared(semaphore: *const sem_t) -> bool {
    static MARK: OnceLock<Mark> = OnceLock::new();
    // SAFETY: a place of ours; the caller's semaphore.
    unsafe {
        has(&MARK, semaphore, |place, has_it| {
            libc::sem_init(place, has_it.into(), 0)
        })
    }
}

/// Takes a permit, if there is one.
fn attempt(semaphore: *mut sem_t) -> c_int {
    // SAFETY: the caller's semaphore.
    match unsafe { libc::sem_trywait(semaphore) } {
        0 => 0,
        _ => match errno::get() {
            libc::EAGAIN => NOT_YET,
            error => error,
        },
    }
}

/// Takes a permit for a fibre; `None`: the caller is to do that by the C library's call.
unsafe fn take_as_fibre(semaphore: *mut sem_t, until: Until) -> Option<c_int> {
    if !threads_are_fibres() {
        return None;
    }
    cancellation_point();
    let number = errno::get();
    let done = match attempt(semaphore) {
        // SAFETY: the caller's semaphore.
        NOT_YET if !may_switch_as_thread() || unsafe { is_shared(semaphore) } => return None,
        // SAFETY: the caller's time.
        NOT_YET => match unsafe { until.wait() } {
            Ok(wait) => wait_cancellably(semaphore.addr(), wait, || attempt(semaphore)),
            Err(error) => error.number(),
        },
        done => done,
    };
    if done == 0 {
        errno::set(number);
        return Some(0);
    }
    if done == libc::ECANCELED {
        cancellation_point();
    }
    Some(failed(Errno::from_raw_os_error(done)))
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sem_wait(semaphore: *mut sem_t) -> c_int {
    // SAFETY: the caller's semaphore.
    match unsafe { take_as_fibre(semaphore, Until::FOREVER) } {
        Some(done) => done,
        None => call_next!(sem_wait: fn(semaphore => *mut sem_t) -> c_int),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sem_timedwait(semaphore: *mut sem_t, time: *const timespec) -> c_int {
    let clock = libc::CLOCK_REALTIME;
    // SAFETY: the caller's semaphore and time.
    match unsafe { take_as_fibre(semaphore, Until { clock, time }) } {
        Some(done) => done,
        None => call_next!(sem_timedwait: fn(
            semaphore => *mut sem_t, time => *const timespec
        ) -> c_int),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sem_clockwait(
    semaphore: *mut sem_t,
    clock: clockid_t,
    time: *const timespec,
) -> c_int {
    // SAFETY: the caller's semaphore and time.
    match unsafe { take_as_fibre(semaphore, Until { clock, time }) } {
        Some(done) => done,
        None => call_next!(sem_clockwait: fn(
            semaphore => *mut sem_t, clock => clockid_t, time => *const timespec
        ) -> c_int),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sem_post(semaphore: *mut sem_t) -> c_int {
    let done = call_next!(sem_post: fn(semaphore => *mut sem_t) -> c_int);
    if done == 0 && threads_are_fibres() {
        changed(semaphore.addr(), 1);
    }
    done
}
