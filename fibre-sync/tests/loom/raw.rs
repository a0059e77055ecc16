//! Models of the raw forms, as far as they are more than what they are made of: who destroys a
//! condition variable, or a barrier, waits for those who are about to leave it. The semaphore and
//! the once are words of their own.
//!
//! Run by `cargo xtask loom`. A wait with a deadline may give up at any moment here.

use fibre_core::model::{Shared, Watched, check, finds_planted};
use fibre_sync::faults;
use fibre_sync::raw::{Barrier, Condvar, Error, Kind, Mutex, Once, Semaphore, Wait};
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

/// Planted: a waiter that reached its deadline with the broadcast leaves a list that is gone.
#[test]
fn planted_hasty_destruction_is_found() {
    finds_planted(
        faults::raw_condvar::DESTRUCTION_WAITS_FOR_NOBODY,
        broadcast_and_destroy,
    );
}

/// Two come to a barrier for a moment. If they meet, the one that came last destroys and frees it
/// at once, while the deadline of the other one may just have come.
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

/// Planted: a party that reached its deadline as the last one came looks at a barrier that is gone.
#[test]
fn planted_hasty_destruction_of_a_barrier_is_found() {
    finds_planted(
        faults::raw_barrier::DESTRUCTION_WAITS_FOR_NOBODY,
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
        let users = Shared::new(Watched::default());
        let leave = move || {
            mutex.lock(Wait::FOREVER).unwrap();
            users.count();
            let last = Watched::get(&users) == 2;
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

/// Two wait for a permit each, and a third one posts twice.
fn post_twice_to_two() {
    let permits = Shared::new(Semaphore::default());
    let waiting = [(); 2].map(|()| thread::spawn(move || permits.wait(Wait::FOREVER).unwrap()));
    permits.post().unwrap();
    permits.post().unwrap();
    for one in waiting {
        one.join().unwrap();
    }
    assert_eq!(permits.value(), Ok(0));
    permits.destroy().unwrap();
}

/// Two posts let two go on, whenever they come.
#[test]
fn two_posts_let_two_go_on() {
    check(post_twice_to_two);
}

/// Planted: a permit that comes while somebody has the list is not handed out.
#[test]
fn planted_forgotten_permit_is_found() {
    finds_planted(
        faults::raw_semaphore::LIST_OWNER_LOOKS_FOR_NO_PERMITS,
        post_twice_to_two,
    );
}

/// One waits for a post, and frees the semaphore.
fn post_and_free() {
    let permits = Shared::new(Semaphore::default());
    let waits = thread::spawn(move || {
        permits.wait(Wait::FOREVER).unwrap();
        permits.destroy().unwrap();
        permits.free();
    });
    permits.post().unwrap();
    waits.join().unwrap();
}

/// A post does not touch the semaphore once the permit can have been taken.
#[test]
fn who_gets_a_permit_may_free() {
    check(post_and_free);
}

/// Planted: the poster gives the list back when the other one has gone on.
#[test]
fn planted_late_touch_of_a_post_is_found() {
    finds_planted(
        faults::raw_semaphore::GIVES_LIST_BACK_AFTER_RESUME,
        post_and_free,
    );
}

/// Two wait, one of them for a moment, and one permit comes: it is consumed once, and not lost.
#[test]
fn who_gives_up_takes_no_permit() {
    check(|| {
        let permits = Shared::new(Semaphore::default());
        let impatient = thread::spawn(move || permits.wait(Wait::until(Instant::now())));
        let patient = thread::spawn(move || permits.wait(Wait::FOREVER));
        permits.post().unwrap();
        if impatient.join().unwrap().is_ok() {
            permits.post().unwrap();
        }
        patient.join().unwrap().unwrap();
        assert_eq!(permits.value(), Ok(0));
        permits.destroy().unwrap();
        permits.free();
    });
}

/// Two want to initialise: one does, both see what it did, and who sees that last frees the word.
fn two_initialise() {
    let shared = Shared::new((Once::new(), Watched::default()));
    let initialise = move || {
        let (once, calls) = shared.get();
        once.call(|| calls.count()).unwrap();
        assert_eq!(calls.get(), 1);
    };
    let other = thread::spawn(initialise);
    initialise();
    other.join().unwrap();
}

/// One of two initialises.
#[test]
fn once_is_once() {
    check(two_initialise);
}

/// Planted: both initialise.
#[test]
fn planted_silent_initialiser_is_found() {
    finds_planted(faults::raw_once::INITIALISES_SILENTLY, two_initialise);
}

/// Planted: the other one does not see what was done.
#[test]
fn planted_missing_release_of_a_once_is_found() {
    finds_planted(
        faults::raw_once::WRITES_WORD_WITHOUT_RELEASE,
        two_initialise,
    );
}

/// Two want to initialise; who comes to know that it has happened by the other one's doing frees
/// the word.
fn initialise_and_free() {
    let once = Shared::new(Once::new());
    let initialise = move || {
        let mut own = false;
        once.call(|| own = true).unwrap();
        if !own {
            once.free();
        }
    };
    let other = thread::spawn(initialise);
    initialise();
    other.join().unwrap();
}

/// The initialiser touches the word no more when it is done.
#[test]
fn who_finds_it_done_may_free() {
    check(initialise_and_free);
}

/// Planted: it looks back.
#[test]
fn planted_late_look_at_a_once_is_found() {
    finds_planted(
        faults::raw_once::LOOKS_AT_WORD_AFTER_THE_END,
        initialise_and_free,
    );
}

/// Two post after having done something; one waits twice, and uses what both did. loom watches
/// that.
fn post_and_see() {
    let shared = Shared::new((
        Semaphore::default(),
        [Watched::default(), Watched::default()],
    ));
    let posters = [0, 1].map(|one| {
        thread::spawn(move || {
            let (permits, done) = shared.get();
            done[one].set(7);
            permits.post().unwrap();
        })
    });
    let (permits, done) = shared.get();
    for _ in 0..2 {
        permits.wait(Wait::FOREVER).unwrap();
    }
    assert_eq!([done[0].get(), done[1].get()], [7, 7]);
    for poster in posters {
        poster.join().unwrap();
    }
}

/// Whoever has a permit sees what was done before it was posted, by whichever way the permit came.
#[test]
fn who_has_a_permit_sees_what_the_poster_did() {
    check(post_and_see);
}

/// Planted: a permit is taken, and what was done before it was posted is not seen.
#[test]
fn planted_take_without_acquire_is_found() {
    finds_planted(
        faults::raw_semaphore::TAKES_PERMIT_WITHOUT_ACQUIRE,
        post_and_see,
    );
}
