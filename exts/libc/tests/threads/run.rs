//! How a run begins, and what it asks of the kernel.

/// After how many seconds a run that hangs is ended.
const LONG: u32 = 120;

/// Makes the threads of the program fibres.
pub(crate) fn begin() {
    // SAFETY: a number. The cases tie no memory to a kernel thread by a system call.
    unsafe {
        libc::alarm(LONG);
        fibre_libc::threads().unwrap();
    }
}

/// The kernel's number of the calling thread.
pub(crate) fn kernel_thread() -> i32 {
    // SAFETY: asks for a number.
    unsafe { libc::gettid() }
}
