//! The signals that a kernel thread blocks, for the life of a value.
//!
//! New threads and started programs inherit them from their starter.
//!
//! The kernel is asked by instruction. `fibre-libc` defines the C library's names, and a thread
//! that is a fibre has a mask of its own there, which is not the kernel thread's.

use crate::sys::syscall::syscall;
use std::mem::MaybeUninit;
use std::ptr;

/// Bytes of the kernel's own form of a set, which the C library's begins with.
const KERNEL_SET: usize = size_of::<u64>();

/// Signals that a thread's own mistakes raise, and SIGPROF: unless it was blocked before, a thread
/// of ours gets it.
const HEARD: [libc::c_int; 6] = [
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGSYS,
    libc::SIGABRT,
    libc::SIGPROF,
];

/// Blocks certain signals, and no others, on the thread that has made it, until it is dropped
/// there.
pub(crate) struct SignalMask {
    /// The signals that were blocked before.
    before: libc::sigset_t,
}

impl SignalMask {
    /// Blocks these signals.
    pub(crate) fn set(blocked: &libc::sigset_t) -> Self {
        let before = change(Some(blocked));
        Self { before }
    }

    /// Blocks all signals that come from outside. Those that the thread's own mistakes raise, and
    /// SIGPROF, are left as they are: if the thread blocks one, it stays blocked, as a caller may
    /// wait for it. But the signals that report a stack's overflow are unblocked.
    pub(crate) fn asynchronous() -> Self {
        let before = blocked();
        // SAFETY: plain sets of bits, valid for the calls.
        let blocked = unsafe {
            let mut blocked: libc::sigset_t = std::mem::zeroed();
            libc::sigfillset(&raw mut blocked);
            for heard in [libc::SIGSEGV, libc::SIGBUS] {
                libc::sigdelset(&raw mut blocked, heard);
            }
            for heard in HEARD {
                if libc::sigismember(&raw const before, heard) == 0 {
                    libc::sigdelset(&raw mut blocked, heard);
                }
            }
            blocked
        };
        Self::set(&blocked)
    }
}

impl Drop for SignalMask {
    fn drop(&mut self) {
        block(&self.before);
    }
}

/// What the calling thread blocks.
pub(crate) fn blocked() -> libc::sigset_t {
    change(None)
}

/// Makes the calling thread block these signals, and no others, for good.
pub(crate) fn block(blocked: &libc::sigset_t) {
    change(Some(blocked));
}

/// Makes the calling thread block a set, if there is one; what it has blocked before.
fn change(blocked: Option<&libc::sigset_t>) -> libc::sigset_t {
    let blocked: *const libc::sigset_t = blocked.map_or(ptr::null(), ptr::from_ref);
    let mut before = MaybeUninit::<libc::sigset_t>::zeroed();
    let arguments = [
        libc::SIG_SETMASK as usize,
        blocked.expose_provenance(),
        before.as_mut_ptr().expose_provenance(),
        KERNEL_SET,
        0,
        0,
    ];
    // SAFETY: sets that are valid for the call, which cannot fail then. All zeros is one.
    unsafe {
        let _ = syscall(libc::SYS_rt_sigprocmask, arguments);
        before.assume_init()
    }
}
