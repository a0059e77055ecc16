//! Where a thread's memory lies, by the kind of CPU.
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
pub(crate) use aarch64::*;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::*;
