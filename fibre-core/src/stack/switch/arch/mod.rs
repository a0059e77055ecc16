//! The code of a context switch.
//!
//! * `x86_64`: for 64-bit x86.
//! * `aarch64`: for 64-bit ARM.
//!
//! A port to another CPU is a file beside them with the same functions.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
pub(in crate::stack) use aarch64::*;
#[cfg(target_arch = "x86_64")]
pub(in crate::stack) use x86_64::*;
