//! One queue over all kinds.
//!
//! The kind is a value of the cluster and not a type parameter, so that the runtime is
//! compiled once. What it costs is one well-predicted branch a push and a pop. Asking for
//! emptiness costs none: every kind has its [`Entry`] at the same place.

use super::entry::Entry;
use super::kind::QueueKind;
use super::locked::Locked;
use super::nemesis::Nemesis;
use super::runnable::Runnable;
use super::stub::Stub;
use super::two_ended::TwoEnded;
use super::{Link, Popped, Pushed};
use std::ptr::NonNull;

/// Many producers, one consumer. See the contract in [`crate::queue`].
#[derive(Debug)]
pub struct BasicQueue(Nodes);

/// Declares the nodes of all kinds, and what these have in common; each kind is a value of
/// [`QueueKind`] and a type.
macro_rules! kinds {
    ($($kind:ident),+) => {
        /// The nodes, by kind.
        #[derive(Debug)]
        enum Nodes {
            $(#[doc = concat!("See [`", stringify!($kind), "`].")] $kind($kind),)+
        }

        impl Nodes {
            /// Those of an empty queue.
            fn new(kind: QueueKind) -> Self {
                match kind {
                    $(QueueKind::$kind => Self::$kind($kind::new()),)+
                }
            }

            /// The word by which emptiness and sleep are known.
            #[inline(always)]
            fn entry(&self) -> &Entry {
                match self {
                    $(Self::$kind(nodes) => nodes.entry(),)+
                }
            }

            /// Appends a fibre.
            #[inline(always)]
            fn push(&self, runnable: Runnable) -> Pushed {
                match self {
                    $(Self::$kind(nodes) => nodes.push(runnable),)+
                }
            }

            /// Takes the oldest node out.
            ///
            /// # Safety
            ///
            /// One consumer at a time.
            #[inline(always)]
            unsafe fn pop(&self) -> Popped<NonNull<Link>> {
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

impl BasicQueue {
    /// An empty queue with an awake consumer.
    #[must_use]
    pub fn new(kind: QueueKind) -> Self {
        Self(Nodes::new(kind))
    }

    /// The word by which emptiness and sleep are known.
    #[inline]
    fn entry(&self) -> &Entry {
        self.0.entry()
    }

    /// Whether the queue holds nothing, not even a push in flight.
    ///
    /// Sequentially consistent: after an announcement by a read-modify-write,
    /// the caller either sees a push or is seen by its producer.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.entry().is_empty()
    }

    /// Whether the consumer sleeps here at this moment; a hint.
    #[must_use]
    pub fn is_armed(&self) -> bool {
        self.entry().is_armed()
    }

    /// Appends a fibre. Any thread.
    #[inline]
    pub fn push(&self, runnable: Runnable) -> Pushed {
        self.0.push(runnable)
    }

    /// Puts a fibre before the others, if the kind has two ends; else appends it. Any thread.
    pub fn push_first(&self, runnable: Runnable) -> Pushed {
        match &self.0 {
            Nodes::TwoEnded(nodes) => nodes.push_front(runnable),
            _ => self.push(runnable),
        }
    }

    /// Takes the oldest fibre out; of a kind with two ends the one at the head.
    ///
    /// # Safety
    ///
    /// One consumer at a time.
    #[inline]
    pub unsafe fn pop(&self) -> Popped {
        // SAFETY: one consumer, as the caller promises. A push was given the runnable of what comes
        // out, and it comes out once (invariant 1).
        unsafe { self.0.pop().map(|node| Runnable::new(node)) }
    }

    /// How many nodes it has, without pushes in flight, or `most` if there are more. `None`: the
    /// kind does not tell.
    ///
    /// # Safety
    ///
    /// As for [`pop`](Self::pop).
    #[must_use]
    pub unsafe fn count(&self, most: usize) -> Option<usize> {
        match &self.0 {
            _ if self.is_empty() => Some(0),
            // SAFETY: one consumer, as the caller promises.
            Nodes::Nemesis(nodes) => Some(unsafe { nodes.count(most) }),
            _ => None,
        }
    }

    /// Takes the fibre at the tail out, if the kind has two ends; else the oldest one.
    ///
    /// # Safety
    ///
    /// One consumer at a time.
    pub unsafe fn pop_last(&self) -> Popped {
        match &self.0 {
            // SAFETY: a push was given the runnable of what comes out, and it comes out once
            // (invariant 1).
            Nodes::TwoEnded(nodes) => nodes.pop_last().map(|node| unsafe { Runnable::new(node) }),
            // SAFETY: one consumer, as the caller promises.
            _ => unsafe { self.pop() },
        }
    }

    /// Says that the consumer is about to sleep: the next push is told to wake it.
    /// `false`: the queue is not empty.
    ///
    /// Acquires what producers released, so that a caller that is refused pops.
    #[must_use]
    pub fn arm(&self) -> bool {
        self.entry().arm()
    }

    /// Ends what [`arm`](Self::arm) began, if no push has done so.
    pub fn disarm(&self) {
        self.entry().disarm();
    }
}
