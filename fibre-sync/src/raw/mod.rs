//! Raw forms, for languages without borrows: what a C library wraps, one to one.
//!
//! Semantics are those of POSIX, and where POSIX leaves something open, glibc's unless that is to
//! hang. All of them
//!
//! * are of fixed size and alignment, usable in statics (`const fn new`), and no larger than
//!   glibc's; all zeros is the initial state, so that a C initialiser is `{0}`. A mutex and a
//!   read-write lock have their kind where glibc's have it, so glibc's other
//!   initialisers are valid, too;
//! * have no guards and no lifetimes. Rust's borrows keep an object alive during a call; a C library
//!   must promise that to each call, and that the object is not moved from its first use on;
//! * return an [`Error`] that maps one to one to an error number, instead of panicking;
//! * are *destroyed* at last. That checks that nobody uses the object ([`Error::Busy`]), and leaves it such
//!   that later calls fail with [`Error::Invalid`].
//!   It frees nothing, so an object that is never destroyed leaks nothing.
//!
//! Whoever gives something back (unlock, post, signal, broadcast, the last one at a barrier) touches
//! nothing of the object once another one can have gone on and freed it.
//!
//! Calls that wait are given a [`Wait`]: until when, and whether they notice that their fibre is
//! cancelled. Fibres and threads mix in every role.

mod barrier;
mod condvar;
mod error;
mod mutex;
mod once;
#[cfg(not(loom))]
mod rwlock;
mod semaphore;
#[cfg(not(loom))]
mod spin;
mod wait;

pub use barrier::Barrier;
pub use condvar::Condvar;
pub use error::{Error, Result};
pub use fibre_core::{Limit, WallTime};
pub use mutex::{Kind, Mutex, Variant};
pub use once::{Once, OnceEntry};
#[cfg(not(loom))]
pub use rwlock::{RwKind, RwLock};
pub use semaphore::Semaphore;
#[cfg(not(loom))]
pub use spin::Spin;
pub use wait::{Clock, Wait};
