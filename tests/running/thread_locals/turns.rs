//! Which fibre comes next, and as which thread: a processor takes the next one before it lets the
//! last one go.

use super::{builder, for_each_kind};
use crate::support::{Random, watched};
use fibre::sync::Semaphore;
use fibre::{Builder, Priority};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

thread_local! {
    /// The fibre that the thread is.
    static ITSELF: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Whether the thread's values are those of this fibre, in this turn.
#[track_caller]
fn assert_is(number: usize, turn: i32) {
    assert_eq!(ITSELF.get(), number);
    assert_eq!(std::io::Error::last_os_error().raw_os_error(), Some(turn));
}

/// Makes them so.
fn be(number: usize, turn: i32) {
    ITSELF.set(number);
    // SAFETY: the calling thread's own.
    unsafe { *libc::__errno_location() = turn };
}

/// Fibres that yield, wake each other, sleep, begin and end in any order each find what they have
/// left.
#[test]
fn each_is_its_own_thread_whatever_follows() {
    /// How many fibres pass permits on in a ring.
    const RING: usize = 12;
    /// Turns of each.
    const TURNS: i32 = 200;

    let seed = Random::seed();
    for_each_kind(move |cluster| {
        let ring: Arc<Vec<_>> = Arc::new((0..RING).map(|_| Semaphore::new(1)).collect());
        let fibres: Vec<_> = (0..RING)
            .map(|number| {
                let ring = Arc::clone(&ring);
                let mut random = Random::new(seed ^ number as u64);
                cluster.spawn(move || {
                    for turn in 1..TURNS {
                        be(number, turn);
                        match random.below(16) {
                            0 => fibre::sleep(std::time::Duration::from_micros(20)),
                            1 => drop(fibre::spawn(move || be(RING + number, -turn)).join()),
                            2..8 => fibre::yield_now(),
                            _ => {
                                ring[(number + 1) % RING].release();
                                ring[number].acquire();
                            }
                        }
                        assert_is(number, turn);
                    }
                    // Whoever waits for this one goes on to its end.
                    ring[(number + 1) % RING].release_many(TURNS as usize);
                })
            })
            .collect();
        fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
    });
}

/// How many turns a fibre of low priority has while one of high priority yields 200 times.
fn low_turns_beside_a_high_one() -> usize {
    let cluster = builder().processors(1).build().unwrap();
    let parent = cluster.spawn(|| {
        let [turns, over] = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
        let (low_turns, is_over) = (Arc::clone(&turns), Arc::clone(&over));
        let yields = move || {
            while is_over.load(Ordering::SeqCst) == 0 {
                low_turns.fetch_add(1, Ordering::SeqCst);
                fibre::yield_now();
            }
        };
        let low = Builder::new().priority(Priority::Low).spawn(yields);
        let yields = move || {
            let before = turns.load(Ordering::SeqCst);
            (0..200).for_each(|_| fibre::yield_now());
            let low_turns = turns.load(Ordering::SeqCst) - before;
            over.store(1, Ordering::SeqCst);
            low_turns
        };
        let high = Builder::new().priority(Priority::High).spawn(yields);
        let low_turns = high.unwrap().join().unwrap();
        low.unwrap().join().unwrap();
        low_turns
    });
    let low_turns = parent.join().unwrap();
    cluster.stop();
    low_turns
}

/// A fibre that yields goes on before those of a lower priority, which have a turn now and then.
#[test]
fn priorities_hold() {
    watched(|| {
        // What a busy machine does to one of them, it does not do to all.
        let fewest = (0..5).map(|_| low_turns_beside_a_high_one()).min();
        assert!((1..=20).contains(&fewest.unwrap()), "{fewest:?}");
    });
}

/// Fibres of the background have a turn now and then beside fibres that only yield.
#[test]
fn the_background_does_not_starve() {
    for_each_kind(|_| {
        let over = Arc::new(AtomicUsize::new(0));
        for _ in 0..8 {
            let over = Arc::clone(&over);
            let yields = move || {
                while over.load(Ordering::SeqCst) == 0 {
                    fibre::yield_now();
                }
            };
            let busy = Builder::new().priority(Priority::High).spawn(yields);
            drop(busy.unwrap());
        }
        let background = Builder::new().background().spawn(|| {
            (0..3).for_each(|_| fibre::yield_now());
        });
        background.unwrap().join().unwrap();
        over.store(1, Ordering::SeqCst);
    });
}
