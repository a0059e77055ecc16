//! Drops long chains of nested objects one after the other.
//!
//! An object of the runtime holds a user's value, which may hold the last handle of another such
//! object, and so on. If each object ended within the end of the one before, a long chain would
//! need a stack of its length. So an end that begins deep within others, on the same fibre or
//! thread, waits until the outermost one has returned. The first few run at once, as destructors
//! expect: one may wait for the end of its field.

use super::local::LocalKey;
use crate::sync::unwind_guard::quietly;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

/// An end that waits for its turn.
type End = Box<dyn FnOnce()>;

/// How many ends are run each within the one before.
const DEEPEST: usize = 8;

/// The ends of a fibre or thread.
#[derive(Default)]
struct Ends {
    /// How many are being run, each within the one before.
    depth: Cell<usize>,
    /// The ends that wait until none is being run.
    waiting: RefCell<VecDeque<End>>,
}

/// The ends of the caller.
static ENDS: LocalKey<Ends> = LocalKey::new(Ends::default);

/// Calls `end`: now, or, deep within other calls of this function, when the closure of the
/// outermost one has returned. A panic ends there.
pub fn end_in_turn(end: impl FnOnce() + 'static) {
    let depth = ENDS.with(|ends| ends.depth.get());
    if depth == DEEPEST {
        ENDS.with(|ends| ends.waiting.borrow_mut().push_back(Box::new(end)));
        return;
    }
    ENDS.with(|ends| ends.depth.set(depth + 1));
    quietly(end);
    if depth == 0 {
        end_waiting();
    }
    ENDS.with(|ends| ends.depth.set(depth));
}

/// Calls the ends that wait for their turn. For a caller that is about to wait for one of them.
pub fn end_waiting() {
    let next = || ENDS.with(|ends| ends.waiting.borrow_mut().pop_front());
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
    fn a_few_ends_are_parts_of_each_other_and_a_panic_stops_none() {
        let order = Rc::new(RefCell::new(Vec::new()));
        let note = |name: &'static str| {
            let order = Rc::clone(&order);
            move || order.borrow_mut().push(name)
        };
        let (first, second) = (note("first"), note("second"));
        end_in_turn(move || {
            end_in_turn(|| std::panic::resume_unwind(Box::new("on purpose")));
            end_in_turn(second);
            first();
        });
        assert_eq!(*order.borrow(), ["second", "first"]);
    }

    /// Begins an end that is the one of this depth, and in it the next one, up to one that has to
    /// wait. Notes the depths in the order in which they end. The deepest one that runs at once
    /// asks for those that wait, or does not.
    fn nest(depth: usize, asks: bool, order: Rc<RefCell<Vec<usize>>>) {
        end_in_turn(move || {
            if depth <= DEEPEST {
                nest(depth + 1, asks, Rc::clone(&order));
            }
            if depth == DEEPEST && asks {
                end_waiting();
            }
            order.borrow_mut().push(depth);
        });
    }

    #[test]
    fn a_deep_end_comes_last_or_when_it_is_asked_for() {
        let outwards = (1..=DEEPEST).rev();
        let order = Rc::new(RefCell::new(Vec::new()));
        nest(1, false, Rc::clone(&order));
        let last = outwards.clone().chain([DEEPEST + 1]);
        assert_eq!(*order.borrow(), last.collect::<Vec<_>>());
        order.borrow_mut().clear();
        nest(1, true, Rc::clone(&order));
        let asked_for = [DEEPEST + 1].into_iter().chain(outwards);
        assert_eq!(*order.borrow(), asked_for.collect::<Vec<_>>());
    }
}
