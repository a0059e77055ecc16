//! Mechanisms behind calls of POSIX that have no counterpart in std, for the C library.
//!
//! * `signal_set`: sets of signals as words, and a thread's mask;
//! * `interrupt`: ending a system call of another thread;
//! * `worker`: threads that make calls in a fibre's place;
//! * `held`: locks of the system that such threads hold for fibres;
//! * `nonblock_emulation`: listeners that are non-blocking behind their program's back;
//! * `temporary_fd`: descriptors that a call has for as long as it waits.

pub mod held;
pub mod interrupt;
pub mod nonblock_emulation;
pub mod signal_set;
pub mod temporary_fd;
pub mod worker;

pub use crate::fs::in_place::read_cached;
