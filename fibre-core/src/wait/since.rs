//! When fibres began to wait, if that is noted.
//!
//! Reading the clock at each wait would add half of a wait's cost. So it is done only if
//! `FIBRE_WAIT_TIMES` asks for it, or `FIBRE_DEADLOCK`, which needs the times, and in builds with
//! debug assertions. Times are milliseconds of the process' life, in 32 bits: a wait of more than
//! three weeks looks shorter than it is.

use crate::config::debug_flag::DebugFlag;
use crate::config::observation::ReportSetting;
use crate::wait::limit_scope;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Whether times are noted.
static SWITCH: DebugFlag = DebugFlag::new("FIBRE_WAIT_TIMES").on_in_debug_builds();

/// Whether deadlocks are looked for.
static LOOKED_FOR: AtomicBool = AtomicBool::new(false);

/// Asks the environment whether times are to be noted.
///
/// # Panics
///
/// If the variable is neither `0` nor `1`.
pub(crate) fn ask() {
    if SWITCH.is_on() {
        limit_scope::note_times();
    }
    if ReportSetting::of_deadlocks().0.is_some() {
        SWITCH.set(true);
        limit_scope::note_times();
        LOOKED_FOR.store(true, Ordering::Relaxed);
    }
}

/// Whether deadlocks are looked for, so that it is worth something to know who has a lock.
#[must_use]
pub fn are_deadlocks_looked_for() -> bool {
    LOOKED_FOR.load(Ordering::Relaxed)
}

/// Whether times are noted.
pub(crate) fn are_noted() -> bool {
    SWITCH.is_known_to_be_on()
}

/// The moment at which time begins.
fn epoch() -> Instant {
    static EPOCH: OnceLock<Instant> = OnceLock::new();
    *EPOCH.get_or_init(Instant::now)
}

/// The time. Never zero.
pub(crate) fn now() -> u32 {
    (epoch().elapsed().as_millis() as u32)
        .wrapping_add(1)
        .max(1)
}

/// The moment of such a time; `None` for zero.
pub(crate) fn moment(time: u32) -> Option<Instant> {
    let age = now().wrapping_sub(time);
    // A fibre under test may be ahead, as its clock jumps.
    let age = if age > u32::MAX / 2 { 0 } else { age };
    let known = time != 0;
    known
        .then(|| Instant::now().checked_sub(Duration::from_millis(age.into())))
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_has_an_age_and_one_that_begins_later_has_none() {
        assert_eq!(moment(0), None);
        let minute = Duration::from_secs(60);
        let before = Instant::now();
        let [past, future] = [now().wrapping_sub(60_000), now().wrapping_add(60_000)].map(moment);
        assert!(past.is_some_and(|past| past + minute / 2 < before));
        assert!(future.is_some_and(|future| future >= before));
    }
}
