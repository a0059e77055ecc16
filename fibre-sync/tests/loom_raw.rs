//! Models of the raw forms, as far as they are more than what they are made of: who destroys a
//! condition variable, or a barrier, waits for those who are about to leave it.
//!
//! Run by `cargo xtask loom`. A wait with a deadline may give up at any moment here.
#![cfg(loom)]
#![allow(clippy::unwrap_used, reason = "a model fails by panicking")]

use fibre_core::model::{Shared, check, finds_planted};
use fibre_sync::raw::{Barrier, Condvar, Error, Kind, Mutex, Wait};
use loom::thread;
use std::time::Instant;

/// A mutex and its condition variable.
fn pair(kind: Kind) -> (Shared<Mutex>, Shared<Condvar>) {
    (Shared::new(Mutex::new(kind)), Shared::new(Condvar::new()))
}

/// One waits for a moment, the other one broadcasts and then destroys and frees: POSIX allows that
/// as soon as all have been woken, while some of them have not left yet.
fn broadcast_and_destroy() {
    let (mutex, changed) = pair(Kind::ErrorCheck);
    mutex.lock(Wait::FOREVER).unwrap();
    let waker = thread::spawn(move || {
        // Only when the other one waits is the mutex free.
        mutex.lock(Wait::FOREVER).unwrap();
        changed.broadcast().unwrap();
        // SAFETY: locked above.
        unsafe { mutex.unlock() }.unwrap();
        changed.destroy().unwrap();
        changed.free();
    });
    // SAFETY: locked above.
    let waited = unsafe { changed.wait(&mutex, Wait::until(Instant::now())) };
    assert!(matches!(waited, Ok(()) | Err(Error::TimedOut)));
    // SAFETY: locked again.
    unsafe { mutex.unlock() }.unwrap();
    waker.join().unwrap();
    mutex.destroy().unwrap();
    mutex.free();
}

/// Nobody who is about to leave touches what has been freed.
#[test]
fn a_destruction_waits_for_those_inside() {
    check(broadcast_and_destroy);
}

/// Planted: one whose deadline came with the broadcast leaves a list that is gone.
#[test]
fn planted_hasty_destruction_is_found() {
    finds_planted(
        "raw condvar: a destruction waits for nobody inside",
        broadcast_and_destroy,
    );
}

/// Two come to a barrier for a moment. If they meet, the one that came last destroys and frees it at
/// once, while the deadline of the other one may just have come.
fn meet_and_destroy() {
    let barrier = Shared::new(Barrier::new(2));
    let end = move || {
        barrier.destroy().unwrap();
        barrier.free();
    };
    let come = move || {
        let came = barrier.wait(Wait::until(Instant::now()));
        assert!(matches!(came, Ok(_) | Err(Error::TimedOut)), "{came:?}");
        if came == Ok(true) {
            end();
        }
        came.is_ok()
    };
    let other = thread::spawn(come);
    let met = come();
    assert_eq!(other.join().unwrap(), met);
    if !met {
        end();
    }
}

/// Whoever has met the others may destroy the barrier.
#[test]
fn a_barrier_is_destroyed_when_all_have_left() {
    check(meet_and_destroy);
}

/// Planted: one whose deadline came together with the last party looks at a barrier that is gone.
#[test]
fn planted_hasty_destruction_of_a_barrier_is_found() {
    finds_planted(
        "raw barrier: a destruction waits for nobody inside",
        meet_and_destroy,
    );
}

/// Two that know their owner: a stranger is refused, whenever it asks.
#[test]
fn only_the_owner_unlocks() {
    check(|| {
        let (mutex, _) = pair(Kind::ErrorCheck);
        let stranger = thread::spawn(move || {
            // SAFETY: refused.
            assert_eq!(unsafe { mutex.unlock() }, Err(Error::NotOwner));
        });
        mutex.lock(Wait::FOREVER).unwrap();
        assert_eq!(mutex.lock(Wait::FOREVER), Err(Error::Deadlock));
        // SAFETY: locked above.
        unsafe { mutex.unlock() }.unwrap();
        stranger.join().unwrap();
        mutex.destroy().unwrap();
    });
}

/// The last one out destroys a mutex that knows its owner, and frees it.
#[test]
fn who_unlocks_last_may_free() {
    check(|| {
        let (mutex, _) = pair(Kind::Recursive);
        let users = Shared::new(fibre_core::model::Watched::default());
        let leave = move || {
            mutex.lock(Wait::FOREVER).unwrap();
            users.count();
            let last = fibre_core::model::Watched::get(&users) == 2;
            // SAFETY: locked above.
            unsafe { mutex.unlock() }.unwrap();
            if last {
                mutex.destroy().unwrap();
                mutex.free();
            }
        };
        let other = thread::spawn(leave);
        leave();
        other.join().unwrap();
    });
}
