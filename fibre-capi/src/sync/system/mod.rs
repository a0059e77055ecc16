//! Objects of the system's C library, for what processes share: those with
//! `PTHREAD_PROCESS_SHARED`, robust mutexes, and semaphores with a name.
//!
//! They lie where ours would, in the program's memory, and are the system's own: a process that
//! knows nothing of fibres may be on the other side, and may have made them. The caller itself
//! makes a call that need not wait. A fibre that has to wait does so by a thread
//! ([`fibre_io::posix::worker`]). It takes and gives back locks that know their owner by a thread
//! that it keeps meanwhile ([`fibre_io::posix::held`]). Plain threads just make the system's calls.
//!
//! Files:
//!
//! * `object`: what calls on the system's objects have in common;
//! * `mutex`: mutexes;
//! * `cond`: condition variables;
//! * `rwlock`: read-write locks;
//! * `barrier`: barriers, for which a thread waits in the fibre's place;
//! * `semaphore`: semaphores, with a name or between processes.
//!
//! # How a call tells them from ours
//!
//! The system writes into each object whether processes share it, and never changes that; a *tag*
//! is where that stands. In ours the same bytes are never so:
//!
//! | object | tag of the system's | in ours |
//! |---|---|---|
//! | mutex | byte 16, the kind, has bit 7 | kind and variant, at most 23; 255 if destroyed, by either |
//! | condition variable | word 36, or 28 since version 2.41, has bit 0 | zero: unused |
//! | read-write lock | word 28 is 1 | zero: unused |
//! | barrier | word 12 is 128, and word 28 is not word 8 | word 28 and word 8 both are the parties, or word 12 is zero |
//! | semaphore | word 8 is 128 | zero: unused |
//!
//! Other libraries, and later versions, might put it elsewhere. So before a call makes or opens an
//! object, `is_offered` of its kind makes samples and looks; the call refuses a kind without its
//! tag, as `docs/c/sync.md` says.

pub mod barrier;
pub mod cond;
pub mod mutex;
pub mod object;
pub mod rwlock;
pub mod semaphore;
