//! Arms of objects that are a wait list under a short lock.
//!
//! Most objects of this crate are. An object implements [`Listed`] to show its state; [`ListArm`]
//! does the remaining work.

use crate::faults;
use crate::wait_list::{Claimed, Locked, Node, Place, WaitList};
use fibre_core::internal::Waiter;
use fibre_core::sync::{Framed, planted};
use fibre_core::{Arm, Entered, Left};

/// One kind of wait at an object.
pub(crate) trait Listed {
    /// What the lock protects.
    type State;
    /// What the wait yields.
    type Output;

    /// The lock.
    fn locked(&self) -> &Locked<Self::State>;

    /// The list of those that wait so.
    fn list(state: &mut Self::State) -> &mut WaitList;

    /// Takes what is waited for, if it is there.
    fn take(&self, state: &mut Self::State) -> Option<Self::Output>;

    /// Whether [`take`](Self::take) would find it.
    fn is_there(&self, state: &Self::State) -> bool;

    /// What a waker has handed over; `None` if wakers hand nothing over, and the woken caller looks
    /// for itself.
    fn handed(&self) -> Option<Self::Output>;

    /// Where to enter the list.
    fn place(&self) -> Place {
        Place::Last
    }

    /// Notes that it waits.
    fn begin(&self, _: &mut Self::State) {}

    /// Notes that it waits no more, and has been given nothing. Returns waiters to be resumed.
    fn give_up(&self, _: &mut Self::State) -> Claimed {
        Claimed::none()
    }
}

/// The arm of such a wait.
#[derive(Debug)]
pub(crate) struct ListArm<L> {
    /// The wait.
    on: L,
    /// The place in the list.
    node: Framed<Node>,
}

impl<L: Listed> ListArm<L> {
    /// An arm of this wait.
    pub(crate) fn new(on: L) -> Self {
        let node = Framed::new(Node::new());
        Self { on, node }
    }
}

impl<L: Listed> Arm for ListArm<L> {
    type Output = L::Output;

    fn attempt(&mut self) -> Option<L::Output> {
        self.on.take(&mut self.on.locked().lock())
    }

    unsafe fn enter(&self, waiter: &Waiter) -> Entered {
        let mut state = self.on.locked().lock();
        let looks = !planted(faults::select::ENTERS_WITHOUT_A_LOOK);
        if looks && self.on.is_there(&state) {
            return Entered::Ready;
        }
        self.on.begin(&mut state);
        // SAFETY: the node stays until `leave`; the list is used under this lock only.
        unsafe { L::list(&mut state).enter(&self.node, waiter, self.on.place()) };
        Entered::Waits
    }

    unsafe fn leave(&self, _: &Waiter) -> Left {
        let mut state = self.on.locked().lock();
        // SAFETY: it has entered this list.
        let left = unsafe { L::list(&mut state).leave(&self.node) };
        let next = match left {
            Left::Here => Claimed::none(),
            Left::Elsewhere => self.on.give_up(&mut state),
        };
        drop(state);
        next.resume();
        left
    }

    fn woken(&mut self, _: u32) -> Option<L::Output> {
        self.on.handed().or_else(|| self.attempt())
    }
}

/// An arm that users see, over a [`ListArm`].
macro_rules! list_arm {
    ($(#[$about:meta])* $arm:ident<$($generic:tt),+> [$($bounds:tt)*] over $wait:ty => $output:ty) => {
        $(#[$about])*
        #[must_use = "an arm waits in a selection only"]
        pub struct $arm<$($generic),+>($crate::selection::ListArm<$wait>);

        impl<$($bounds)*> fibre_core::Arm for $arm<$($generic),+> {
            type Output = $output;

            fn attempt(&mut self) -> Option<$output> {
                self.0.attempt()
            }

            unsafe fn enter(&self, waiter: &fibre_core::internal::Waiter) -> fibre_core::Entered {
                // SAFETY: passed on.
                unsafe { self.0.enter(waiter) }
            }

            unsafe fn leave(&self, waiter: &fibre_core::internal::Waiter) -> fibre_core::Left {
                // SAFETY: passed on.
                unsafe { self.0.leave(waiter) }
            }

            fn woken(&mut self, token: u32) -> Option<$output> {
                self.0.woken(token)
            }
        }

        impl<$($bounds)*> std::fmt::Debug for $arm<$($generic),+> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($arm)).finish_non_exhaustive()
            }
        }
    };
}

pub(crate) use list_arm;
