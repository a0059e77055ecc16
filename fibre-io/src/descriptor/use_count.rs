//! How many calls have waited and are now in a system call on a descriptor's number.
//!
//! A woken call tries again, on a number that may belong to another descriptor by then. The bytes
//! that it read there would be lost to the new owner. So the call *enters* before it checks that
//! the number still has the same owner, and leaves after the system call. The closer of the number
//! first *bars* it, then publishes that the owner has gone, and then waits until no call is inside.
//! (A first try needs none of this: a program that closes a number while a call on it begins is at
//! fault.)
//!
//! # Memory ordering
//!
//! Entering and barring change one word, so one of them comes first. A call that enters after the
//! bar sees the bar. A call that enters after the bar was lifted for a new owner acquires that
//! owner's coming. The closer acquires that the calls inside have left.

use fibre_core::sync::{AtomicU32, Ordering, planted};

/// The bit that says: no call may enter.
const BARRED: u32 = 1 << 31;

/// How many calls are inside, and whether the number is barred.
#[derive(Debug)]
pub struct Users(AtomicU32);

impl Default for Users {
    fn default() -> Self {
        Self::new()
    }
}

/// A call that is inside; dropping it leaves.
#[derive(Debug)]
pub struct InUse<'a>(&'a Users);

impl Users {
    /// The count of a number with no call inside and no bar.
    #[must_use]
    pub fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Enters, unless the number is barred. Check the owner after that.
    #[must_use]
    pub fn enter(&self) -> Option<InUse<'_>> {
        let inside = InUse(self);
        let before = self.0.fetch_add(1, Ordering::AcqRel);
        (before & BARRED == 0).then_some(inside)
    }

    /// Bars the number: no call may enter any more.
    pub fn bar(&self) {
        self.0.fetch_or(BARRED, Ordering::AcqRel);
    }

    /// Whether no call is inside. After [`bar`](Self::bar) that stays so.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        planted("users: nobody waits for those inside")
            || self.0.load(Ordering::Acquire) & !BARRED == 0
    }

    /// Lifts the bar, for a new owner.
    pub fn admit(&self) {
        self.0.fetch_and(!BARRED, Ordering::AcqRel);
    }
}

impl Drop for InUse<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Release);
    }
}
