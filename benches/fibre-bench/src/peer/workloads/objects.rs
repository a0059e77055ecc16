//! `barrier`, `rwlock`, `once`, `key`: the other objects that pthreads have, which the C peers are
//! measured with too (`peers/c/`).

use std::hint::black_box;
use std::sync::Arc;

use ::fibre::fibre_local;
use ::fibre::sync::{Barrier, Once, RwLock};
use anyhow::ensure;
use std::cell::Cell;

use super::lock::{Alone, Sleeper};
use super::yielding::Yields;
use crate::measure::{Sample, Stopwatch};
use crate::peer::blocking::Blocking;
use crate::peer::calibrate::calibrate;

fibre_local! {
    /// What `key` sets and reads.
    static VALUE: Cell<u64> = Cell::new(0);
}

/// Measures `operation`, done again and again by one fibre.
fn alone<B: Blocking>(
    asked: Alone,
    operation: impl Fn(u64) + Send + 'static,
) -> anyhow::Result<Sample> {
    B::enter(asked.processors, move || {
        let _sleeper = Sleeper::start()?;
        calibrate(asked.seconds, asked.operations, |operations| {
            let watch = Stopwatch::start()?;
            (0..operations).for_each(&operation);
            Ok(watch.stop(operations)?)
        })
    })
}

/// Shares of a lock that nobody else wants.
pub(crate) fn shared_lock<B: Blocking>(asked: Alone) -> anyhow::Result<Sample> {
    let lock = RwLock::new(());
    alone::<B>(asked, move |_| drop(black_box(&lock).read()))
}

/// Asking for what has long been initialised.
pub(crate) fn once<B: Blocking>(asked: Alone) -> anyhow::Result<Sample> {
    let once = Once::new();
    alone::<B>(asked, move |_| black_box(&once).call_once(|| ()))
}

/// Setting a fibre-local value and reading it.
pub(crate) fn key<B: Blocking>(asked: Alone) -> anyhow::Result<Sample> {
    alone::<B>(asked, |number| {
        VALUE.with(|value| value.set(number));
        black_box(VALUE.with(Cell::get));
    })
}

/// Waits of fibres that meet again and again.
pub(crate) fn barrier<B: Blocking>(asked: Yields) -> anyhow::Result<Sample> {
    let fibres = usize::try_from(asked.fibres)?;
    ensure!(fibres > 0, "nobody to meet");
    B::enter(asked.processors, move || {
        calibrate(asked.seconds, asked.fewest(), |operations| {
            let rounds = asked.each(operations);
            let barrier = Arc::new(Barrier::new(fibres));
            let meet = |_| {
                let barrier = Arc::clone(&barrier);
                B::spawn(move || {
                    (0..=rounds).for_each(|_| {
                        barrier.wait();
                    })
                })
            };
            let joins: Vec<_> = (1..asked.fibres).map(meet).collect();
            barrier.wait(); // all have started
            let watch = Stopwatch::start()?;
            (0..rounds).for_each(|_| {
                barrier.wait();
            });
            let sample = watch.stop(rounds * asked.fibres)?;
            joins.into_iter().for_each(B::join);
            Ok(sample)
        })
    })
}
