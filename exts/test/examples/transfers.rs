//! Finds that two transfers lock each other out, and what the mended ones do for an hour.
//!
//! `cargo run -p fibre-test --example transfers` prints the failed run's words, and then how long
//! an hour of transfers has taken.

use fibre::sync::Mutex;
use fibre_test::{Schedule, Sim};
use std::panic::catch_unwind;
use std::sync::Arc;
use std::time::{Duration, Instant};

type Account = Arc<Mutex<i64>>;

/// Moves money, with both accounts locked; the one in `first` is locked first.
fn transfer(first: &Account, second: &Account, amount: i64) {
    let mut first = first.lock();
    let mut second = second.lock();
    *first -= amount;
    *second += amount;
}

/// Two transfers in opposite directions; mended, both lock the first account first.
fn transfers(is_mended: bool) {
    let [one, other]: [Account; 2] = [100, 100].map(|money| Arc::new(Mutex::new(money)));
    fibre::scope(|scope| {
        scope.spawn(|| transfer(&one, &other, 10));
        scope.spawn(|| match is_mended {
            true => transfer(&one, &other, -20),
            false => transfer(&other, &one, 20),
        });
    });
    assert_eq!(*one.lock() + *other.lock(), 200);
}

fn main() {
    let runs = Sim::builder().seeds(1000).schedule(Schedule::random());
    let broken = runs.clone();
    let found = catch_unwind(|| broken.run(|_| transfers(false)));
    assert!(found.is_err(), "no schedule locks them out");

    let report = runs.run(|_| transfers(true));
    println!("mended: {} runs without a fault", report.runs());

    let begun = Instant::now();
    let hour = Sim::builder().schedule(Schedule::pct(3)).run(|_| {
        for _ in 0..3600 {
            transfers(true);
            fibre::sleep(Duration::from_secs(1));
        }
    });
    println!("{:?} of transfers in {:?}", hour.elapsed(), begun.elapsed());
}
