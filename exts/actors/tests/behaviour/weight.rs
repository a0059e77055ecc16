//! What an actor weighs, and a million of them.

use crate::support::{each, watchdog};
use fibre_actors::{Actors, Reply};
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Bytes of memory that the process has in use.
fn resident() -> usize {
    let text = fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = text.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}

/// How many actors: a million in release, as debug builds are slow.
const MANY: usize = if cfg!(debug_assertions) {
    100_000
} else {
    1_000_000
};

#[test]
fn an_idle_actor_is_small() {
    let bytes = fibre_actors::internal::cell_size::<u64>();
    println!("the cell of an actor takes {bytes} bytes");
    // As much as the C library's allocator gives to whoever asks for more than 248. The sanitizer
    // has words of its own in each fibre.
    assert!(bytes <= 264 || cfg!(feature = "sanitizer"), "{bytes} bytes");
}

#[test]
fn a_million_actors() {
    watchdog::watched_for(5 * watchdog::LIMIT, "", || {
        let actors = Actors::builder().processors(2).build().unwrap();
        let before = resident();
        let sum = Arc::new(AtomicUsize::new(0));
        let all: Vec<_> = (0..MANY)
            .map(|_| {
                let sum = Arc::clone(&sum);
                actors.spawn(each(move |number: usize| {
                    sum.fetch_add(number, Ordering::Relaxed);
                }))
            })
            .collect();
        let idle = actors.spawn(each(|reply: Reply<()>| reply.send(())));
        idle.ask(|reply| reply).unwrap();
        println!(
            "{} bytes for each of {MANY} new actors",
            (resident() - before) / MANY
        );
        for actor in &all {
            actor.send(1).unwrap();
        }
        while sum.load(Ordering::Relaxed) < MANY {
            fibre::sleep(Duration::from_millis(1));
        }
        println!(
            "{} bytes when each has handled a message",
            (resident() - before) / MANY
        );
        assert_eq!(actors.len(), MANY + 1);
        actors.stop();
        assert!(all.iter().all(|actor| !actor.is_alive()));
    });
}
