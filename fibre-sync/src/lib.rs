//! What fibres and threads wait on: [`Mutex`], [`RwLock`], [`Condvar`], [`Semaphore`],
//! [`Barrier`], [`Event`] and [`AutoEvent`], [`WaitGroup`], [`Notify`], [`Once`] and its kin.
//!
//! If a fibre calls them, they block the fibre; on any other thread they block the thread. Fibres
//! and threads may share one object. Each blocking call has a form with a time-out and one with a
//! [`Limit`](fibre_core::Limit). Nearly all objects consist of one [`WaitList`] under one short
//! lock and use [`Wait::park`](fibre_core::internal::Wait::park). This crate mentions no file
//! descriptor.
//!
//! Modules, lowest first; each imports only from those above it in this list, or beside it:
//!
//! | module | what it is |
//! |---|---|
//! | `faults` | the names of faults that models plant |
//! | `turn` | lets models block on a lock that is a bit of a word |
//! | `owner` | in debug builds, which fibre has a lock |
//! | `contention` | the places where callers wait for locks |
//! | `model` | replaces `turn` and `contention` in models |
//! | `wait_list` | the only way to wait: a first-in first-out list of waiters |
//! | `selection` | waiting for one of several things: `select!` and its engine |
//! | `lock` | locks without a value, from handing over to spinning |
//! | `once_word`, `rw_word` | the words of one-time initialisation and of read-write locks |
//! | `mutex`, `condvar`, `raw_rw_lock`, `rw_lock` | locks with a value |
//! | `owned` | guards with a share of their lock |
//! | `semaphore`, `permit`, `binary_semaphore`, `barrier` | counting and meeting; permits that come back by themselves |
//! | `event`, `notify`, `wait_group` | notifications |
//! | `block_on` | running a future, by a fibre or thread that blocks |
//! | `once`, `once_lock`, `lazy_lock` | one-time initialisation |
//! | `channel` | values from senders to receivers |
//! | `members`, `group` | fibres that succeed or fail together |
//! | `raw` | forms for the C library: no guards, error numbers |

#![cfg_attr(not(any(loom, test)), deny(unreachable_pub, unnameable_types))]
// Unit tests know the threads of the system, so a build of them for models is empty.
#![cfg(not(all(test, loom)))]

mod barrier;
mod binary_semaphore;
mod block_on;
pub mod channel;
mod condvar;
#[cfg_attr(loom, path = "model/contention.rs")]
mod contention;
mod event;
#[doc(hidden)]
pub mod faults;
#[cfg(not(loom))]
mod group;
mod lazy_lock;
pub mod lock;
#[doc(hidden)]
pub mod members;
mod mutex;
mod notify;
mod once;
mod once_lock;
mod once_word;
mod owned;
mod owner;
mod permit;
pub mod raw;
mod raw_rw_lock;
mod rw_lock;
mod rw_word;
pub mod selection;
mod semaphore;
#[cfg_attr(loom, path = "model/turn.rs")]
mod turn;
mod wait_group;
mod wait_list;

pub use barrier::{Barrier, BarrierWaitResult};
pub use binary_semaphore::BinarySemaphore;
pub use block_on::block_on;
pub use condvar::Condvar;
#[cfg(not(loom))]
pub use contention::{ContendedPlace, Contention, contention, profile_contention};
pub use event::{AutoEvent, Event, EventArm};
#[cfg(not(loom))]
pub use group::{
    EndArm, FibreError, Group, GroupBuilder, GroupError, NextArm, Partial, PartialCause, Ready,
    Restarts, StartError, Supervisor, SupervisorBuilder, group,
};
pub use lazy_lock::LazyLock;
pub use mutex::{Mutex, MutexGuard};
pub use notify::{Notified, NotifiedArm, Notify};
pub use once::{Once, OnceState};
pub use once_lock::OnceLock;
pub use owned::{OwnedMutexGuard, OwnedRwLockReadGuard, OwnedRwLockWriteGuard};
pub use permit::{OwnedSemaphorePermit, PermitArm, SemaphorePermit};
pub use raw_rw_lock::RawRwLock;
pub use rw_lock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use semaphore::Semaphore;
pub use wait_group::{WaitGroup, WaitGroupArm, WaitGroupGuard};
pub use wait_list::{Claimed, ListWait, Locked, Node, Place, WaitList};
