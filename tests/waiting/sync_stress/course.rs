//! Tables of subjects, taken through all numbers of processors.

use super::round::play;
use super::subject::Subject;
use crate::support::{Random, any_cluster, processor_counts_or};
use fibre::{Cluster, ClusterBuilder};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

/// How many tests share the time that `FIBRE_STRESS_SECONDS` grants.
const TESTS: u32 = 10;

/// Turns of each role in one round, at most. What was lost shows when nobody is left who makes it
/// good by chance, so short rounds find more than long ones.
const TURNS: usize = 64;

/// A row of a table: its name, and what plays a round.
pub struct Row {
    name: &'static str,
    play: fn(&[Cluster; 2], &mut Random, usize),
}

/// The row of a kind of object.
pub const fn row<S: Subject>(name: &'static str) -> Row {
    Row {
        name,
        play: play::<S>,
    }
}

/// Plays all rows with all numbers of processors, once, and again while there is time.
pub fn run(rows: &[Row]) {
    let seconds = std::env::var("FIBRE_STRESS_SECONDS").map_or(2, |text| text.parse().unwrap());
    let end = Instant::now() + Duration::from_secs(seconds) / TESTS;
    let seed = Random::seed();
    let mut random = Random::new(seed);
    let mut passes = 0;
    while passes == 0 || Instant::now() < end {
        for processors in processor_counts_or("1,2,4,16") {
            pass(rows, processors, seed, &mut random);
        }
        passes += 1;
    }
    println!("{passes} passes");
}

/// Plays all rows in two clusters.
fn pass(rows: &[Row], processors: usize, seed: u64, random: &mut Random) {
    let moves = random.below(MOVES.len());
    let clusters = [any_cluster(), moving(moves)].map(|builder| {
        let builder = builder.processors(processors);
        builder.build().unwrap()
    });
    for row in rows {
        let most = TURNS >> random.below(4);
        let turns = most / 2 + random.below(most / 2);
        let round = || (row.play)(&clusters, random, turns);
        if let Err(payload) = catch_unwind(AssertUnwindSafe(round)) {
            eprintln!(
                "`{}` has failed, with twice {processors} processors, in the second cluster {}; \
                 repeat with FIBRE_SEED={seed}",
                row.name, MOVES[moves]
            );
            // Those who still wait will do so for ever: nobody can stop their clusters.
            std::mem::forget(clusters);
            resume_unwind(payload);
        }
    }
    for cluster in clusters {
        let witness = cluster.clone();
        cluster.stop();
        assert_eq!(witness.live(), 0, "fibres were left");
    }
}

/// What started fibres of a second cluster do.
const MOVES: [&str; 3] = ["moving at every turn", "moving when of use", "staying"];

/// A builder of clusters that do the one or the other.
fn moving(moves: usize) -> ClusterBuilder {
    let builder = Cluster::builder();
    // SAFETY: what these fibres keep across a wait does not belong to a kernel thread.
    unsafe {
        match moves {
            0 => builder.force_migration(),
            1 => builder.move_started_fibres(),
            _ => builder,
        }
    }
}
