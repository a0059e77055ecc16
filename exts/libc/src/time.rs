//! Sleeping, and letting others run. A fibre's sleep notices no cancellation: std, for one, takes
//! every failure of a sleep for an interruption.

use crate::entry::{
    cancellation_point, cancellation_point_after_wait, finish, may_switch, may_switch_as_thread,
    plain, plain_calls, stand_in_to_end,
};
use crate::{errno, start};
use fibre_core::{Limit, shield, sleep_within, yield_now};
use fibre_io::posix::memory::{Memory, Trusted};
use fibre_io::posix::syscall::syscall;
use fibre_io::posix::time::limit;
use libc::{clockid_t, timespec};
use rustix::io::Errno;
use std::ffi::{c_int, c_uint};

/// Sleeps in a fibre. A thread that the program has cancelled ends; other fibres sleep on.
fn sleep_until(limit: Limit) {
    let number = errno::get();
    if plain_calls(|| sleep_within(limit)).is_err() {
        cancellation_point_after_wait();
        // In a shield it does not fail.
        let _ = plain_calls(|| shield(|| sleep_within(limit)));
    }
    errno::set(number);
}

/// Sleeps by a clock, for a time or until it shows it.
///
/// # Safety
///
/// The time is the caller's, or null.
unsafe fn sleep_by(clock: clockid_t, absolute: bool, time: *const timespec) -> Result<(), Errno> {
    // SAFETY: the caller's.
    let time = unsafe { Trusted::fetch(time) }?;
    let limit = limit(clock, absolute, &time)?;
    if !is_over(clock, absolute, &time) {
        sleep_until(limit);
    }
    Ok(())
}

/// Whether a time is invalid, or the clock shows that moment already.
fn is_over(clock: clockid_t, absolute: bool, time: &timespec) -> bool {
    let mut now = timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: a place of this frame. A clock that does not exist has been refused.
    let is_known = !absolute || unsafe { libc::clock_gettime(clock, &raw mut now) } == 0;
    is_known && (time.tv_sec, time.tv_nsec) <= (now.tv_sec, now.tv_nsec)
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn nanosleep(time: *const timespec, remaining: *mut timespec) -> c_int {
    start::note_sleep();
    if !may_switch() {
        return plain(syscall!(SYS_nanosleep, time, remaining));
    }
    cancellation_point();
    // SAFETY: the caller's.
    finish(unsafe { sleep_by(libc::CLOCK_REALTIME, false, time) }.map(|()| 0))
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn clock_nanosleep(
    clock: clockid_t,
    flags: c_int,
    time: *const timespec,
    remaining: *mut timespec,
) -> c_int {
    let done = if may_switch() {
        cancellation_point();
        let is_absolute = flags & libc::TIMER_ABSTIME != 0;
        // SAFETY: the caller's.
        unsafe { sleep_by(clock, is_absolute, time) }
    } else {
        let call = syscall!(SYS_clock_nanosleep, clock, flags, time, remaining);
        call.here().map(drop)
    };
    done.map_or_else(Errno::raw_os_error, |()| 0)
}

#[unsafe(no_mangle)]
extern "C-unwind" fn usleep(microseconds: c_uint) -> c_int {
    let time = timespec {
        tv_sec: i64::from(microseconds / 1_000_000),
        tv_nsec: i64::from(microseconds % 1_000_000 * 1000),
    };
    // SAFETY: a time, and nowhere to write.
    unsafe { nanosleep(&raw const time, std::ptr::null_mut()) }
}

#[unsafe(no_mangle)]
extern "C-unwind" fn sleep(seconds: c_uint) -> c_uint {
    let mut time = timespec {
        tv_sec: seconds.into(),
        tv_nsec: 0,
    };
    // SAFETY: a time, which is also where the rest is written.
    match unsafe { nanosleep(&raw const time, &raw mut time) } {
        0 => 0,
        // At most what was asked for.
        _ => time.tv_sec as c_uint,
    }
}

/// Lets other fibres run, where fibres are threads to the language: what spins until another thread
/// has done something must let that run. Elsewhere other kernel threads run.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn sched_yield() -> c_int {
    if !may_switch_as_thread() {
        return plain(syscall!(SYS_sched_yield));
    }
    stand_in_to_end(|| {
        yield_now();
        Ok(0)
    })
}
