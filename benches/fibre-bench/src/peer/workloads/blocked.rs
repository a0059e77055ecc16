//! `blocked`: many fibres that block, what they cost and what they occupy.
//!
//! Each announces itself, blocks on a semaphore that all share, is woken and
//! ends. When all have announced themselves, the process looks at its memory,
//! which takes time that does not count.
//!
//! Of several passes in one process the cheapest counts, as a runtime keeps what it made in
//! the first one; what fibres occupy is seen in that first one, and what it took is told.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::measure::{Sample, Stopwatch};
use crate::peer::blocking::{Semaphore, Stacked};
use crate::peer::memory;
use crate::peer::protocol::{Arguments, Parameters, Refusal};

/// What the workload can be told.
#[derive(Clone, Copy)]
pub(crate) struct Multitude {
    /// Kernel threads for fibres.
    pub(crate) processors: usize,
    /// Fibres that are blocked at once.
    pub(crate) fibres: u64,
    /// How often all that is done.
    pub(crate) passes: u64,
    /// Bytes of stack for each, if the runtime's own choice is not wanted.
    pub(crate) stack: Option<usize>,
}

impl Parameters for Multitude {
    fn read(arguments: &mut Arguments) -> Result<Self, Refusal> {
        Ok(Self {
            processors: arguments.processors,
            fibres: arguments.count("fibres", 20_000)?,
            passes: arguments.count("passes", 1)?,
            stack: arguments.bytes("stack")?,
        })
    }
}

/// Counts those who have announced themselves.
struct Roll<S> {
    /// How many have not.
    missing: AtomicU64,
    /// Released by the last one.
    complete: S,
}

/// A fibre's announcement, made when this is dropped; so a fibre that could not
/// even start makes it too, and fails at the join instead of being waited for.
struct Announcement<S: Semaphore>(Arc<Roll<S>>);

impl<S: Semaphore> Drop for Announcement<S> {
    fn drop(&mut self) {
        if self.0.missing.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.complete.release();
        }
    }
}

/// The life of fibres that block once.
pub(crate) fn blocking<B: Stacked>(asked: Multitude) -> anyhow::Result<Sample> {
    B::enter(asked.processors, move || {
        cheapest(asked.passes, || pass::<B>(&asked))
    })
}

/// Repeats `pass` and keeps the time of the cheapest, with the first one's values and time.
pub(crate) fn cheapest(
    passes: u64,
    mut pass: impl FnMut() -> anyhow::Result<Sample>,
) -> anyhow::Result<Sample> {
    let first = pass()?;
    let first_ns = first.cpu_ns;
    let mut best = first;
    for _ in 1..passes {
        let again = pass()?;
        best.cpu_ns = best.cpu_ns.min(again.cpu_ns);
        best.wall_ns = best.wall_ns.min(again.wall_ns);
    }
    Ok(best.with("first_ns", first_ns))
}

/// One pass.
fn pass<B: Stacked>(asked: &Multitude) -> anyhow::Result<Sample> {
    let roll = Arc::new(Roll {
        missing: AtomicU64::new(asked.fibres),
        complete: B::Semaphore::empty(),
    });
    let gate = Arc::new(B::Semaphore::empty());
    let mut joins = Vec::with_capacity(asked.fibres as usize);
    let before = memory::resident()?;

    let watch = Stopwatch::start()?;
    for _ in 0..asked.fibres {
        let (announcement, gate) = (Announcement(Arc::clone(&roll)), Arc::clone(&gate));
        joins.push(B::spawn_sized(asked.stack, move || {
            drop(announcement);
            gate.acquire();
        })?);
    }
    roll.complete.acquire();
    let created = watch.stop(asked.fibres)?;

    let occupied = Occupied::since(before)?;

    let watch = Stopwatch::start()?;
    (0..asked.fibres).for_each(|_| gate.release());
    joins.into_iter().for_each(B::join_sized);
    let ended = watch.stop(asked.fibres)?;
    Ok(occupied.evaluate(&created, &ended))
}

/// What blocked fibres occupy.
pub(crate) struct Occupied {
    /// Resident bytes more than before.
    resident: u64,
    /// Mappings of the whole process.
    mappings: u64,
}

impl Occupied {
    /// Looks at the memory of this process; `before` bytes were resident before there were fibres.
    pub(crate) fn since(before: u64) -> anyhow::Result<Self> {
        Ok(Self {
            resident: memory::resident()?.saturating_sub(before),
            mappings: memory::mappings()?,
        })
    }

    /// The sample of both halves of the fibres' life.
    pub(crate) fn evaluate(&self, created: &Sample, ended: &Sample) -> Sample {
        let fibres = created.operations;
        let sample = Sample {
            operations: fibres,
            cpu_ns: created.cpu_ns + ended.cpu_ns,
            wall_ns: created.wall_ns + ended.wall_ns,
            values: Default::default(),
        };
        sample
            .with("rss_bytes", self.resident as f64 / fibres as f64)
            .with("mappings", self.mappings as f64)
    }
}
