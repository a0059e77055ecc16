//! Models of selections: one operation is carried out, or none, and whoever meets whoever goes on.
//!
//! Run by `cargo xtask loom`. A wait with a limit may give up at any moment here.

use fibre_core::internal::IN_SCOPE;
use fibre_core::model::{Shared, check, check_with, expecting_panics, finds_planted};
use fibre_core::sync::{AtomicU32, Ordering};
use fibre_sync::channel::{Receiver, Select, Sender, bounded, rendezvous};
use fibre_sync::selection::Watchers;
use fibre_sync::{AutoEvent, Semaphore, faults, select};
use loom::thread;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

/// Receives from either; which one, and what.
fn either(one: &Receiver<u32>, other: &Receiver<u32>) -> (usize, Option<u32>) {
    let mut select = Select::new();
    select.recv(one);
    select.recv(other);
    let chosen = select.select();
    match chosen.index() {
        0 => (0, chosen.recv(one).ok()),
        index => (index, chosen.recv(other).ok()),
    }
}

/// One selects from two channels that two send into. Every value is received once.
fn two_senders(capacity: usize) {
    let ((one, from_one), (other, from_other)) = (bounded(capacity), bounded(capacity));
    let thread = thread::spawn(move || {
        one.send(1).unwrap();
        other.send(2).unwrap();
    });
    match either(&from_one, &from_other) {
        (0, Some(1)) => assert_eq!(from_other.recv(), Ok(2)),
        (1, Some(2)) => assert_eq!(from_one.recv(), Ok(1)),
        wrong => panic!("{wrong:?}"),
    }
    thread.join().unwrap();
}

/// A selection goes on when something comes.
#[test]
fn a_selection_misses_nothing() {
    check(|| two_senders(1));
    check(|| two_senders(0));
}

/// Planted: what comes between the look and the waiting is not seen.
#[test]
fn planted_blind_waiting_is_found() {
    finds_planted(faults::select::NO_SECOND_LOOK_UNDER_THE_LOCKS, || {
        two_senders(1);
    });
}

/// Two send into a channel each, and one selects twice. Nobody's value is lost or doubled.
fn served_by_two() {
    let ((one, from_one), (other, from_other)) = (rendezvous(), rendezvous());
    let send = |sender: Sender<u32>, value| {
        thread::spawn(move || {
            sender.send(value).unwrap();
            sender
        })
    };
    let threads = [send(one, 1), send(other, 2)];
    let mut sum = 0;
    for _ in 0..2 {
        sum += either(&from_one, &from_other).1.unwrap();
    }
    assert_eq!(sum, 3);
    let _ends = threads.map(|thread| thread.join().unwrap());
}

/// A claim in one line ends the wait in the other.
#[test]
fn one_of_two_is_chosen() {
    check(served_by_two);
}

/// Planted: a sender finds a place of a frame that has ended in its line.
#[test]
fn planted_arm_that_stays_is_found() {
    finds_planted(faults::select::ARM_STAYS_IN_ITS_LINE, served_by_two);
}

/// Sends into the one or receives from the other; `true`: sent.
fn swap(to: &Sender<u32>, from: &Receiver<u32>) -> bool {
    let mut select = Select::new();
    select.send(to, 1);
    select.recv(from);
    let chosen = select.select();
    match chosen.index() {
        0 => chosen.send(to).is_ok(),
        _ => chosen.recv(from).is_err(),
    }
}

/// Two selections that can serve each other only: one sends, the other receives.
#[test]
fn two_selections_meet() {
    check(|| {
        let ((there, at_there), (back, at_back)) = (rendezvous(), rendezvous());
        let thread = thread::spawn(move || (swap(&back, &at_there), (back, at_there)));
        let sent = swap(&there, &at_back);
        let (other_sent, _ends) = thread.join().unwrap();
        assert!(sent != other_sent);
    });
}

/// A selection that may give up, and a sender that may, too: both agree on whether they met.
#[test]
fn a_deadline_ends_all_or_nothing() {
    check(|| {
        let ((one, from_one), (_other, from_other)) = (rendezvous(), rendezvous::<u32>());
        let thread = thread::spawn(move || one.send_within(1, Instant::now()).is_ok());
        let mut select = Select::new();
        select.recv(&from_one);
        select.recv(&from_other);
        let received = select
            .select_within(Instant::now())
            .is_ok_and(|chosen| chosen.recv(&from_one).is_ok());
        assert_eq!(thread.join().unwrap(), received);
    });
}

/// Two kinds of things.
struct Things(Semaphore, AutoEvent);

fibre_core::end_of_frame!(Things: 0, 1);

impl Things {
    /// So many permits, and an event that is not set.
    fn new(permits: usize) -> Shared<Self> {
        Shared::new(Self(Semaphore::new(permits), AutoEvent::new()))
    }
}

/// A permit and an event come at any moment, while one selects among them. One of them is chosen,
/// and the other is there.
fn two_kinds() {
    let things = Things::new(0);
    let threads = [
        thread::spawn(move || things.0.release()),
        thread::spawn(move || things.1.set()),
    ];
    let Things(permits, event) = &*things;
    select! {
        permit = permits.permit_arm() => {
            permit.forget();
            event.wait();
        }
        () = event.wait_arm() => permits.acquire(),
    }
    threads.into_iter().for_each(|one| one.join().unwrap());
    assert!(permits.available() == 0 && !event.is_set(), "it came twice");
    things.free();
}

/// What two wakers bring is had once each.
#[test]
fn of_two_kinds_none_is_lost() {
    check(two_kinds);
}

/// Planted: an arm is not ready when it is looked at, and never looked at again.
#[test]
fn planted_entering_without_a_look_is_found() {
    finds_planted(faults::select::ENTERS_WITHOUT_A_LOOK, two_kinds);
}

/// Planted: a waker chooses one arm, and the selection another one.
#[test]
fn planted_taking_without_a_claim_is_found() {
    finds_planted(faults::select::TAKES_WITHOUT_A_CLAIM, two_kinds);
}

/// Planted: two wakers have taken a node out, and the selection takes the wrong one for the winner.
#[test]
fn planted_silence_of_the_loser_is_found() {
    finds_planted(faults::wait_list::LOST_CLAIM_IS_NOT_NOTED, two_kinds);
}

/// Planted: a waker finds the node of a selection that is over.
#[test]
fn planted_list_arm_that_stays_is_found() {
    finds_planted(faults::select::ARM_STAYS_IN_ITS_LINE, two_kinds);
}

/// A value that is handed over and a permit, the one by a joint arm, the other by one that enters
/// its list afterwards.
fn value_and_permit() {
    let (sender, receiver) = rendezvous();
    let permits = Shared::new(Semaphore::new(0));
    let threads = [
        thread::spawn(move || sender.send(7).unwrap()),
        thread::spawn(move || permits.release()),
    ];
    select! {
        value = receiver.recv_arm() => {
            assert_eq!(value, Ok(7));
            permits.acquire();
        }
        permit = permits.permit_arm() => {
            permit.forget();
            assert_eq!(receiver.recv(), Ok(7));
        }
    }
    threads.into_iter().for_each(|one| one.join().unwrap());
    assert_eq!(permits.available(), 0);
    permits.free();
}

/// Both steps of entering go together.
#[test]
fn a_value_and_a_permit_are_not_lost() {
    check(value_and_permit);
}

/// Planted: the same, without a claim.
#[test]
fn planted_value_without_a_claim_is_found() {
    finds_planted(faults::select::TAKES_WITHOUT_A_CLAIM, value_and_permit);
}

/// Two selections that meet, unless one of them gets the one permit, and then the other gives up.
#[test]
fn selections_meet_beside_other_arms() {
    check(|| {
        let (sender, receiver) = rendezvous();
        let permits = Shared::new(Semaphore::new(0));
        let selects = thread::spawn(move || {
            select! {
                sent = sender.send_arm(1) => (u32::from(sent.is_ok()), 0),
                permit = permits.permit_arm() => { permit.forget(); (0, 1) }
                within(Instant::now()) => (0, 0),
            }
        });
        let released = thread::spawn(move || permits.release());
        let (received, permit) = select! {
            value = receiver.recv_arm() => (u32::from(value.is_ok()), 0),
            permit = permits.permit_arm() => { permit.forget(); (0, 1) }
        };
        let (sent, other_permit) = selects.join().unwrap();
        released.join().unwrap();
        // A receiver that outlives the sender learns that it is gone.
        assert!(received >= sent || received == 0 && sent == 0);
        let taken = permit + other_permit;
        assert_eq!(permits.available() + taken, 1);
        permits.free();
    });
}

/// A selection that may give up, or be unwound by a time-out around it, has all or nothing.
fn gives_up(select: fn(&Semaphore, &AutoEvent) -> (usize, bool)) {
    let things = Things::new(0);
    let thread = thread::spawn(move || {
        things.0.release();
        things.1.set();
    });
    let Things(permits, event) = &*things;
    let (taken, passed) = select(permits, event);
    thread.join().unwrap();
    assert_eq!((permits.available(), event.is_set()), (1 - taken, !passed));
    things.free();
}

#[test]
fn giving_up_takes_nothing() {
    check(|| {
        gives_up(|permits, event| {
            select! {
                permit = permits.permit_arm() => { permit.forget(); (1, false) }
                () = event.wait_arm() => (0, true),
                within(Instant::now()) => (0, false),
            }
        });
    });
}

#[test]
fn unwinding_takes_nothing() {
    check_with(&[IN_SCOPE], || {
        gives_up(|permits, event| {
            let chosen = expecting_panics(|| {
                catch_unwind(AssertUnwindSafe(|| {
                    select! {
                        permit = permits.permit_arm() => { permit.forget(); (1, false) }
                        () = event.wait_arm() => (0, true),
                    }
                }))
            });
            chosen.unwrap_or((0, false))
        });
    });
}

/// A selection that has had permits saved for it, and is chosen elsewhere, leaves them to the next.
fn saved_permits() {
    let things = Things::new(1);
    let behind = thread::spawn(move || things.0.acquire());
    let thread = thread::spawn(move || things.1.set());
    select! {
        _permits = things.0.permits_arm(2) => unreachable!("there is one"),
        () = things.1.wait_arm() => {}
    }
    behind.join().unwrap();
    thread.join().unwrap();
    assert_eq!(things.0.available(), 0);
    things.free();
}

#[test]
fn saved_permits_go_to_the_next() {
    check(saved_permits);
}

/// Planted: they stay where they are.
#[test]
fn planted_keeping_of_saved_permits_is_found() {
    finds_planted(
        faults::semaphore::GIVING_UP_KEEPS_WHAT_WAS_SAVED,
        saved_permits,
    );
}

/// An object that is watched.
struct Object(AtomicU32, Watchers);

fibre_core::end_of_frame!(Object: 0, 1);

/// Two watch an object that two change, one change for each; and one of them may give up.
fn watched() {
    let object = Shared::new(Object(AtomicU32::new(0), Watchers::new()));
    let take = |object: &Object| {
        let take = |count: u32| count.checked_sub(1);
        let taken = object
            .0
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, take);
        taken.ok()
    };
    let watcher = thread::spawn(move || {
        select! { _ = object.1.watch(|| take(&object)) => {} }
    });
    let changer = thread::spawn(move || {
        for _ in 0..2 {
            object.0.fetch_add(1, Ordering::AcqRel);
            object.1.notify_one();
        }
    });
    let taken = select! {
        _ = object.1.watch(|| take(&object)) => 1,
        within(Instant::now()) => 0,
    };
    watcher.join().unwrap();
    changer.join().unwrap();
    assert_eq!(object.0.load(Ordering::Acquire), 1 - taken);
    object.free();
}

#[test]
fn watchers_miss_no_change() {
    check(watched);
}

/// Planted: a change between the look and the wait is not seen.
#[test]
fn planted_blind_watching_is_found() {
    finds_planted(faults::select::ENTERS_WITHOUT_A_LOOK, watched);
}
