//! Fibres that spin for each other, wait, yield and end at random; each is accounted for.

use super::{Count, builder, kinds};
use crate::support::{Random, watched_for};
use std::sync::Arc;
use std::time::Duration;

/// Fibres of one group, which all spin for each other.
const GROUP: usize = 4;

/// Groups at once.
const GROUPS: usize = 4;

/// What a fibre of a group does before it comes to a meeting.
fn dawdle(random: &mut Random) {
    match random.next() % 5 {
        0 => {}
        1 => fibre::yield_now(),
        2 => fibre::sleep(Duration::from_micros(random.next() % 3000)),
        3 => std::thread::sleep(Duration::from_micros(random.next() % 3000)),
        _ => (0..random.next() % 2000).for_each(|_| std::hint::spin_loop()),
    }
}

/// Runs meetings in a cluster.
fn run(processors: usize, moves: bool, random: &mut Random) {
    // Enough for all that can spin at once.
    let cluster = builder(processors, moves).max_spare_processors(GROUPS * GROUP);
    let cluster = cluster.build().unwrap();
    let met = Arc::new(Count::default());
    let mut ends = Vec::new();
    // Those that have started cannot leave a processor where they stay: one meeting for each then.
    let rounds = if moves { 3 } else { 1 };
    for _ in 0..GROUPS {
        let come = Count::default();
        for _ in 0..GROUP {
            let (come, met, mut random) = (come.clone(), Arc::clone(&met), random.split());
            ends.push(cluster.spawn(move || {
                for round in 1..=rounds {
                    if moves {
                        dawdle(&mut random);
                    }
                    come.up();
                    come.spin_for(round * GROUP);
                    met.up();
                }
                random.next()
            }));
        }
    }
    let sum = ends
        .into_iter()
        .map(|end| end.join().unwrap() as u128)
        .sum::<u128>();
    assert!(sum > 0);
    assert_eq!(met.get(), GROUPS * GROUP * rounds);
    let witness = cluster.clone();
    cluster.stop();
    assert_eq!(witness.live(), 0);
}

#[test]
fn all_meet_at_random() {
    let mut random = Random::new(Random::seed());
    for (processors, moves) in kinds() {
        watched_for(Duration::from_secs(180), " at random", || {
            run(processors, moves, &mut random);
        });
    }
}
