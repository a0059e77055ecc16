//! Clusters that are built, grow, are paused, looked at and ended at random, while their fibres
//! keep the processors and need spare ones.

use super::{Count, builder};
use crate::support::{Random, watched_for};
use fibre::{Cluster, JoinHandle};
use fibre_core::internal::freeze;
use std::time::{Duration, Instant};

/// The most fibres that spin for each other.
const MOST: usize = 6;

/// Clusters at once.
const CLUSTERS: usize = 3;

/// Clusters of each thread, one after the other.
const LIVES: usize = 12;

/// The longest that a fibre spins whose group is not to meet.
const LONG: Duration = Duration::from_millis(400);

/// A time of up to so many milliseconds.
fn time(random: &mut Random, most: u64) -> Duration {
    Duration::from_micros(random.next() % (1000 * most))
}

/// Spins until the others have come, or for long if they may not, as the cluster may be abandoned.
fn spin(come: &Count, fibres: usize, for_ever: bool) {
    let begun = Instant::now();
    while come.get() < fibres && (for_ever || begun.elapsed() < LONG) {
        std::hint::spin_loop();
    }
}

/// Spawns a group of fibres that spin for each other.
fn spawn_group(
    cluster: &Cluster,
    random: &mut Random,
    for_ever: bool,
) -> impl Iterator<Item = JoinHandle<()>> {
    let fibres = 1 + random.below(MOST);
    let come = Count::default();
    let fibre = |_| {
        let (come, mut random, cluster) = (come.clone(), random.split(), cluster.clone());
        cluster.clone().spawn(move || {
            if random.one_in(4) {
                let child = cluster.spawn(|| fibre::sleep(Duration::from_micros(300)));
                drop(child);
            }
            drop(cluster);
            come.up();
            match random.below(8) {
                // Where started fibres stay, one that waits may come back to a processor that is
                // kept for good.
                0 if !for_ever => fibre::sleep(time(&mut random, 30)),
                1 => std::thread::sleep(time(&mut random, 30)),
                _ => {}
            }
            spin(&come, fibres, for_ever);
        })
    };
    (0..fibres).map(fibre).collect::<Vec<_>>().into_iter()
}

/// One cluster, from its beginning to its end.
fn live(name: &str, random: &mut Random) {
    let (processors, moves) = (1 + random.below(3), random.one_in(2));
    let room = processors + random.below(3);
    // A group of which none is left behind has as many as it needs, at any time.
    let for_ever = random.one_in(2);
    let spare = if for_ever { 3 * MOST } else { random.below(4) };
    let builder = builder(processors, moves).name(name).max_processors(room);
    let cluster = builder.max_spare_processors(spare).build().unwrap();
    let mut fibres = Vec::new();
    let mut groups = 0;
    for _ in 0..random.below(8) {
        match random.below(7) {
            0 => drop(cluster.add_processors(random.below(3))),
            1 => drop(cluster.pause_until(Instant::now() + time(random, 60))),
            2 => drop(fibre::waits()),
            3 => drop(freeze(time(random, 30))),
            4 => std::thread::sleep(time(random, 120)),
            _ if groups < 3 => {
                fibres.extend(spawn_group(&cluster, random, for_ever));
                groups += 1;
            }
            _ => {}
        }
    }
    let witness = cluster.clone();
    match random.below(if for_ever { 3 } else { 4 }) {
        0 => cluster.stop(),
        1 => {
            for fibre in fibres.drain(..) {
                fibre.join().unwrap();
            }
            cluster.stop();
        }
        2 => {
            drop((cluster, witness));
            for fibre in fibres {
                fibre.join().unwrap();
            }
            return;
        }
        _ => {
            let _ = cluster.stop_within(time(random, 100), time(random, 100));
            return;
        }
    }
    assert_eq!(witness.live(), 0);
}

#[test]
fn clusters_live_at_random() {
    let mut random = Random::new(Random::seed());
    watched_for(Duration::from_secs(180), " at random", || {
        std::thread::scope(|scope| {
            for number in 0..CLUSTERS {
                let mut random = random.split();
                scope.spawn(move || {
                    for _ in 0..LIVES {
                        live(&format!("life{number}"), &mut random);
                    }
                });
            }
        });
    });
}
