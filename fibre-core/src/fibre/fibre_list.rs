//! The fibres that have started, and not ended, in an intrusive list.
//!
//! It shows a processor its waiting fibres, to cancel them or to report which are left. The
//! processor that runs a fibre adds it when the fibre gets its stack, and takes it out when the
//! fibre gives that back. If started fibres stay with their processor, each processor has a fibre
//! list that nobody else touches. If they move, the cluster has one list, behind a lock.

use std::cell::Cell;
use std::mem::offset_of;
use std::ptr::{self, NonNull};

/// The hook of a fibre in a fibre list. Belongs to the fibre list's owner.
#[derive(Debug)]
pub(crate) struct Hook {
    /// The hook that was added before; null at the end.
    next: Cell<*const Self>,
    /// The hook that was added after; null at the front.
    previous: Cell<*const Self>,
}

impl Hook {
    /// Where the next hook is noted, for debuggers.
    pub(crate) const NEXT: usize = offset_of!(Self, next);

    /// Where its two words are, which name other hooks.
    pub(crate) fn words(this: *const Self) -> [usize; 2] {
        [offset_of!(Self, next), offset_of!(Self, previous)].map(|offset| this.addr() + offset)
    }

    /// A hook that is in no fibre list.
    pub(crate) const fn new() -> Self {
        Self {
            next: Cell::new(ptr::null()),
            previous: Cell::new(ptr::null()),
        }
    }
}

/// The list.
#[derive(Debug)]
pub(crate) struct FibreList {
    /// The hook that was added last.
    first: Cell<*const Hook>,
    /// Whether no processor is left to run the fibres that are in it, or come.
    left: Cell<bool>,
    /// The next hook of a walk during which hooks come and go; null if there is none.
    walk: Cell<*const Hook>,
}

// SAFETY: a plain list with an owner that may change; hooks are touched by the list's owner only.
unsafe impl Send for FibreList {}

impl FibreList {
    /// Where the first hook is noted, for debuggers.
    pub(crate) const FIRST: usize = offset_of!(Self, first);

    /// Where its words are that name hooks.
    pub(crate) fn words(&self) -> [usize; 2] {
        [offset_of!(Self, first), offset_of!(Self, walk)]
            .map(|offset| ptr::from_ref(self).addr() + offset)
    }

    /// An empty fibre list.
    pub(crate) const fn new() -> Self {
        Self {
            first: Cell::new(ptr::null()),
            left: Cell::new(false),
            walk: Cell::new(ptr::null()),
        }
    }

    /// Begins a walk over the hooks that are in the fibre list now.
    pub(crate) fn begin_walk(&self) {
        self.walk.set(self.first.get());
    }

    /// The next hook of the walk, if it is still in the fibre list. `None`: there is none left.
    pub(crate) fn walk_on(&self) -> Option<NonNull<Hook>> {
        let hook = NonNull::new(self.walk.get().cast_mut())?;
        // SAFETY: a hook that leaves the fibre list passes the walk on, so this one is alive.
        self.walk.set(unsafe { hook.as_ref() }.next.get());
        Some(hook)
    }

    /// Notes that no processor is left to run the fibres that are in it, or come.
    pub(crate) fn leave(&self) {
        self.left.set(true);
    }

    /// Whether [`leave`](Self::leave) was called.
    pub(crate) fn is_left(&self) -> bool {
        self.left.get()
    }

    /// Whether the fibre list is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.first.get().is_null()
    }

    /// Adds a fibre.
    ///
    /// # Safety
    ///
    /// The hook is in no fibre list. It is a control block's, which stays where it is until the
    /// hook is taken out. (Tests use bare hooks, and ask for no fibre.)
    #[inline]
    pub(crate) unsafe fn add(&self, hook: NonNull<Hook>) {
        let second = self.first.replace(hook.as_ptr());
        // SAFETY: hooks in the list are alive, and so is the new one.
        unsafe {
            hook.as_ref().next.set(second);
            hook.as_ref().previous.set(ptr::null());
            if let Some(second) = second.as_ref() {
                second.previous.set(hook.as_ptr());
            }
        }
    }

    /// Takes a fibre out.
    ///
    /// # Safety
    ///
    /// The hook is in this fibre list.
    #[inline]
    pub(crate) unsafe fn remove(&self, hook: NonNull<Hook>) {
        // SAFETY: hooks in the list are alive.
        unsafe {
            let (next, previous) = (hook.as_ref().next.get(), hook.as_ref().previous.get());
            if ptr::eq(self.walk.get(), hook.as_ptr()) {
                self.walk.set(next);
            }
            if let Some(next) = next.as_ref() {
                next.previous.set(previous);
            }
            match previous.as_ref() {
                Some(previous) => previous.next.set(next),
                None => self.first.set(next),
            }
        }
    }

    /// Calls `f` for each fibre; `f` must not change the fibre list.
    pub(crate) fn for_each(&self, mut f: impl FnMut(NonNull<Hook>)) {
        let mut at = self.first.get();
        while let Some(hook) = NonNull::new(at.cast_mut()) {
            // SAFETY: hooks in the list are alive.
            at = unsafe { hook.as_ref() }.next.get();
            f(hook);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The hooks in a fibre list, the last one first.
    fn members(fibre_list: &FibreList) -> Vec<NonNull<Hook>> {
        let mut members = Vec::new();
        fibre_list.for_each(|hook| members.push(hook));
        members
    }

    #[test]
    fn members_come_and_go_anywhere() {
        let hooks: Vec<Hook> = (0..4).map(|_| Hook::new()).collect();
        let at = |index: usize| NonNull::from(&hooks[index]);
        let fibre_list = FibreList::new();
        // SAFETY: each is in the fibre list when it is taken out, and not before.
        unsafe {
            (0..4).for_each(|index| fibre_list.add(at(index)));
            assert_eq!(members(&fibre_list), [at(3), at(2), at(1), at(0)]);
            fibre_list.remove(at(2));
            assert_eq!(members(&fibre_list), [at(3), at(1), at(0)]);
            fibre_list.remove(at(3));
            fibre_list.remove(at(0));
            assert_eq!(members(&fibre_list), [at(1)]);
            fibre_list.add(at(0));
            fibre_list.remove(at(1));
            assert_eq!(members(&fibre_list), [at(0)]);
            fibre_list.remove(at(0));
        }
        assert!(fibre_list.is_empty());
    }

    #[test]
    fn a_walk_meets_those_that_stay() {
        let hooks: Vec<Hook> = (0..6).map(|_| Hook::new()).collect();
        let at = |index: usize| NonNull::from(&hooks[index]);
        let fibre_list = FibreList::new();
        // SAFETY: each is in the fibre list when it is taken out, and not before.
        unsafe {
            (0..5).for_each(|index| fibre_list.add(at(index)));
            assert!(fibre_list.walk_on().is_none());
            fibre_list.begin_walk();
            assert_eq!(fibre_list.walk_on(), Some(at(4)));
            // The one just met, the next one, one that is new, and the last one.
            fibre_list.remove(at(4));
            fibre_list.remove(at(3));
            fibre_list.add(at(5));
            fibre_list.remove(at(0));
            assert_eq!(fibre_list.walk_on(), Some(at(2)));
            assert_eq!(fibre_list.walk_on(), Some(at(1)));
            assert_eq!(fibre_list.walk_on(), None);
        }
    }
}
