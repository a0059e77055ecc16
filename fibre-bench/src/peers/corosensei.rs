//! corosensei alone: the context switch under fibre, without any scheduler.
//! What lies between it and fibre is the price of scheduling.

use ::corosensei::stack::DefaultStack;
use ::corosensei::{Coroutine, Yielder};

use crate::measure::{Sample, Stopwatch};

/// Stack of a coroutine.
const STACK: usize = 64 << 10;

/// `coroutines` coroutines, resumed round-robin, which suspend `operations`
/// times in all.
pub(crate) fn leave_and_return(coroutines: u64, operations: u64) -> anyhow::Result<Sample> {
    let each = operations / coroutines;
    let body = |yielder: &Yielder<(), ()>, ()| {
        loop {
            yielder.suspend(());
        }
    };
    let mut running = (0..coroutines)
        .map(|_| {
            Ok(Coroutine::<(), (), ()>::with_stack(
                DefaultStack::new(STACK)?,
                body,
            ))
        })
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

/// Creates and runs `operations` empty coroutines, `batch` at a time, on
/// stacks from a pool.
pub(crate) fn create_and_run(batch: u64, operations: u64) -> anyhow::Result<Sample> {
    let rounds = operations.div_ceil(batch);
    let mut pool = (0..batch)
        .map(|_| Ok(DefaultStack::new(STACK)?))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let mut created: Vec<Coroutine<(), (), ()>> = Vec::with_capacity(batch as usize);
    let watch = Stopwatch::start()?;
    for _ in 0..rounds {
        created.extend(
            pool.drain(..)
                .map(|stack| Coroutine::with_stack(stack, |_, ()| ())),
        );
        for mut coroutine in created.drain(..) {
            coroutine.resume(());
            pool.push(coroutine.into_stack());
        }
    }
    Ok(watch.stop(rounds * batch)?)
}
