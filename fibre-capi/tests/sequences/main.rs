//! Sequences of calls, right and wrong ones, against a model of what they return.
//!
//! A few fibres and plain threads, the *actors*, make random calls on a few objects each: also on
//! objects that are destroyed, locked by others or never there, with invalid times, and with
//! handles of fibres that are gone. One call is made at a time, and none is made that would wait
//! for ever, or that POSIX leaves undefined and ours does not notice. So a model knows what each of
//! them returns. Objects lie on the heap and are freed when they have been destroyed, so that
//! AddressSanitizer (`cargo xtask sanitize`) finds whoever touches them later, or what lies beside
//! them.
//!
//! `FIBRE_SEED` repeats a run, and `FIBRE_STRESS_SECONDS` makes it longer.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod actors;
mod counts;
mod fibres;
mod keys;
mod locks;
mod mutexes;
mod object;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../../../tests/support/random.rs"]
mod random;

use actors::Crew;
use random::Random;
use std::time::{Duration, Instant};

/// How many calls one sequence has.
const CALLS: usize = 400;

/// Objects of one kind, and what is known of them.
trait Subject {
    /// Makes a random call by this actor, and checks what it returns.
    fn call(&mut self, crew: &Crew, actor: usize, random: &mut Random);
}

/// One sequence.
fn run(crew: &Crew, random: &mut Random) {
    let mut subjects: Vec<Box<dyn Subject>> = vec![
        Box::new(mutexes::Mutexes::new(random)),
        Box::new(locks::RwLock::new()),
        Box::new(locks::Spin::new()),
        Box::new(counts::Semaphore::new()),
        Box::new(counts::Barrier::new()),
        Box::new(counts::Once::new()),
        Box::new(fibres::Fibres::new()),
        Box::new(keys::Keys::new()),
    ];
    for _ in 0..CALLS {
        // The mutexes have most to be found out about.
        let subject = random.below(subjects.len() + 2).saturating_sub(2);
        subjects[subject].call(crew, random.below(actors::ACTORS), random);
    }
}

#[test]
fn calls_return_what_the_model_says() {
    let mut random = Random::new(Random::seed());
    let seconds = std::env::var("FIBRE_STRESS_SECONDS").map_or(1, |text| text.parse().unwrap());
    let crew = Crew::new();
    let end = Instant::now() + Duration::from_secs(seconds);
    while Instant::now() < end {
        run(&crew, &mut random);
    }
    crew.dismiss();
}
