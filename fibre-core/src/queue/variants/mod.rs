//! The kinds of queue that a [`QueueKind`] names, a file for each; see their contract in
//! [`crate::queue`].
//!
//! * `nemesis`: the Nemesis queue, which is the default;
//! * `stub`: a queue with a stub node;
//! * `locked`: a list under a lock;
//! * `two_ended`: a deque under a lock.
//!
//! A new one is a file here with `new`, `entry`, `push` and `pop`, its `mod` line, its name in
//! `kinds!` below, and a row of `queue/kind.rs`.

mod locked;
mod nemesis;
mod stub;
mod two_ended;

use super::entry::Entry;
use super::kind::QueueKind;
use super::link::Link;
use super::runnable::Runnable;
use super::{Popped, Pushed};
use locked::Locked;
use nemesis::Nemesis;
use std::ptr::NonNull;
use stub::Stub;
use two_ended::TwoEnded;

/// Declares the nodes of all kinds, and what these have in common; each kind is a value of
/// [`QueueKind`] and a type.
macro_rules! kinds {
    ($($kind:ident),+) => {
        /// The nodes, by kind.
        #[derive(Debug)]
        pub(super) enum Nodes {
            $(#[doc = concat!("See [`", stringify!($kind), "`].")] $kind($kind),)+
        }

        impl Nodes {
            /// Those of an empty queue.
            pub(super) fn new(kind: QueueKind) -> Self {
                match kind {
                    $(QueueKind::$kind => Self::$kind($kind::new()),)+
                }
            }

            /// The word by which emptiness and sleep are known.
            #[inline(always)]
            pub(super) fn entry(&self) -> &Entry {
                match self {
                    $(Self::$kind(nodes) => nodes.entry(),)+
                }
            }

            /// Appends a fibre. Any thread.
            #[inline(always)]
            pub(super) fn push(&self, runnable: Runnable) -> Pushed {
                match self {
                    $(Self::$kind(nodes) => nodes.push(runnable),)+
                }
            }

            /// Takes the oldest node out; of a kind with two ends the one at the head.
            ///
            /// # Safety
            ///
            /// One consumer at a time.
            #[inline(always)]
            pub(super) unsafe fn pop(&self) -> Popped<NonNull<Link>> {
                // SAFETY: one consumer, as the caller promises.
                unsafe {
                    match self {
                        $(Self::$kind(nodes) => nodes.pop(),)+
                    }
                }
            }
        }
    };
}

kinds!(Nemesis, Stub, Locked, TwoEnded);

/// What kinds do in their own way.
impl Nodes {
    /// Puts a fibre before the others, if the kind has two ends; else appends it. Any thread.
    pub(super) fn push_first(&self, runnable: Runnable) -> Pushed {
        match self {
            Self::TwoEnded(nodes) => nodes.push_front(runnable),
            _ => self.push(runnable),
        }
    }

    /// Takes the node at the tail out, if the kind has two ends; else the oldest one.
    ///
    /// # Safety
    ///
    /// One consumer at a time.
    pub(super) unsafe fn pop_last(&self) -> Popped<NonNull<Link>> {
        match self {
            Self::TwoEnded(nodes) => nodes.pop_last(),
            // SAFETY: one consumer, as the caller promises.
            _ => unsafe { self.pop() },
        }
    }

    /// How many nodes there are, without pushes in flight, or `most` if there are more. `None`: the
    /// kind does not tell.
    ///
    /// # Safety
    ///
    /// As for [`pop`](Self::pop).
    pub(super) unsafe fn count(&self, most: usize) -> Option<usize> {
        match self {
            // SAFETY: one consumer, as the caller promises.
            Self::Nemesis(nodes) => Some(unsafe { nodes.count(most) }),
            _ => None,
        }
    }
}
