//! The signals that a kernel thread blocks, for as long as something lasts.
//!
//! New threads and started programs inherit them from the thread that starts them.

use std::ptr;

/// Signals that come of a thread's own mistakes, and SIGPROF: unless it was blocked before, a thread of ours hears of it.
const HEARD: [libc::c_int; 6] = [
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGSYS,
    libc::SIGABRT,
    libc::SIGPROF,
];

/// Blocks certain signals, and no others, on the thread that has made it, until it is dropped there.
pub struct SignalMask {
    /// What was blocked before.
    before: libc::sigset_t,
}

impl SignalMask {
    /// Blocks these.
    pub fn set(blocked: &libc::sigset_t) -> Self {
        // SAFETY: plain sets of bits, valid for the call.
        unsafe {
            let mut before: libc::sigset_t = std::mem::zeroed();
            libc::pthread_sigmask(libc::SIG_SETMASK, blocked, &raw mut before);
            Self { before }
        }
    }

    /// Blocks all that come from outside: only what the thread itself does wrong raises others, and SIGPROF. Of these, what the
    /// thread blocks stays blocked, as somebody may wait for it; but for those that tell of a stack's overflow.
    pub fn asynchronous() -> Self {
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
        // SAFETY: what was there.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, ptr::null_mut())
        };
    }
}
