//! A million random ends: fibres end in every way, at random moments, in every kind of wait, and
//! the books are exact.
//!
//! | file     | what it has                                                        |
//! |----------|--------------------------------------------------------------------|
//! | `books`  | values that know their fate, counts, and what must add up          |
//! | `waits`  | everything that a fibre waits for, shared by all                   |
//! | `rounds` | a group of a random kind, its fibres, and how it ends              |
//!
//! In the end of each cluster: every value that was sent has been received, and every other one was
//! given back or dropped, once; permits, locks, tokens and bytes are back; every fibre that began
//! has ended, and no fibre outlived its group; every closure, result, error and payload was dropped
//! once; no end was seen twice. A group that hangs is the watchdog's.
//!
//! By default some ten thousand fibres end, in clusters of 1, 2 and 4 processors. With
//! `FIBRE_STRESS_SECONDS=100` a million end for each of 1, 2, 4, 8 and 16, and fewer with fewer
//! seconds. `FIBRE_SEED` repeats the choices of a run.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod books;
mod rounds;
mod waits;

use crate::support::{Random, any_cluster, processor_counts, processor_counts_or, run_in};
use books::KINDS;
use rounds::{ENDERS, Order, Stage};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;
use waits::World;

/// How many fibres make rounds at the same time.
const DRIVERS: usize = 16;

/// How many ends there are for each number of processors, at most.
const MOST: u64 = 1_000_000;

/// How many ends one cluster has, at least: so each ends long before the watchdog looks at it.
const CHAPTER: u64 = 10_000;

/// How many ends there are for each number of processors, and these numbers.
fn size() -> (u64, Vec<usize>) {
    match std::env::var("FIBRE_STRESS_SECONDS") {
        Ok(seconds) => {
            let ends = CHAPTER * seconds.parse::<u64>().unwrap();
            (ends.clamp(CHAPTER, MOST), processor_counts_or("1,2,4,8,16"))
        }
        Err(_) => (CHAPTER, processor_counts()),
    }
}

/// Cancels as it is told, as a plain thread, until nobody gives orders any more.
fn cancel_by_order(orders: &Receiver<Order>) {
    while let Ok(order) = orders.recv() {
        let begun = Instant::now();
        while begun.elapsed() < order.wait {
            std::hint::spin_loop();
        }
        match order.grace {
            Some(grace) => order.token.cancel_within(grace).unwrap(),
            None => order.token.cancel(),
        }
    }
}

/// One cluster: its fibres make rounds until so many have ended. Returns how many, and adds to the
/// tables of waits and of ways to end.
fn chapter(processors: usize, seed: u64, ends: u64, tables: &Tables) -> u64 {
    let cluster = any_cluster().processors(processors).build().unwrap();
    let (orders, to_cancel) = channel();
    let canceller = std::thread::spawn(move || cancel_by_order(&to_cancel));
    let world = World::new();
    let stage = Arc::new(Stage {
        world: Arc::clone(&world),
        orders,
        ends: Default::default(),
    });
    let body = {
        let stage = Arc::clone(&stage);
        move |_: &fibre::Cluster| {
            let mut random = Random::new(seed);
            let drivers: Vec<_> = (0..DRIVERS)
                .map(|_| {
                    let (stage, mut random) = (Arc::clone(&stage), random.split());
                    fibre::spawn(move || {
                        while stage.world.books.ended.get() < ends {
                            match random.below(8) {
                                0 => rounds::cancelled_rounds(&stage, &mut random),
                                1 => rounds::empty_round(),
                                _ => rounds::round(&stage, &mut random, 1),
                            }
                        }
                    })
                })
                .collect();
            drivers
                .into_iter()
                .for_each(|driver| driver.join().unwrap());
        }
    };
    run_in(cluster, Arc::new(body));
    tables.add(&stage);
    drop(stage);
    canceller.join().unwrap();
    world.close();
    world.books.ended.get()
}

/// How often each wait and each way to end was taken.
#[derive(Default)]
struct Tables {
    done: [AtomicU64; KINDS],
    ended: [AtomicU64; KINDS],
    enders: [AtomicUsize; ENDERS + 1],
}

impl Tables {
    fn add(&self, stage: &Stage) {
        for (kind, waits) in stage.world.books.waits.iter().enumerate() {
            self.done[kind].fetch_add(waits.done.get(), Ordering::Relaxed);
            self.ended[kind].fetch_add(waits.ended.get(), Ordering::Relaxed);
        }
        for (sum, ends) in self.enders.iter().zip(&stage.ends) {
            sum.fetch_add(ends.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    /// Every kind of wait has ended early somewhere, and every way to end has been taken.
    fn check(&self) {
        println!("waits done:  {:?}", self.done);
        println!("waits ended: {:?}", self.ended);
        println!("ways to end: {:?}", self.enders);
        for (kind, ended) in self.ended.iter().enumerate() {
            assert!(
                ended.load(Ordering::Relaxed) > 0,
                "no wait {kind} has been ended"
            );
        }
        for (way, count) in self.enders.iter().enumerate() {
            assert!(
                count.load(Ordering::Relaxed) > 0,
                "nobody has ended by way {way}"
            );
        }
    }
}

/// See the head of this file.
#[test]
fn random_ends_are_exact() {
    let (ends, numbers) = size();
    let seed = Random::seed();
    let tables = Tables::default();
    for processors in numbers {
        let (begun, mut done) = (Instant::now(), 0);
        let mut random = Random::new(seed ^ processors as u64);
        while done < ends {
            done += chapter(processors, random.next(), CHAPTER.min(ends - done), &tables);
        }
        println!(
            "{processors} processors: {done} ends in {:.1?}",
            begun.elapsed()
        );
    }
    tables.check();
}
