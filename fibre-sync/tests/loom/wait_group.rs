//! Models of the wait group: who waits goes on when all is done, and may free the group.
//!
//! Run by `cargo xtask loom`. A wait with a deadline may give up at any moment here.

use fibre_core::model::Watched;
use fibre_core::model::{Shared, check, finds_planted};
use fibre_sync::WaitGroup;
use fibre_sync::faults;
use loom::thread;
use std::time::Instant;

/// Two jobs. Their results are read when all is done; then the group is freed.
fn two_jobs() {
    let group = Shared::new(WaitGroup::new());
    let results = [(); 2].map(|()| Shared::new(Watched::new(0)));
    group.add(2);
    let jobs = results.map(|result| {
        thread::spawn(move || {
            result.set(1);
            group.done();
        })
    });
    group.wait();
    group.free();
    assert_eq!(results.map(|result| Watched::get(&result)), [1, 1]);
    jobs.into_iter().for_each(|job| job.join().unwrap());
}

/// A caller that has waited sees what the jobs did, and may free the group.
#[test]
fn who_waits_may_free() {
    check(two_jobs);
}

/// Planted: who was resumed frees the lock that is then given back.
#[test]
fn planted_late_unlock_is_found() {
    finds_planted(faults::wait_group::UNLOCKS_AFTER_RESUME, two_jobs);
}

/// Planted: the last job has ended, and who comes then sleeps for ever.
#[test]
fn planted_wait_for_nothing_is_found() {
    finds_planted(faults::wait_group::WAITS_THOUGH_ALL_ARE_DONE, two_jobs);
}

/// One waits with a deadline, another one without.
#[test]
fn all_go_on() {
    check(|| {
        let group = Shared::new(WaitGroup::new());
        group.add(1);
        let waits = thread::spawn(move || group.wait());
        let looks = thread::spawn(move || {
            let ended = group.wait_within(Instant::now()).is_ok();
            ended && !group.try_wait()
        });
        group.done();
        waits.join().unwrap();
        assert!(!looks.join().unwrap(), "it saw the end before it came");
        group.free();
    });
}
