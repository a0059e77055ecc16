//! The attribute `#[fibre_test::test]`, as users write it.

use fibre_test::{Schedule, Sim};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

#[fibre_test::test]
fn a_test_with_a_run(sim: &Sim) {
    fibre::sleep(Duration::from_secs(5));
    assert_eq!(sim.now(), Duration::from_secs(5));
}

#[fibre_test::test()]
fn a_test_with_nothing() {
    assert!(fibre::id().is_some());
}

#[fibre_test::test(seed = 3, allow_leaks)]
fn a_test_that_leaves_a_fibre() -> Result<(), std::num::ParseIntError> {
    let number: u64 = "7".parse()?;
    drop(fibre::spawn(move || {
        fibre::sleep(Duration::from_secs(number))
    }));
    Ok(())
}

#[fibre_test::test]
#[should_panic(expected = "the test has returned an error: \"no\"")]
fn a_test_that_returns_an_error() -> Result<(), String> {
    Err("no".to_owned())
}

#[fibre_test::test(
    seeds = 10 + 1,
    schedule = Schedule::pct(u32::max(2, 3)),
    most_switches = 1_000,
    patience = Duration::from_secs(30),
)]
#[should_panic(expected = "after eleven runs")]
pub(crate) fn a_test_with_all_settings(_: &Sim) {
    static RUNS: AtomicU64 = AtomicU64::new(0);
    let runs = RUNS.fetch_add(1, Ordering::Relaxed) + 1;
    fibre::yield_now();
    assert!(runs < 11, "after eleven runs");
}
