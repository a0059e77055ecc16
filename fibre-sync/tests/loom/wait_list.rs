//! Models of the wait list by itself: whoever leaves it, by a waker or by giving up, its frame ends
//! unharmed, and so do those of its neighbours.
//!
//! Run by `cargo xtask loom`. A wait with a limit may give up at any moment here.

use fibre_core::internal::Outcome;
use fibre_core::model::{Shared, check, finds_planted};
use fibre_core::{Limit, WaitKind, WaitObject};
use fibre_sync::faults;
use fibre_sync::{ListWait, Locked, Place, WaitList};
use loom::thread;

/// A door, and those who wait before it.
#[derive(Default)]
struct Door {
    open: bool,
    waiting: WaitList,
}

/// What threads share.
type Shut = Shared<Locked<Door>>;

/// Waits for the door; `false`: gave up.
fn pass(door: Shut, place: Place, limit: Limit) -> bool {
    let awaited = WaitObject::placeless(WaitKind::Other);
    let wait = ListWait::new(awaited, limit).at(place);
    // SAFETY: the list stays, and all who claim resume.
    let outcome = unsafe { wait.in_list(&door, |door| &mut door.waiting, |door| !door.open) };
    matches!(outcome, Outcome::NotParked | Outcome::Woken(0))
}

/// Opens the door, and lets all go on that wait.
fn open(door: Shut) {
    let mut state = door.lock();
    state.open = true;
    let all = state.waiting.claim_all(0);
    drop(state);
    all.resume();
}

/// Two wait for ever, the one who comes first by itself frees the door last.
fn two_pass() {
    let door = Shut::new(Locked::default());
    let others = [Place::Last, Place::First]
        .map(|place| thread::spawn(move || assert!(pass(door, place, Limit::None))));
    open(door);
    for other in others {
        other.join().unwrap();
    }
    assert!(door.lock().waiting.is_empty());
    door.free();
}

/// Those who are claimed together go on together.
#[test]
fn all_are_resumed() {
    check(two_pass);
}

/// Planted: the waker looks for the next waiter in a frame that a resumed one has left.
#[test]
fn planted_chain_through_a_frame_is_found() {
    finds_planted(
        faults::wait_list::FOLLOWS_CHAIN_THROUGH_FREED_FRAME,
        two_pass,
    );
}

/// One waits and frees the door, which another one opens.
#[test]
fn opening_touches_nothing_after_the_last_resume() {
    check(|| {
        let door = Shut::new(Locked::default());
        let opener = thread::spawn(move || open(door));
        assert!(pass(door, Place::Last, Limit::None));
        door.free();
        opener.join().unwrap();
    });
}

/// One gives up beside one that does not.
fn one_gives_up() {
    let door = Shut::new(Locked::default());
    let patient = thread::spawn(move || assert!(pass(door, Place::Last, Limit::None)));
    let impatient = thread::spawn(move || pass(door, Place::Last, Limit::Cancellation));
    open(door);
    patient.join().unwrap();
    let _either = impatient.join().unwrap();
    assert!(door.lock().waiting.is_empty());
    door.free();
}

/// A waiter that gives up leaves the list as it should be for the others.
#[test]
fn a_list_survives_who_gives_up() {
    check(one_gives_up);
}

/// Planted: the waker comes to a frame that has ended.
#[test]
fn planted_node_that_stays_is_found() {
    finds_planted(faults::wait_list::GIVING_UP_STAYS_IN_THE_LIST, one_gives_up);
}

/// Two give up, while one of them, or the other, is let through.
#[test]
fn neighbours_give_up() {
    check(|| {
        let door = Shut::new(Locked::default());
        let others =
            [(); 2].map(|()| thread::spawn(move || pass(door, Place::Last, Limit::Cancellation)));
        let first = door.lock().waiting.claim_first(0);
        let claimed = first.map(|first| first.resume()).is_some();
        let passed = others.map(|other| other.join().unwrap());
        assert_eq!(passed.contains(&true), claimed, "one, and only if claimed");
        assert!(!(passed[0] && passed[1]));
        assert!(door.lock().waiting.is_empty());
        door.free();
    });
}
