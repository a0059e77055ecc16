//! The error number of the calling fibre.
//!
//! It is the `errno` of the kernel thread as long as the fibre runs. Fibres switch in calls of this library
//! only, so each call that may switch keeps the number meanwhile (see [`crate::boundary`]).
//!
//! The C library declares the address of `errno` to be a constant of the calling function, and LLVM believes
//! it; after a switch that address may be another thread's. Hence accessors that are
//! never inlined and contain an instruction that nobody can see through, as those of fibre-core's
//! thread-local have it. Their results are used at once. The header defines `errno` by
//! [`fibre_errno_location`], which is no constant.

use std::arch::asm;
use std::ffi::c_int;

/// The error number of the calling fibre or thread.
#[inline(never)]
pub fn get() -> c_int {
    // SAFETY: the address is this thread's, and is used at once.
    let number = unsafe { *libc::__errno_location() };
    opaque();
    number
}

/// Sets it.
#[inline(never)]
pub fn set(number: c_int) {
    // SAFETY: as in `get`.
    unsafe { *libc::__errno_location() = number };
    opaque();
}

/// Something that may touch any memory, as far as LLVM knows.
#[inline(always)]
fn opaque() {
    // SAFETY: no instruction at all.
    unsafe { asm!("", options(nostack, preserves_flags)) };
}

/// Where the error number of the calling fibre is until its next call of this library; what `errno`
/// stands for in programs that include the header.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn fibre_errno_location() -> *mut c_int {
    // SAFETY: no requirement.
    let location = unsafe { libc::__errno_location() };
    opaque();
    location
}
