//! The runtime's code for one kind of CPU, except the switch, which has files of its own
//! ([`stack::switch`](crate::stack)).
//!
//! * `x86_64`: for 64-bit x86.
//!
//! A port to another CPU is a file beside it with the same functions.

#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::*;
