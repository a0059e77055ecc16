//! A system call, made with the instruction and not through the C library.
//!
//! Its error comes back in a register, so a fibre that has changed its kernel thread may make it
//! ([hazard: `errno`'s address is kept in registers]). And a program's replacement of a C library
//! function cannot come between the runtime and the kernel.
//!
//! [hazard: `errno`'s address is kept in registers]: crate::sys::current

use crate::arch;
use rustix::io::Errno;

/// Makes a system call. The kernel returns the error in a register, so a caller that has switched
/// threads since reads no other thread's `errno`. Blocks the thread if the call does.
///
/// # Errors
///
/// The kernel's.
///
/// # Safety
///
/// The call's own contract.
#[inline(always)]
pub unsafe fn syscall(number: i64, arguments: [usize; 6]) -> Result<usize, Errno> {
    // SAFETY: passed on.
    let result = unsafe { arch::system_call(number, arguments) };
    match result {
        -4095..0 => Err(Errno::from_raw_os_error(-result as i32)),
        value => Ok(value as usize),
    }
}
