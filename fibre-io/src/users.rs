//! Who is in a system call on a descriptor's number, having waited before it.
//!
//! A call that is woken tries again, on a number that may be somebody else's by then: what it read there would
//! be lost to that one. So it *enters* before it looks whether the number has still the same owner, and
//! leaves after the system call. Who closes the number *bars* it first, says that the owner has gone, and goes on when
//! nobody is inside. (A first try needs none of this: that a number is closed while a call on it begins is a fault of
//! the program.)
//!
//! # Memory ordering
//!
//! Entering and barring change one word, and so one of them comes first. Who enters after the bar sees it; who
//! enters after the bar has been lifted for a new owner acquires that this one came. Who closes acquires that those
//! inside have left.

use fibre_core::sync::{AtomicU32, Ordering, planted};

/// Nobody may enter.
const BARRED: u32 = 1 << 31;

/// See the module text.
#[derive(Debug)]
pub struct Users(AtomicU32);

impl Default for Users {
    fn default() -> Self {
        Self::new()
    }
}

/// One that is inside.
#[derive(Debug)]
pub struct InUse<'a>(&'a Users);

impl Users {
    /// Nobody, of a number that all may enter.
    #[must_use]
    pub fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Enters, unless it is barred. Look at the owner after that.
    #[must_use]
    pub fn enter(&self) -> Option<InUse<'_>> {
        let inside = InUse(self);
        let before = self.0.fetch_add(1, Ordering::AcqRel);
        (before & BARRED == 0).then_some(inside)
    }

    /// Lets nobody enter any more.
    pub fn bar(&self) {
        self.0.fetch_or(BARRED, Ordering::AcqRel);
    }

    /// Whether nobody is inside. After [`bar`](Self::bar) that stays so.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        planted("users: nobody waits for those inside")
            || self.0.load(Ordering::Acquire) & !BARRED == 0
    }

    /// Lets all enter, for a new owner.
    pub fn admit(&self) {
        self.0.fetch_and(!BARRED, Ordering::AcqRel);
    }
}

impl Drop for InUse<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Release);
    }
}
