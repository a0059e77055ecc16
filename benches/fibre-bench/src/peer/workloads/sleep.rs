//! `sleep`: how much later than asked one fibre of an idle process wakes.

use std::time::{Duration, Instant};

use anyhow::Context as _;

use crate::measure::{Sample, Stopwatch};
use crate::peer::blocking::Blocking;
use crate::peer::protocol::{Arguments, Parameters, Refusal};

/// What the workload can be told.
#[derive(Clone, Copy)]
pub(crate) struct Sleeps {
    /// Kernel threads for fibres.
    pub(crate) processors: usize,
    /// How long it sleeps each time.
    pub(crate) asked: Duration,
    /// How often it sleeps.
    pub(crate) count: u64,
}

impl Parameters for Sleeps {
    fn read(arguments: &mut Arguments) -> Result<Self, Refusal> {
        Ok(Self {
            processors: arguments.processors,
            asked: Duration::from_micros(arguments.count("micros", 1000)?),
            count: arguments.count("count", 200)?,
        })
    }
}

/// Sleeps of one fibre.
pub(crate) fn blocking<B: Blocking>(sleeps: Sleeps) -> anyhow::Result<Sample> {
    B::enter(sleeps.processors, move || {
        let mut late = Vec::with_capacity(sleeps.count as usize);
        let watch = Stopwatch::start()?;
        for _ in 0..sleeps.count {
            let before = Instant::now();
            B::sleep(sleeps.asked);
            late.push(before.elapsed().saturating_sub(sleeps.asked));
        }
        evaluate(watch.stop(sleeps.count)?, late)
    })
}

/// The sample with how late the sleeper woke.
pub(crate) fn evaluate(sample: Sample, mut late: Vec<Duration>) -> anyhow::Result<Sample> {
    late.sort_unstable();
    let median = late.get(late.len() / 2).context("it never slept")?;
    let max = late.last().context("it never slept")?;
    let micros = |late: &Duration| late.as_secs_f64() * 1e6;
    Ok(sample
        .with("over_us_median", micros(median))
        .with("over_us_max", micros(max)))
}
