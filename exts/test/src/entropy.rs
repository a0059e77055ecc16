//! The random bytes of the fibres of a run.
//!
//! This crate has a function of the C library's name, as `clock` has: so the keys of std's
//! `HashMap`, and what the crates getrandom, rand and uuid draw, follow from the seed wherever the
//! calling thread is the processor of a run. std keeps its keys in a thread-local, and each run has
//! a thread of its own. On all other threads the bytes are the kernel's, as are those of
//! `/dev/urandom` and of a program's own system call everywhere.

use crate::stage::Stage;
use std::ffi::c_void;
use std::slice;

/// The C library's function.
///
/// # Safety
///
/// As that.
#[unsafe(no_mangle)]
unsafe extern "C" fn getrandom(
    buffer: *mut c_void,
    length: libc::size_t,
    flags: libc::c_uint,
) -> libc::ssize_t {
    let fill = |stage: &Stage| {
        // SAFETY: the caller's promise.
        unsafe { buffer.write_bytes(0, length) };
        // SAFETY: the caller's promise, and the bytes have just been written.
        stage.fill(unsafe { slice::from_raw_parts_mut(buffer.cast(), length) });
    };
    let filled = !buffer.is_null() && Stage::of_caller(fill).is_some();
    match filled {
        true => length as libc::ssize_t,
        // SAFETY: the caller's promise; the kernel writes nothing else.
        false => unsafe {
            libc::syscall(libc::SYS_getrandom, buffer, length, flags) as libc::ssize_t
        },
    }
}
