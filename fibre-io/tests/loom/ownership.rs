//! Models of owners that come and go while somebody looks on: who waits at a gate, but does not own
//! what it is about.
//!
//! Run by `cargo xtask loom`. Ownership, gates and waits are the shipped ones; what a slot does
//! with them is repeated here.

use fibre_core::model::{Shared, Watched, check, finds_bug, finds_planted};
use fibre_core::{Cancelled, Limit};
use fibre_io::descriptor::owner::Ownership;
use fibre_io::gate::several::await_any;
use fibre_io::gate::single::Gate;
use fibre_io::gate::word::News;
use loom::sync::Mutex;
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;

/// A slot, and its descriptor.
#[derive(Default)]
struct Slot {
    ownership: Ownership,
    gate: Gate,
    /// Whether there is something to read.
    ready: AtomicBool,
}

impl Slot {
    /// A slot with an owner, and nothing to read.
    fn owned() -> Shared<Self> {
        let slot = Self::default();
        slot.acquire();
        slot.gate.drained(slot.gate.snapshot(), true);
        Shared::new(slot)
    }

    fn acquire(&self) {
        self.ownership.take(|| self.gate.reset());
    }

    fn release(&self) {
        self.ownership.leave(|| self.gate.wake_all());
    }

    /// Waits until there is something to read, or until there is no owner to be told by.
    fn look_on(&self) {
        while let Some(owner) = self.ownership.owner() {
            let mut found = false;
            let look = || {
                found = self.ready.load(Ordering::Acquire);
                Ok::<_, Cancelled>(found || self.ownership.owner() != Some(owner))
            };
            let waited = await_any(&[&self.gate], Limit::None, look);
            assert!(waited.is_ok());
            if found {
                return;
            }
        }
    }
}

/// An owner goes, and is the last.
fn goes() {
    let slot = Slot::owned();
    let owner = thread::spawn(move || slot.release());
    slot.look_on();
    owner.join().ok();
}

/// An owner goes, and another one comes and has something to read.
fn goes_and_comes() {
    let slot = Slot::owned();
    let owner = thread::spawn(move || {
        slot.release();
        slot.acquire();
        slot.ready.store(true, Ordering::Release);
        slot.gate.event(News::default());
    });
    slot.look_on();
    owner.join().ok();
}

/// Whoever looks on is told.
#[test]
fn nobody_waits_for_an_owner_that_has_gone() {
    check(goes);
    check(goes_and_comes);
}

/// Planted: who is told looks, sees the owner still there, and waits on.
#[test]
fn planted_early_word_is_found() {
    finds_planted(
        "ownership: onlookers are told before the owner has gone",
        goes,
    );
}

/// Planted: what is prepared for the new owner forgets those who wait already.
#[test]
fn planted_late_preparation_is_found() {
    finds_planted(
        "ownership: a new owner is seen before its slot is prepared",
        goes_and_comes,
    );
}

/// Finds a number that nobody owns: it is the caller's then, or somebody's who has found it, too.
fn find(ownership: &Ownership) -> u32 {
    loop {
        if let Some(owner) = ownership.owner() {
            return owner;
        }
        let _ = ownership.try_take(|| ());
        thread::yield_now();
    }
}

/// Two find a number at once.
fn found_by_two() {
    let ownership = Shared::new(Ownership::new());
    let other = thread::spawn(move || assert!(ownership.is_owner(find(&ownership))));
    assert!(ownership.is_owner(find(&ownership)));
    assert!(other.join().is_ok());
}

/// Both know the one owner that there is then.
#[test]
fn who_finds_a_number_knows_its_owner() {
    check(found_by_two);
}

/// Planted: the generation is read, then the state of a later owner.
#[test]
fn planted_torn_look_is_found() {
    finds_planted(
        "ownership: of two loads, the first may be old",
        found_by_two,
    );
}

/// A number, and what is prepared for each owner of it.
#[derive(Default)]
struct Prepared {
    ownership: Ownership,
    /// The owner that it is prepared for.
    owner: Watched,
    /// Whether the first owner has gone.
    gone: AtomicBool,
}

impl Prepared {
    /// A descriptor with a first owner.
    fn new() -> Shared<Self> {
        let prepared = Self::default();
        let first = prepared.ownership.take(|| prepared.owner.set(1));
        assert_eq!(first, 1);
        Shared::new(prepared)
    }
}

/// The first owner goes, and the second one comes, while somebody asks for the owner.
fn looked_at_while_it_changes() {
    let prepared = Prepared::new();
    let owner = thread::spawn(move || {
        prepared.ownership.leave(|| ());
        prepared.gone.store(true, Ordering::Release);
        prepared.ownership.take(|| prepared.owner.set(2));
    });
    if prepared.gone.load(Ordering::Acquire) {
        assert!(!prepared.ownership.is_owner(1), "it has gone");
    }
    if prepared.ownership.owner() == Some(2) {
        assert_eq!(prepared.owner.get(), 2);
        assert!(prepared.ownership.is_owner(2));
    }
    owner.join().ok();
}

/// Whoever knows the owner sees what was prepared for it, and nobody takes one for it that has
/// gone.
#[test]
fn the_owner_that_is_seen_is_prepared() {
    check(looked_at_while_it_changes);
}

/// An owner goes, or is made to go, and two others want the number.
fn next_owner(evicted: bool) {
    let prepared = Prepared::new();
    let go = move || {
        if evicted {
            assert!(prepared.ownership.evict(|| prepared.owner.set(0)));
        } else {
            prepared.ownership.leave(|| prepared.owner.set(0));
        }
    };
    let next = move || prepared.ownership.try_take(|| prepared.owner.count());
    let going = thread::spawn(go);
    let other = thread::spawn(next);
    let mine = next();
    going.join().ok();
    let other = other.join().ok() == Some(true);
    assert!(!(mine && other), "two have it");
    assert_eq!(mine || other, prepared.ownership.owner().is_some());
    assert_eq!(prepared.ownership.try_take(|| ()), !mine && !other);
}

/// The next owner comes when the one before has done all that it does, and one at a time.
#[test]
fn owners_follow_each_other() {
    check(|| next_owner(false));
    check(|| next_owner(true));
}

/// A slot, and the owner that its descriptor is registered for.
#[derive(Default)]
struct Registered {
    ownership: Ownership,
    owner: Mutex<Option<u32>>,
}

/// What to do wrong.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Planted {
    Nothing,
    /// Register for the last owner, whether it is there or not.
    Unasked,
    /// End a registration only if there is one, without waiting for who is about to make it.
    Unlocked,
}

impl Registered {
    /// `Slot::register`.
    fn register(&self, planted: Planted) {
        let mut owner = self.owner.lock().unwrap();
        if owner.is_none() {
            *owner = match planted {
                Planted::Unasked => Some(self.ownership.generation()),
                _ => self.ownership.owner(),
            };
        }
    }

    /// `Slot::end_registration`.
    fn end_registration(&self, planted: Planted) {
        match planted {
            Planted::Unlocked => drop(self.owner.try_lock().map(|mut owner| owner.take())),
            _ => drop(self.owner.lock().unwrap().take()),
        }
    }
}

/// An owner goes, and another one comes, while somebody looks on who sees to it that events come.
fn registered_by_an_onlooker(planted: Planted) {
    let slot = Shared::new(Registered::default());
    slot.ownership.take(|| ());
    let onlooker = thread::spawn(move || slot.register(planted));
    slot.ownership.leave(|| slot.end_registration(planted));
    let present = slot.ownership.take(|| slot.end_registration(planted));
    assert!(onlooker.join().is_ok());
    let owner = *slot.owner.lock().unwrap();
    assert!(
        owner.is_none_or(|owner| owner == present),
        "its events are dropped"
    );
}

/// A registration is the present owner's, or there is none.
#[test]
fn registrations_are_the_present_owners() {
    check(|| registered_by_an_onlooker(Planted::Nothing));
}

/// Planted: it is an owner's that has gone, and the next one takes it for its own.
#[test]
fn planted_registrations_of_earlier_owners_are_found() {
    finds_bug(|| registered_by_an_onlooker(Planted::Unasked));
    finds_bug(|| registered_by_an_onlooker(Planted::Unlocked));
}
