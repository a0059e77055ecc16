//! Raw forms, for languages without borrows: what a C library wraps, one to one.
//!
//! Semantics are those of POSIX, and where POSIX leaves something open, glibc's unless that is to
//! hang. All of them
//!
//! * are of fixed size and alignment, usable in statics (`const fn new`); all zeros is the
//!   initial state, so that a C initialiser is `{0}`; a mutex of another kind than
//!   [`Kind::Normal`] has an initialiser of its own;
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
#[cfg(not(loom))]
mod once;
#[cfg(not(loom))]
mod rwlock;
#[cfg(not(loom))]
mod semaphore;
#[cfg(not(loom))]
mod spin;
mod wait;

pub use barrier::Barrier;
pub use condvar::Condvar;
pub use error::{Error, Result};
pub use mutex::{Kind, Mutex};
#[cfg(not(loom))]
pub use once::Once;
#[cfg(not(loom))]
pub use rwlock::RwLock;
#[cfg(not(loom))]
pub use semaphore::Semaphore;
#[cfg(not(loom))]
pub use spin::Spin;
pub use wait::{Clock, Wait};
