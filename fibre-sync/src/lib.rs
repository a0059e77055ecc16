//! What fibres and threads wait on: [`Mutex`], [`RwLock`], [`Condvar`], [`Semaphore`],
//! [`Barrier`], [`Event`] and [`AutoEvent`], [`WaitGroup`], [`Notify`], [`Once`] and its kin.
//!
//! All of them block the fibre when called by a fibre, and the thread when called by
//! any other thread; fibres and threads may share one object. Each blocking call
//! has a form with a deadline. Nearly all are made of one [`WaitList`] under one short lock
//! and of [`fibre_core::park_until`]; this crate mentions no file descriptor.

mod barrier;
mod binary_semaphore;
pub mod channel;
mod condvar;
#[cfg(not(loom))]
mod contention;
#[cfg(loom)]
#[path = "contention_model.rs"]
mod contention;
mod event;
mod lazy_lock;
pub mod lock;
mod mutex;
mod notify;
mod once;
mod once_lock;
mod once_word;
mod owner;
mod permit;
pub mod raw;
mod raw_rw_lock;
mod rw_lock;
mod rw_word;
mod semaphore;
mod turn;
mod wait_group;
mod wait_list;

pub use barrier::{Barrier, BarrierWaitResult};
pub use binary_semaphore::BinarySemaphore;
pub use condvar::Condvar;
#[cfg(not(loom))]
pub use contention::{ContendedPlace, Contention, contention, profile_contention};
pub use event::{AutoEvent, Event};
pub use lazy_lock::LazyLock;
pub use mutex::{Mutex, MutexGuard};
pub use notify::{Notified, Notify};
pub use once::{Once, OnceState};
pub use once_lock::OnceLock;
pub use permit::SemaphorePermit;
pub use raw_rw_lock::RawRwLock;
pub use rw_lock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use semaphore::Semaphore;
pub use wait_group::{WaitGroup, WaitGroupGuard};
pub use wait_list::{
    Claimed, Locked, Node, Place, Spot, WaitList, wait, wait_at, wait_or_leave, wait_under,
};
