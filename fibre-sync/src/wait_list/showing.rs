//! Waiters that stand in one list and wait for different things: each shows a pointer.

use super::{Claimed, WaitList};
use std::ptr;

impl WaitList {
    /// Takes out and claims the waiters that show this pointer and have not given up: those that
    /// have waited longest, and no more than `most`. Looks at all waiters that came before the last
    /// of them. Resume them after the lock is released.
    pub fn claim_showing(&mut self, shown: *const (), token: u32, most: usize) -> Claimed {
        let mut claimed = Claimed::none();
        // SAFETY: in the list, hence alive; the caller holds its lock. So are its neighbours.
        let Some(first) = (unsafe { self.first.as_ref() }) else {
            return claimed;
        };
        let (mut next, last) = (ptr::from_ref(first), first.before.get());
        while claimed.len() < most {
            // SAFETY: as above; a node that was taken out is not come back to.
            let node = unsafe { &*next };
            next = node.behind.get();
            let is_last = ptr::eq(node, last);
            if node.shown.get() == shown {
                // SAFETY: it is in the list.
                unsafe { self.unlink(node) };
                // SAFETY: just taken out.
                if unsafe { node.claim(token) }.is_some() {
                    claimed.append(node);
                }
            }
            if is_last {
                break;
            }
        }
        claimed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait_list::{ListWait, Locked, Place};
    use fibre_core::internal::{Outcome, ShortGuard};
    use fibre_core::{Limit, WaitKind, WaitObject};
    use std::sync::Arc;
    use std::thread;

    /// Two pointers that are followed by nobody.
    fn shown(one: usize) -> *const () {
        ptr::without_provenance((one + 1) << 2)
    }

    /// A thread that waits and shows one of them, when it has entered the list; it returns what
    /// woke it.
    fn waiting(list: &Arc<Locked<WaitList>>, one: usize) -> thread::JoinHandle<u32> {
        let (entered, has_entered) = std::sync::mpsc::channel();
        let list = Arc::clone(list);
        let thread = thread::spawn(move || {
            let awaited = WaitObject::placeless(WaitKind::Other);
            let wait = ListWait::new(awaited, Limit::None).at(Place::LastShowing(shown(one)));
            let lock = || list.lock();
            let entry = |list: &mut ShortGuard<'_, WaitList>| ptr::from_mut(&mut **list);
            let after = || entered.send(()).unwrap();
            // SAFETY: the list stays, and the test resumes each waiter that it claims.
            let outcome = unsafe { wait.under(lock, entry, |_| true, after, |_, _| ()) };
            match outcome {
                Outcome::Woken(token) => token,
                other => panic!("{other:?}"),
            }
        });
        has_entered.recv().unwrap();
        thread
    }

    #[test]
    fn those_that_show_a_pointer_are_claimed_and_no_others() {
        let list = Arc::new(Locked::new(WaitList::new()));
        let ones = [0, 1, 0, 0, 1];
        let threads = ones.map(|one| waiting(&list, one));
        let claim = |one: usize, most| list.lock().claim_showing(shown(one), one as u32, most);
        assert!(claim(2, 5).is_empty() && claim(0, 0).is_empty());
        let firsts = claim(0, 2);
        assert_eq!(firsts.len(), 2);
        firsts.resume();
        let (all, rest) = (claim(1, usize::MAX), claim(0, 1));
        assert_eq!((all.len(), rest.len()), (2, 1));
        all.resume();
        rest.resume();
        assert!(list.lock().is_empty());
        let tokens = threads.map(|one| one.join().unwrap());
        assert_eq!(tokens, ones.map(|one| one as u32));
    }
}
