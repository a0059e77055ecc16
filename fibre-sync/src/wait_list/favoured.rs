//! Wakes a favoured waiter before others.

use super::WaitList;
use fibre_core::internal::{Resume, Waiter};
use std::ptr;

/// How often other waiters may be favoured over the first one of a list.
pub(super) const MOST_FAVOURED: u8 = 8;

impl WaitList {
    /// Like [`claim_first`](Self::claim_first), but looks at so many waiters that have waited
    /// longest, and takes the first of them that is favoured and has not given up. If none is, it
    /// takes the one that has waited longest.
    #[must_use]
    pub fn claim_favoured(
        &mut self,
        token: u32,
        depth: usize,
        favour: impl Fn(&Waiter) -> bool,
    ) -> Option<Resume> {
        let favoured = self.claim_favoured_only(token, depth, favour);
        favoured.or_else(|| self.claim_first(token))
    }

    /// [`claim_favoured`](Self::claim_favoured), but takes none if none is favoured, or if others
    /// have been favoured for long over the one that has waited longest.
    #[must_use]
    pub fn claim_favoured_only(
        &mut self,
        token: u32,
        depth: usize,
        favour: impl Fn(&Waiter) -> bool,
    ) -> Option<Resume> {
        let mut next = self.first;
        // SAFETY: in the list, hence alive; the caller holds its lock.
        let first = unsafe { next.as_ref()? };
        let depth = match first.passed_over.get() {
            MOST_FAVOURED => 1,
            _ => depth,
        };
        for _ in 0..depth {
            // SAFETY: in the list, hence alive; the caller holds its lock. So is its waiter.
            let node = unsafe { next.as_ref() }?;
            next = node.behind.get();
            // SAFETY: as above.
            if favour(unsafe { &*node.waiter.get() }) {
                if !ptr::eq(node, first) {
                    first.passed_over.set(first.passed_over.get() + 1);
                }
                // SAFETY: it is in the list.
                unsafe { self.unlink(node) };
                // SAFETY: just taken out.
                return unsafe { node.claim(token) };
            }
            if ptr::eq(next, self.first) {
                break;
            }
        }
        None
    }
}
