//! `Mutex`, alone and competed for.
//!
//! | member | who locks what |
//! |---|---|
//! | `fibre` | fibres our mutex |
//! | `fibre by threads` | threads our mutex: it serves both |
//! | `std::sync::Mutex` | threads the futex mutex of the standard library |
//! | `parking_lot::Mutex` | threads a mutex that is handed over every half millisecond |
//!
//! All protect one number and add one to it. Threads are pinned to as many cores as the
//! fibres have processors.
//!
//! Where two processors compete, each participant works for about 100 ns with the lock
//! and 100 ns without it, by the same dependent arithmetic. On one processor fibres compete
//! only if they are switched while they hold the lock, so each yields once with it, and
//! the threads call `sched_yield`. What a mutex gains by letting the same one lock again
//! and again the others lose, hence the table of shares after each group.

use crate::support::{Contest, Fairness, Group, Workers, add, member, time};
use criterion::Criterion;
use std::hint::black_box;
use std::io;
use std::sync::PoisonError;

/// Steps of arithmetic with the lock, and as many without it.
const WORK: u32 = 100;

/// A mutex around a number.
trait Lock: Default + Send + Sync + 'static {
    /// Calls `body` with the lock.
    fn locked(&self, body: impl FnOnce(&mut u64));
}

impl Lock for fibre::sync::Mutex<u64> {
    fn locked(&self, body: impl FnOnce(&mut u64)) {
        body(&mut self.lock());
    }
}

impl Lock for std::sync::Mutex<u64> {
    fn locked(&self, body: impl FnOnce(&mut u64)) {
        body(&mut self.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Lock for parking_lot::Mutex<u64> {
    fn locked(&self, body: impl FnOnce(&mut u64)) {
        body(&mut self.lock());
    }
}

/// Arithmetic with steps that each wait for the one before. The factor is hidden from the compiler,
/// which would make one multiplication of them all.
fn work(steps: u32) {
    let factor = black_box(6_364_136_223_846_793_005_u64);
    let step = |x: u64, _| x.wrapping_mul(factor).wrapping_add(1);
    black_box((0..steps).fold(factor, step));
}

/// Nobody competes.
fn uncontended(criterion: &mut Criterion) -> io::Result<()> {
    let mut group = criterion.benchmark_group("Mutex uncontended");
    let fibres = Workers::fibres(1)?;
    let threads = Workers::Threads(1);
    add_uncontended::<fibre::sync::Mutex<u64>>(&mut group, "fibre", &fibres);
    add_uncontended::<fibre::sync::Mutex<u64>>(&mut group, "fibre by threads", &threads);
    add_uncontended::<std::sync::Mutex<u64>>(&mut group, "std::sync::Mutex", &threads);
    add_uncontended::<parking_lot::Mutex<u64>>(&mut group, "parking_lot::Mutex", &threads);
    group.finish();
    fibres.stop();
    Ok(())
}

/// One worker locks and unlocks.
fn add_uncontended<L: Lock>(group: &mut Group<'_>, name: &str, workers: &Workers) {
    add(group, member(name, ""), workers, |operations| {
        let lock = L::default();
        time(operations, || {
            black_box(&lock).locked(|number| *number += 1);
        })
    });
}

/// Some compete for one lock.
fn contended(criterion: &mut Criterion, processors: usize) -> io::Result<()> {
    let fibres = Workers::fibres(processors)?;
    let threads = Workers::Threads(processors);
    let mut group = criterion.benchmark_group("Mutex contended");
    let mut fairness = Fairness::default();
    for participants in [2, 8] {
        let mut contests = Contests {
            group: &mut group,
            fairness: &mut fairness,
            participants,
        };
        contests.add::<fibre::sync::Mutex<u64>>("fibre", &fibres);
        contests.add::<fibre::sync::Mutex<u64>>("fibre by threads", &threads);
        contests.add::<std::sync::Mutex<u64>>("std::sync::Mutex", &threads);
        contests.add::<parking_lot::Mutex<u64>>("parking_lot::Mutex", &threads);
    }
    group.finish();
    fairness.print();
    fibres.stop();
    Ok(())
}

/// Where contests of a number of participants are entered.
struct Contests<'a, 'b> {
    /// Their times.
    group: &'a mut Group<'b>,
    /// Their shares.
    fairness: &'a mut Fairness,
    /// How many take part in each.
    participants: usize,
}

impl Contests<'_, '_> {
    /// Adds a contest for a lock of this type.
    fn add<L: Lock>(&mut self, name: &str, workers: &Workers) {
        let processors = workers.processors();
        let parameter = format!("{} on {processors}", self.participants);
        let lock = L::default();
        if processors == 1 {
            let contest = Contest::new(workers, self.participants, move || {
                lock.locked(|number| {
                    *number += 1;
                    fibre::yield_now();
                });
            });
            self.fairness.add(self.group, (name, &parameter), &contest);
        } else {
            let contest = Contest::new(workers, self.participants, move || {
                lock.locked(|number| {
                    *number += 1;
                    work(WORK);
                });
                work(WORK);
            });
            self.fairness.add(self.group, (name, &parameter), &contest);
        }
    }
}

/// Measures all of them.
pub(crate) fn measure_all(criterion: &mut Criterion) -> io::Result<()> {
    uncontended(criterion)?;
    contended(criterion, 1)?;
    contended(criterion, 2)?;
    Ok(())
}
