//! `mutex`: locking and unlocking what nobody else wants.
//!
//! Beside the one who locks sleeps a thread: a process of a single thread is nothing
//! that our fibres could be compared with, because the C library leaves the lock
//! prefix out there.

use std::hint::black_box;
use std::sync::mpsc::{self, Sender};
use std::thread;

use crate::measure::{Sample, Stopwatch};
use crate::peer::blocking::{Blocking, Lock};
use crate::peer::calibrate::calibrate;
use crate::peer::protocol::{Arguments, Parameters, Refusal};

/// What the workload can be told.
#[derive(Clone, Copy)]
pub(crate) struct Alone {
    /// Kernel threads for fibres.
    pub(crate) processors: usize,
    /// CPU time of the last round.
    pub(crate) seconds: f64,
    /// Operations of the first round, which is the last one too if it needs take no time.
    pub(crate) operations: u64,
}

impl Parameters for Alone {
    fn read(arguments: &mut Arguments) -> Result<Self, Refusal> {
        Ok(Self {
            processors: arguments.processors,
            seconds: arguments.seconds(0.1),
            operations: arguments.count("operations", 10_000)?,
        })
    }
}

/// A thread that sleeps until this is dropped.
pub(crate) struct Sleeper {
    /// What wakes it by being gone.
    _held: Sender<()>,
}

impl Sleeper {
    /// Starts one.
    pub(crate) fn start() -> anyhow::Result<Self> {
        let (held, gone) = mpsc::channel::<()>();
        // It ends when there is nobody left who could send anything.
        let sleep = move || gone.recv().ok();
        thread::Builder::new().spawn(sleep)?;
        Ok(Self { _held: held })
    }
}

/// Locks and unlocks of one fibre.
pub(crate) fn blocking<B: Blocking, L: Lock>(asked: Alone) -> anyhow::Result<Sample> {
    B::enter(asked.processors, move || {
        let _sleeper = Sleeper::start()?;
        let lock = L::free();
        let lock = black_box(&lock);
        calibrate(asked.seconds, asked.operations, |operations| {
            let watch = Stopwatch::start()?;
            (0..operations).for_each(|_| lock.locked(|| ()));
            Ok(watch.stop(operations)?)
        })
    })
}
