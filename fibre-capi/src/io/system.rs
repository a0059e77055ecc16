//! System calls, whose errors come in a register: after a switch, no thread's `errno` may be read.

use rustix::io::Errno;
use std::arch::asm;
use std::ffi::c_long;

/// Makes a system call. Blocks the thread if that does.
///
/// # Safety
///
/// As the system call says.
///
/// # Errors
///
/// The kernel's.
#[inline(always)]
pub unsafe fn call_kernel(number: c_long, arguments: [usize; 6]) -> Result<usize, Errno> {
    let [first, second, third, fourth, fifth, sixth] = arguments;
    let result: isize;
    // SAFETY: the kernel changes these registers, and what the caller answers for.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") first,
            in("rsi") second,
            in("rdx") third,
            in("r10") fourth,
            in("r8") fifth,
            in("r9") sixth,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    if (-4095..0).contains(&result) {
        // In that range it fits.
        return Err(Errno::from_raw_os_error(-result as i32));
    }
    Ok(result.cast_unsigned())
}

/// Makes a system call with up to six arguments, integers and pointers alike.
macro_rules! system {
    ($number:ident $(, $argument:expr)* $(,)?) => {{
        use $crate::io::system::{Argument, call_kernel};
        let given: &[usize] = &[$(Argument::word($argument)),*];
        let mut arguments = [0; 6];
        arguments[..given.len()].copy_from_slice(given);
        // SAFETY: the arguments are what the C program has passed, or lie in the caller's frame.
        unsafe { call_kernel(libc::$number, arguments) }
    }};
}
pub(crate) use system;

/// What a system call takes.
pub trait Argument {
    /// The word that is passed to the kernel.
    fn word(self) -> usize;
}

impl Argument for usize {
    #[inline(always)]
    fn word(self) -> usize {
        self
    }
}

impl Argument for i32 {
    #[inline(always)]
    fn word(self) -> usize {
        (self as isize).cast_unsigned()
    }
}

impl Argument for u32 {
    #[inline(always)]
    fn word(self) -> usize {
        self as usize
    }
}

impl Argument for i64 {
    #[inline(always)]
    fn word(self) -> usize {
        (self as isize).cast_unsigned()
    }
}

impl<T> Argument for *const T {
    #[inline(always)]
    fn word(self) -> usize {
        self.addr()
    }
}

impl<T> Argument for *mut T {
    #[inline(always)]
    fn word(self) -> usize {
        self.addr()
    }
}
