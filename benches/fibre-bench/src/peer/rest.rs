//! Actors that have nothing to do: what the process uses all the same.

use std::thread;
use std::time::Duration;

use fibre_actors::{Actor, Actors, Context};

use super::protocol::{Arguments, Parameters, Refusal};
use crate::measure::{Sample, Stopwatch};

/// How long the actors may take until they have nothing to do.
const SETTLE: Duration = Duration::from_millis(200);
/// The nanoseconds of an operation, which is a second.
const SECOND: f64 = 1e9;

/// What the workload can be told.
pub(super) struct Told {
    /// Kernel threads for actors.
    pub(super) processors: usize,
    /// How long they are looked at.
    pub(super) seconds: f64,
    /// How many actors there are.
    pub(super) actors: u64,
}

impl Parameters for Told {
    fn read(arguments: &mut Arguments) -> Result<Self, Refusal> {
        Ok(Self {
            processors: arguments.processors,
            seconds: arguments.seconds(1.0),
            actors: arguments.count("actors", 1000)?,
        })
    }
}

/// Looks at the process for so long. An operation is a second. Blocks the thread.
pub(super) fn measure(seconds: f64) -> anyhow::Result<Sample> {
    thread::sleep(SETTLE);
    let watch = Stopwatch::start()?;
    thread::sleep(Duration::from_secs_f64(seconds));
    let sample = watch.stop(1)?;
    let scale = SECOND / sample.wall_ns;
    Ok(Sample {
        cpu_ns: sample.cpu_ns * scale,
        wall_ns: SECOND,
        ..sample
    })
}

/// Spawns ours, and looks at what the process does.
pub(super) fn ours(actors: &Actors, told: &Told) -> anyhow::Result<Sample> {
    let idle: Vec<_> = (0..told.actors).map(|_| actors.spawn(Idle)).collect();
    let sample = measure(told.seconds);
    drop(idle);
    sample
}

/// An actor that is sent nothing.
struct Idle;

impl Actor for Idle {
    type Message = ();

    fn handle(&mut self, (): (), _: &mut Context<'_, Self>) {}
}
