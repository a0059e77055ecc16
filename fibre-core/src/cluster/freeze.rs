//! Freezes all clusters while the process ends.
//!
//! Exit handlers and destructors of static objects run while other threads still run. A fibre that
//! uses a destroyed object would crash a program that has ended well. So the caller that ends the
//! process freezes the fibres first. If the caller is a fibre, it goes on.

use super::handle::Cluster;
use super::pause::Paused;
use super::register;
use crate::processor::Processor;
use crate::scheduler::control::ProcessorPhase;
use crate::sync::pause;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The sleep between two looks.
const BETWEEN: Duration = Duration::from_micros(50);

/// While this exists, no fibre runs but the caller of [`freeze`].
#[derive(Debug)]
#[must_use = "all goes on when this is dropped"]
pub struct Frozen {
    /// The pauses of the clusters.
    _paused: Vec<Paused>,
}

/// Lets all clusters that the process has started stand still. The caller goes on; if it is a
/// fibre, it must neither block nor yield meanwhile. Blocks the thread until the clusters stand
/// still, and no longer than `timeout`: fibres that do not switch go on until they do.
///
/// ```
/// use std::time::Duration;
///
/// let first = fibre::spawn(|| 6);
/// assert_eq!(first.join().unwrap(), 6);
/// let frozen = fibre_core::internal::freeze(Duration::MAX);
/// let late = fibre::spawn(|| 7);
/// assert!(!late.is_finished());
/// drop(frozen);
/// assert_eq!(late.join().unwrap(), 7);
/// ```
pub fn freeze(timeout: Duration) -> Frozen {
    // A deadline beyond the clock's range never comes.
    let deadline = Instant::now().checked_add(timeout);
    let clusters = register::all();
    let wish = |running: &Arc<_>| Paused::begin(Cluster(Arc::clone(running)));
    let paused = clusters.iter().map(wish).collect();
    for running in &clusters {
        let callers = running.is_callers();
        let own = Processor::here(Processor::index).filter(|_| callers);
        let moves = || {
            let moving = running.domain.control.not_at(ProcessorPhase::Still);
            moving.into_iter().any(|processor| Some(processor) != own)
        };
        while moves() && deadline.is_none_or(|deadline| Instant::now() < deadline) {
            pause(BETWEEN);
        }
    }
    Frozen { _paused: paused }
}

/// Waits until each processor of all clusters has moved, which then has left behind what it may
/// have had in hand when it stood still. Blocks the thread. `false`: some have stood still all the
/// time, for so long.
///
/// ```
/// use fibre_core::internal::{freeze, have_moved};
/// use std::time::Duration;
///
/// assert_eq!(fibre::spawn(|| 6).join().unwrap(), 6);
/// let frozen = freeze(Duration::MAX);
/// assert!(!have_moved(Duration::ZERO));
/// drop(frozen);
/// assert!(have_moved(Duration::MAX));
/// ```
#[must_use]
pub fn have_moved(timeout: Duration) -> bool {
    let deadline = Instant::now().checked_add(timeout);
    register::all().iter().all(|running| {
        let control = &running.domain.control;
        let mut still = control.at(ProcessorPhase::Still);
        loop {
            let now = control.at(ProcessorPhase::Still);
            still.retain(|processor| now.contains(processor));
            if still.is_empty() {
                return true;
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return false;
            }
            pause(BETWEEN);
        }
    })
}

/// How many fibres of all clusters have been spawned and have not ended. A fibre that has just
/// ended may be counted for another moment.
#[must_use]
pub fn live_fibres() -> u64 {
    let clusters = register::all();
    clusters.iter().map(|running| running.domain.live()).sum()
}
