//! The stack that a processor's thread handles signals on: the stack it runs on may be used up.

use super::size::PAGE;
use std::io;

/// A thread's signal stack; taken away again on drop, on the same thread.
#[derive(Debug)]
pub(crate) struct AlternateStack {
    /// The memory of the stack.
    start: *mut libc::c_void,
}

impl AlternateStack {
    /// Bytes; enough for std's handler behind ours and for AVX-512 state.
    const SIZE: usize = 16 * PAGE;

    /// Gives this thread a signal stack of its own.
    ///
    /// # Errors
    ///
    /// The kernel's, when it has no memory; `ENOSYS` where a sandbox refuses.
    pub(crate) fn install() -> io::Result<Self> {
        use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping, which lives until this value is dropped.
        let start =
            unsafe { mmap_anonymous(std::ptr::null_mut(), Self::SIZE, access, MapFlags::PRIVATE)? };
        let stack = libc::stack_t {
            ss_sp: start,
            ss_flags: 0,
            ss_size: Self::SIZE,
        };
        // SAFETY: the memory is ours and stays.
        if unsafe { libc::sigaltstack(&raw const stack, std::ptr::null_mut()) } == 0 {
            Ok(Self { start })
        } else {
            // SAFETY: mapped above, and nobody uses it.
            let _ = unsafe { rustix::mm::munmap(start, Self::SIZE) };
            // Made without an allocation; nothing else can be wrong with the stack.
            Err(rustix::io::Errno::NOSYS.into())
        }
    }
}

impl Drop for AlternateStack {
    fn drop(&mut self) {
        let none = libc::stack_t {
            ss_sp: std::ptr::null_mut(),
            ss_flags: libc::SS_DISABLE,
            ss_size: Self::SIZE,
        };
        // SAFETY: on the thread that installed it, on its ordinary stack; after the first call the
        // memory is not in use.
        unsafe {
            libc::sigaltstack(&raw const none, std::ptr::null_mut());
            let _ = rustix::mm::munmap(self.start, Self::SIZE);
        }
    }
}
