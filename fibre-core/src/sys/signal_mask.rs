//! The signals that a kernel thread blocks, for the life of a value.
//!
//! New threads and started programs inherit them from their starter.

use std::ptr;

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
        // SAFETY: plain sets of bits, valid for the call.
        unsafe {
            let mut before: libc::sigset_t = std::mem::zeroed();
            libc::pthread_sigmask(libc::SIG_SETMASK, blocked, &raw mut before);
            Self { before }
        }
    }

    /// Blocks all signals that come from outside. Those that the thread's own mistakes raise, and
    /// SIGPROF, are left as they are: if the thread blocks one, it stays blocked, as a caller may
    /// wait for it. But the signals that report a stack's overflow are unblocked.
    pub(crate) fn asynchronous() -> Self {
        // SAFETY: plain sets of bits, valid for the calls.
        let blocked = unsafe {
            let mut before: libc::sigset_t = std::mem::zeroed();
            libc::pthread_sigmask(libc::SIG_SETMASK, ptr::null(), &raw mut before);
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
        // SAFETY: the set that was there before.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, ptr::null_mut())
        };
    }
}
