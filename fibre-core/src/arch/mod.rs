//! The runtime's code for one kind of CPU, except the switch, which has a folder of its own
//! ([`stack::switch::arch`](crate::stack)).
//!
//! * `x86_64`: for 64-bit x86.
//! * `aarch64`: for 64-bit ARM;
//! * `start`: what a thread of C begins with, on all of them.
//!
//! A port to another CPU is a file beside them with the same functions.

#[cfg(target_arch = "aarch64")]
mod aarch64;
mod start;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
pub(crate) use aarch64::*;
#[cfg(target_arch = "aarch64")]
pub use aarch64::{enter, escape, thread_pointer};
#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::*;
#[cfg(target_arch = "x86_64")]
pub use x86_64::{enter, escape, thread_pointer};

pub use start::Start;

/// How far behind the first of these words the third one lies. In the block of thread-locals of a
/// fibre it is the stack pointer that the block's kernel thread left ([`depart`]).
pub(crate) const DEPARTED: isize = 16;

/// How far behind it the fourth one lies: the thread pointer of the kernel thread that runs the
/// fibre. Zero in the block of a kernel thread.
pub(crate) const CARRIER: isize = 24;

/// How far it is from the calling fibre's block to that of the kernel thread that runs it; zero on
/// a kernel thread's own block.
#[inline(always)]
pub(crate) fn distance_to_carrier() -> usize {
    // SAFETY: every block has the word.
    let carrier = unsafe { thread_word(current_place() + CARRIER) };
    match carrier {
        0 => 0,
        carrier => carrier.wrapping_sub(thread_pointer()),
    }
}
