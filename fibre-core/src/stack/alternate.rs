//! The stack that a processor's thread handles signals on: the stack it runs on may be used up.

use std::io;
use std::ops::Range;

/// A thread's signal stack; taken away again on drop, on the same thread.
#[derive(Debug)]
pub(crate) struct AlternateStack {
    /// The memory of the stack.
    start: *mut libc::c_void,
    size: usize,
}

impl AlternateStack {
    /// Bytes; enough for std's handler behind ours and for AVX-512 state.
    const SIZE: usize = 64 << 10;

    /// Bytes where fibres have thread-locals of their own. Code that wants a large signal stack
    /// makes one in a thread-local, unless the thread has as large a one: the kernel would go on
    /// using it after the fibre has ended.
    const LARGE: usize = 256 << 10;

    /// Gives this thread a signal stack of its own; a large one, if fibres have thread-locals of
    /// their own.
    ///
    /// # Errors
    ///
    /// The kernel's, when it has no memory; `ENOSYS` where a sandbox refuses.
    pub(crate) fn install(own_thread_locals: bool) -> io::Result<Self> {
        use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
        let size = if own_thread_locals {
            Self::LARGE
        } else {
            Self::SIZE
        };
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping, which lives until this value is dropped.
        let start =
            unsafe { mmap_anonymous(std::ptr::null_mut(), size, access, MapFlags::PRIVATE)? };
        let stack = libc::stack_t {
            ss_sp: start,
            ss_flags: 0,
            ss_size: size,
        };
        // SAFETY: the memory is ours and stays.
        if unsafe { libc::sigaltstack(&raw const stack, std::ptr::null_mut()) } == 0 {
            Ok(Self { start, size })
        } else {
            // SAFETY: mapped above, and nobody uses it.
            let _ = unsafe { rustix::mm::munmap(start, size) };
            // Made without an allocation; nothing else can be wrong with the stack.
            Err(rustix::io::Errno::NOSYS.into())
        }
    }
}

impl AlternateStack {
    /// Its addresses.
    pub(crate) fn addresses(&self) -> Range<usize> {
        self.start.addr()..self.start.addr() + self.size
    }
}

impl Drop for AlternateStack {
    fn drop(&mut self) {
        let none = libc::stack_t {
            ss_sp: std::ptr::null_mut(),
            ss_flags: libc::SS_DISABLE,
            ss_size: self.size,
        };
        // SAFETY: on the thread that installed it, on its ordinary stack; after the first call the
        // memory is not in use.
        unsafe {
            libc::sigaltstack(&raw const none, std::ptr::null_mut());
            let _ = rustix::mm::munmap(self.start, self.size);
        }
    }
}
