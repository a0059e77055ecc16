//! corosensei alone: the context switch under fibre, without any scheduler.
//! What lies between it and fibre is the price of scheduling.
//!
//! The peer resumes the coroutines itself, on one thread, whatever `processors`
//! says.

use std::iter;

use ::corosensei::stack::DefaultStack;
use ::corosensei::{Coroutine, Yielder};

use super::calibrate::calibrate;
use super::protocol::Workload;
use super::workloads::{spawning::Spawns, unit, yielding::Yields};
use crate::measure::{Sample, Stopwatch};

/// What this peer is measured with.
pub fn workloads() -> Vec<Workload> {
    vec![
        Workload::new("yield", yields),
        Workload::new("spawn", spawns),
        Workload::new("work", unit::plain),
    ]
}

/// A coroutine that is given nothing and gives nothing.
type Plain = Coroutine<(), (), ()>;

/// Stack of a coroutine.
const STACK: usize = 64 << 10;

/// Leaving a coroutine and returning to it.
fn yields(asked: Yields) -> anyhow::Result<Sample> {
    calibrate(asked.seconds, asked.fewest(), |operations| {
        leave_and_return(asked.fibres, asked.each(operations))
    })
}

/// Coroutines, resumed round-robin, that each suspend `each` times.
fn leave_and_return(coroutines: u64, each: u64) -> anyhow::Result<Sample> {
    let body = |yielder: &Yielder<(), ()>, ()| {
        loop {
            yielder.suspend(());
        }
    };
    let mut running = stacks(coroutines)
        .map(|stack| Ok(Plain::with_stack(stack?, body)))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let mut round = || {
        for coroutine in &mut running {
            coroutine.resume(());
        }
    };
    round(); // all have started
    let watch = Stopwatch::start()?;
    (0..each).for_each(|_| round());
    let sample = watch.stop(each * coroutines)?;
    for coroutine in &mut running {
        // SAFETY: the frames left on the stack own nothing that must be
        // dropped.
        unsafe { coroutine.force_reset() };
    }
    Ok(sample)
}

/// Creating an empty coroutine on a stack from a pool, and running it to its
/// end.
fn spawns(asked: Spawns) -> anyhow::Result<Sample> {
    let mut pool = stacks(asked.batch).collect::<anyhow::Result<Vec<_>>>()?;
    let mut created: Vec<Plain> = Vec::with_capacity(pool.len());
    calibrate(asked.seconds, asked.fewest(), |operations| {
        let rounds = asked.rounds(operations);
        let watch = Stopwatch::start()?;
        for _ in 0..rounds {
            created.extend(
                pool.drain(..)
                    .map(|stack| Plain::with_stack(stack, |_, ()| ())),
            );
            for mut coroutine in created.drain(..) {
                coroutine.resume(());
                pool.push(coroutine.into_stack());
            }
        }
        Ok(watch.stop(rounds * asked.batch)?)
    })
}

/// So many stacks.
fn stacks(count: u64) -> impl Iterator<Item = anyhow::Result<DefaultStack>> {
    iter::repeat_with(|| Ok(DefaultStack::new(STACK)?)).take(count as usize)
}
