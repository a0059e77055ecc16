//! What C fibres ask of the CPU by instruction.
//!
//! * `x86_64`: that of 64-bit x86.
//!
//! A port to another CPU is a file beside it with the same items.

#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::*;
