//! What fibres and threads wait on: [`Mutex`], [`Condvar`], [`Semaphore`], [`Once`] and its kin.
//!
//! All of them block the fibre when called by a fibre, and the thread when called by
//! any other thread; fibres and threads may share one object. Each blocking call
//! has a form with a deadline. Nearly all are made of one [`WaitList`] under one short lock
//! and of [`fibre_core::park_until`]; this crate mentions no file descriptor.

mod condvar;
mod lazy_lock;
mod mutex;
mod once;
mod once_lock;
mod once_word;
mod semaphore;
mod wait_list;

pub use condvar::Condvar;
pub use lazy_lock::LazyLock;
pub use mutex::{Mutex, MutexGuard};
pub use once::{Once, OnceState};
pub use once_lock::OnceLock;
pub use semaphore::Semaphore;
pub use wait_list::{Locked, Place, WaitList, wait, wait_at};
