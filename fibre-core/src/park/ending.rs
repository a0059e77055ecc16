//! Ends of objects that are parts of each other, one after the other.
//!
//! An object of the runtime has a user's value, which may have the last handle of another such
//! object, and so on. If the end of each were a part of the end of the one before, a long chain
//! would need a stack of its length. So an end that begins within another one, on the same fibre or
//! thread, waits until that has returned.

use super::local::LocalKey;
use crate::sync::unwind_guard::quietly;
use std::cell::RefCell;
use std::collections::VecDeque;

/// An end that waits for its turn.
type End = Box<dyn FnOnce()>;

/// The ends that wait, while one is being run.
static WAITING: LocalKey<RefCell<Option<VecDeque<End>>>> = LocalKey::new(|| RefCell::new(None));

/// Calls `end`: now, or, within another call of this function, when the closure of that one has
/// returned. A panic ends there.
pub fn end_in_turn(end: impl FnOnce() + 'static) {
    let is_within = WAITING.with(|waiting| waiting.borrow().is_some());
    if is_within {
        push(Box::new(end));
        return;
    }
    WAITING.with(|waiting| *waiting.borrow_mut() = Some(VecDeque::new()));
    quietly(end);
    end_waiting();
    WAITING.with(|waiting| *waiting.borrow_mut() = None);
}

/// Adds an end to those that wait.
fn push(end: End) {
    WAITING.with(|waiting| {
        if let Some(waiting) = &mut *waiting.borrow_mut() {
            waiting.push_back(end);
        }
    });
}

/// Calls the ends that wait for their turn. For a caller that is about to wait for one of them.
pub fn end_waiting() {
    let next = || WAITING.with(|waiting| waiting.borrow_mut().as_mut()?.pop_front());
    while let Some(end) = next() {
        quietly(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::rc::Rc;

    /// Ends with the next one of a chain, and counts.
    struct Chained(Option<Box<Chained>>, Rc<Cell<u32>>);

    impl Drop for Chained {
        fn drop(&mut self) {
            self.1.set(self.1.get() + 1);
            let next = self.0.take();
            end_in_turn(move || drop(next));
        }
    }

    #[test]
    fn a_long_chain_ends_on_a_short_stack() {
        let ended = Rc::new(Cell::new(0));
        let mut chain = None;
        for _ in 0..100_000 {
            chain = Some(Box::new(Chained(chain, Rc::clone(&ended))));
        }
        drop(chain);
        assert_eq!(ended.get(), 100_000);
    }

    #[test]
    fn ends_come_in_their_order_and_a_panic_stops_none() {
        let order = Rc::new(RefCell::new(Vec::new()));
        let note = |name: &'static str| {
            let order = Rc::clone(&order);
            move || order.borrow_mut().push(name)
        };
        let (first, second, third) = (note("first"), note("second"), note("third"));
        end_in_turn(move || {
            end_in_turn(|| std::panic::resume_unwind(Box::new("on purpose")));
            end_in_turn(second);
            end_waiting();
            end_in_turn(third);
            first();
        });
        assert_eq!(*order.borrow(), ["second", "first", "third"]);
    }
}
