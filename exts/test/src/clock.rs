//! The clock of the fibres of a run.
//!
//! This crate has a function of the C library's name, which the linker takes in place of that: so
//! std's `Instant` and `SystemTime`, and with them fibre's deadlines and the program's own
//! measurements, read the time of the run wherever the calling thread is the processor of one. On
//! all other threads they read the machine's.
//!
//! The monotonic clock begins with what the machine's showed. The clock of the day begins at
//! [`DAY`], so that runs do not differ. Clocks of CPU time are the machine's.

use crate::stage::Stage;
use std::time::{Duration, Instant};

/// What the clock of the day shows when a run begins: the first second of the year 2000, UTC.
const DAY: Duration = Duration::from_secs(946_684_800);

/// The C library's function.
///
/// # Safety
///
/// As that.
#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(
    clock: libc::clockid_t,
    time: *mut libc::timespec,
) -> libc::c_int {
    match of_run(clock) {
        Some(now) if !time.is_null() => {
            // SAFETY: the caller's promise.
            unsafe { time.write(timespec(now)) };
            0
        }
        // SAFETY: the caller's promise; the kernel writes nothing else.
        _ => unsafe { libc::syscall(libc::SYS_clock_gettime, clock, time) as libc::c_int },
    }
}

/// What the clock shows the fibres of a run. `None`: the caller is not one of them, or the clock is
/// the machine's.
fn of_run(clock: libc::clockid_t) -> Option<Duration> {
    let is_monotonic = match clock {
        libc::CLOCK_MONOTONIC
        | libc::CLOCK_MONOTONIC_RAW
        | libc::CLOCK_MONOTONIC_COARSE
        | libc::CLOCK_BOOTTIME => true,
        libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE => false,
        _ => return None,
    };
    Stage::of_caller(|stage| match is_monotonic {
        true => stage.monotonic(real),
        false => DAY + stage.elapsed(),
    })
}

/// What the machine's monotonic clock shows.
fn real() -> Duration {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the kernel writes the time there.
    unsafe { libc::syscall(libc::SYS_clock_gettime, libc::CLOCK_MONOTONIC, &raw mut now) };
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// A time as C has it.
fn timespec(time: Duration) -> libc::timespec {
    libc::timespec {
        tv_sec: time.as_secs() as libc::time_t,
        tv_nsec: time.subsec_nanos() as libc::c_long,
    }
}

/// Whether std reads this clock here: then the time stands still. Called by a fibre of a run.
pub(crate) fn is_read_by_std() -> bool {
    let (before, begun) = (Instant::now(), real());
    while real() == begun {
        std::hint::spin_loop();
    }
    Instant::now() == before
}
