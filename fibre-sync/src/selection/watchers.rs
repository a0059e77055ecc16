//! Arms for objects of other crates, without unsafe code.
//!
//! An object has [`Watchers`], and notifies them after it has changed. A watching arm looks at the
//! object through a closure, and does not wait if a notification has come since its look:
//! notifications are counted under the list's lock. So it misses none, and takes the object's own
//! locks only outside of that lock.

use super::list_arm::{ListArm, Listed};
use crate::wait_list::{Locked, WaitList};
use fibre_core::internal::Waiter;
use fibre_core::{Arm, Entered, Left};
use std::cell::Cell;
use std::fmt;

/// The selections that watch an object of your own. All zeros is an object that nobody watches.
///
/// Change the object first, and notify then:
///
/// ```
/// use fibre::select::{Arm, Watchers};
/// use std::sync::atomic::{AtomicBool, Ordering};
///
/// #[derive(Default)]
/// struct Switch {
///     on: AtomicBool,
///     watchers: Watchers,
/// }
///
/// impl Switch {
///     fn turn_on(&self) {
///         self.on.store(true, Ordering::Release);
///         self.watchers.notify_all();
///     }
///
///     fn on_arm(&self) -> impl Arm<Output = ()> + '_ {
///         self.watchers.watch(|| self.on.load(Ordering::Acquire).then_some(()))
///     }
/// }
///
/// let switch = Switch::default();
/// fibre::scope(|scope| {
///     let waits = scope.spawn(|| fibre::select! { () = switch.on_arm() => "on" });
///     switch.turn_on();
///     assert_eq!(waits.join().unwrap(), "on");
/// });
/// ```
#[derive(Debug, Default)]
pub struct Watchers {
    /// The watchers.
    state: Locked<State>,
}

/// What the lock protects.
#[derive(Debug, Default)]
struct State {
    /// How many notifications there have been.
    count: u64,
    /// The watchers that wait for one.
    waiting: WaitList,
}

fibre_core::end_of_frame!(Watchers: state);

impl Watchers {
    fibre_core::const_outside_models! {
        /// Nobody watches.
        #[must_use]
        pub const fn new() -> Self {
            Self {
                state: Locked::new(State {
                    count: 0,
                    waiting: WaitList::new(),
                }),
            }
        }
    }

    /// Makes the watcher that has waited longest look again. For a change that any one watcher can
    /// use up. Blocks nothing.
    pub fn notify_one(&self) {
        let mut state = self.state.lock();
        state.count = state.count.wrapping_add(1);
        let first = state.waiting.claim_first(0);
        drop(state);
        if let Some(first) = first {
            first.resume();
        }
    }

    /// Makes all watchers look again. Blocks nothing.
    pub fn notify_all(&self) {
        let mut state = self.state.lock();
        state.count = state.count.wrapping_add(1);
        let all = state.waiting.claim_all(0);
        drop(state);
        all.resume();
    }

    /// An arm that is chosen when `look` returns a value. The selecting fibre or thread calls it
    /// first, and after notifications; a call may find nothing. Whatever it takes from the object
    /// must be in the value.
    pub fn watch<T, F: FnMut() -> Option<T>>(&self, look: F) -> WatchArm<'_, F> {
        let watch = Watch {
            watchers: self,
            seen: Cell::new(0),
        };
        WatchArm {
            list: ListArm::new(watch),
            look,
        }
    }
}

/// A watch, from one look on.
struct Watch<'a> {
    /// The watchers.
    watchers: &'a Watchers,
    /// How many notifications there had been before the last look.
    seen: Cell<u64>,
}

impl Listed for Watch<'_> {
    type State = State;
    type Output = ();

    fn locked(&self) -> &Locked<State> {
        &self.watchers.state
    }

    fn list(state: &mut State) -> &mut WaitList {
        &mut state.waiting
    }

    fn take(&self, state: &mut State) -> Option<()> {
        self.seen.set(state.count);
        Some(())
    }

    fn is_there(&self, state: &State) -> bool {
        state.count != self.seen.get()
    }

    fn handed(&self) -> Option<()> {
        None
    }
}

/// An arm of `select!` that watches an object; made by [`Watchers::watch`].
#[must_use = "an arm waits in a selection only"]
pub struct WatchArm<'a, F> {
    /// The place among the watchers.
    list: ListArm<Watch<'a>>,
    /// Looks at the object.
    look: F,
}

impl<T, F: FnMut() -> Option<T>> Arm for WatchArm<'_, F> {
    type Output = T;

    fn attempt(&mut self) -> Option<T> {
        // Notifications count from before the look.
        let _ = self.list.attempt();
        (self.look)()
    }

    unsafe fn enter(&self, waiter: &Waiter) -> Entered {
        // SAFETY: passed on.
        unsafe { self.list.enter(waiter) }
    }

    unsafe fn leave(&self, waiter: &Waiter) -> Left {
        // SAFETY: passed on.
        unsafe { self.list.leave(waiter) }
    }
}

impl<F> fmt::Debug for WatchArm<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WatchArm").finish_non_exhaustive()
    }
}
