//! `migrate`: fibres that go back and forth between two clusters (thesis, section 4.2).
//!
//! Half of the processors belong to each cluster. On each processor's behalf a creator
//! spawns its fibres into that processor's cluster; a fibre migrates to the other cluster,
//! and back, so many times, and ends. One operation is a migration; the creation of the
//! fibres, which is part of the stress, is in its time.

use std::sync::Arc;

use ::fibre::{Cluster, migrate_to};

use crate::measure::{Sample, Stopwatch};
use crate::peer::protocol::{Arguments, Parameters, Refusal};

/// What the workload can be told.
#[derive(Clone, Copy)]
pub(crate) struct Migration {
    /// Kernel threads for fibres, in both clusters together.
    processors: usize,
    /// Fibres created for each processor.
    fibres: u64,
    /// How often each of them migrates.
    hops: u64,
}

impl Parameters for Migration {
    fn read(arguments: &mut Arguments) -> Result<Self, Refusal> {
        Ok(Self {
            processors: arguments.processors,
            fibres: arguments.count("fibres", 20_000)?,
            hops: arguments.count("hops", 10)?,
        })
    }
}

/// Fibres that migrate and do nothing else.
pub(crate) fn round_trips(asked: Migration) -> anyhow::Result<Sample> {
    let each = (asked.processors / 2).max(1);
    let clusters = Arc::new([cluster(each)?, cluster(each)?]);
    let operations = 2 * each as u64 * asked.fibres * asked.hops;

    let watch = Stopwatch::start()?;
    let creators: Vec<_> = (0..2 * each)
        .map(|creator| {
            let here = creator % 2;
            let shared = Arc::clone(&clusters);
            clusters[here].spawn(move || create(&shared, here, &asked))
        })
        .collect();
    for creator in creators {
        match creator.join() {
            Ok(result) => result?,
            Err(cause) => std::panic::resume_unwind(cause),
        }
    }
    let sample = watch.stop(operations)?;
    Arc::into_inner(clusters)
        .into_iter()
        .flatten()
        .for_each(Cluster::stop);
    Ok(sample)
}

/// One of the two clusters.
fn cluster(processors: usize) -> std::io::Result<Cluster> {
    let builder = Cluster::builder().processors(processors);
    // SAFETY: the fibres of this workload keep nothing across a switch that belongs to a
    // kernel thread.
    unsafe { builder.move_started_fibres() }.build()
}

/// Spawns one processor's fibres in the cluster that it runs in, and waits for their end.
fn create(clusters: &Arc<[Cluster; 2]>, here: usize, asked: &Migration) -> std::io::Result<()> {
    let hops = asked.hops;
    let fibres: Vec<_> = (0..asked.fibres)
        .map(|_| {
            let clusters = Arc::clone(clusters);
            ::fibre::spawn(move || {
                for hop in 1..=hops {
                    migrate_to(&clusters[(here + hop as usize) % 2])?;
                }
                Ok(())
            })
        })
        .collect();
    let end = |fibre: ::fibre::JoinHandle<std::io::Result<()>>| match fibre.join() {
        Ok(result) => result,
        Err(cause) => std::panic::resume_unwind(cause),
    };
    fibres.into_iter().try_for_each(end)
}
