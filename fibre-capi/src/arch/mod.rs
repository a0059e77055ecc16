//! What C fibres ask of the CPU by instruction.
//!
//! * `x86_64`: that of 64-bit x86.
//!
//! A port to another CPU is a file beside it with the same items.

#[cfg(not(target_arch = "x86_64"))]
compile_error!(
    "the C library of fibre is for x86-64 only: the system's objects, in which its own lie, have other \
     sizes elsewhere. Programs in Rust run on 64-bit ARM, too"
);

#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::*;
