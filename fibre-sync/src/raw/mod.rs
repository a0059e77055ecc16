//! Raw forms for languages without borrows; a C library wraps them one to one.
//!
//! They behave as POSIX says. If POSIX leaves something open, they behave like glibc, unless glibc
//! hangs. All forms
//!
//! * are of fixed size and alignment, usable in statics (`const fn new`), and no larger than
//!   glibc's; all zeros is the initial state, so that a C initialiser is `{0}`. A mutex and a
//!   read-write lock keep their kind in the same place as glibc's, so glibc's other initialisers
//!   are valid, too;
//! * have no guards and no lifetimes. Rust's borrows keep an object alive during a call; a C
//!   library must promise that to each call, and that the object is not moved from its first use
//!   on;
//! * return an [`Error`] that maps one to one to an error number, instead of panicking;
//! * are *destroyed* at last. That checks that the object is unused ([`Error::Busy`]), and makes
//!   later calls fail with [`Error::Invalid`]. It frees nothing, so an object that is never
//!   destroyed leaks nothing.
//!
//! A caller that releases something (unlock, post, signal, broadcast, the last party of a barrier)
//! does not touch the object once another caller may have gone on and freed it.
//!
//! Waiting calls take a [`Wait`]: until when they wait, and whether they notice cancellation of
//! their fibre. Both fibres and threads may make every call.
//!
//! Files:
//!
//! * `mutex`: mutexes of three kinds;
//! * `condvar`: condition variables;
//! * `rwlock`: read-write locks;
//! * `barrier`: barriers;
//! * `semaphore`: semaphores;
//! * `once`: `pthread_once`;
//! * `spin`: spin locks;
//! * `futex`: words that fibres wait at, by their addresses;
//! * `wait`: how long a call waits;
//! * `error`: what calls fail with.

mod barrier;
mod condvar;
mod error;
mod futex;
mod mutex;
mod once;
mod rwlock;
mod semaphore;
mod spin;
mod wait;

pub use barrier::Barrier;
pub use condvar::Condvar;
pub use error::{Error, Result};
pub use futex::FutexTable;
pub use mutex::{Kind, Mutex, Variant};
pub use once::{Once, OnceEntry};
pub use rwlock::{RwKind, RwLock};
pub use semaphore::Semaphore;
pub use spin::Spin;
pub use wait::{Clock, Wait};
