//! Models of a number that is closed, and made anew, while a call that was woken tries again.
//!
//! Run by `cargo xtask loom`. Ownership and users are the shipped ones; what a slot does with them
//! is repeated here.

use fibre_core::model::{Shared, Watched, check, finds_bug, finds_planted};
use fibre_io::descriptor::owner::Ownership;
use fibre_io::descriptor::use_count::Users;
use loom::thread;

/// A slot, and what has its number in the kernel.
#[derive(Default)]
struct Slot {
    ownership: Ownership,
    users: Users,
    /// Which file has the number.
    file: Watched,
}

/// The file that the call is made on.
const FIRST: u32 = 1;
/// The file that gets its number.
const SECOND: u32 = 2;

impl Slot {
    /// A number that has been made.
    fn made() -> Shared<Self> {
        let slot = Self::default();
        slot.file.set(FIRST);
        slot.ownership.take(|| slot.users.admit());
        Shared::new(slot)
    }

    /// Closes the number; another file gets it.
    fn close_and_make(&self) {
        let evicted = self.ownership.evict(|| {
            self.users.bar();
            while !self.users.is_empty() {
                thread::yield_now();
            }
        });
        assert!(evicted);
        self.file.set(SECOND);
        self.ownership.take(|| self.users.admit());
    }

    /// A call of the first file's that tries again.
    fn try_again(&self, generation: u32, looks: bool) {
        let Some(inside) = self.users.enter() else {
            return;
        };
        if !looks || self.ownership.is_owner(generation) {
            assert_eq!(self.file.get(), FIRST);
        }
        drop(inside);
    }
}

/// One tries again while another closes the number and a third file gets it.
fn close_under_a_call(looks: bool) {
    let slot = Slot::made();
    let generation = slot.ownership.generation();
    let closer = thread::spawn({
        let slot = slot.clone();
        move || slot.close_and_make()
    });
    slot.try_again(generation, looks);
    closer.join().ok();
}

/// Two close a number at once.
fn close_twice() {
    let slot = Slot::made();
    let other = thread::spawn({
        let slot = slot.clone();
        move || slot.ownership.evict(|| ())
    });
    let mine = slot.ownership.evict(|| ());
    let other = other.join().ok();
    assert_eq!(u8::from(mine) + u8::from(other == Some(true)), 1);
}

#[test]
fn a_call_touches_its_own_file_only() {
    check(|| close_under_a_call(true));
}

#[test]
fn one_of_two_closes() {
    check(close_twice);
}

/// A reader that enters, and does not look at the owner, reads what the new file has.
#[test]
fn trusting_is_found() {
    finds_bug(|| close_under_a_call(false));
}

/// Planted: who closes does not wait for those inside.
#[test]
fn planted_haste_is_found() {
    finds_planted("users: nobody waits for those inside", || {
        close_under_a_call(true);
    });
}
