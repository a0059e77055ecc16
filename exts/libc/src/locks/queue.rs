//! Where fibres wait for objects of the C library's, by their addresses.
//!
//! A waiter counts itself, and then tries once more, under the lock of its list. The holder gives
//! an object back first, and then looks at the count. So either the try succeeds, or the waiter is
//! found.

use crate::entry::{is_to_end, plain_calls};
use crate::errno;
use fibre_core::in_fibre;
use fibre_sync::raw::{Error, FutexTable, Wait};
use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU32, Ordering, fence};

/// What an attempt returns if the caller is to wait.
pub(super) const NOT_YET: c_int = libc::EBUSY;

/// The lists.
static TABLE: FutexTable = FutexTable::new();

/// What objects share if their addresses have the same number. It may wake too many; no more.
pub(super) struct Slot {
    /// How many fibres wait.
    fibres: AtomicU32,
    /// How many threads wait for a change of `signals`.
    pub(super) threads: AtomicU32,
    /// How many signals there were to condition variables, a word to wait at.
    pub(super) signals: AtomicU32,
}

/// How many there are.
const SLOTS: usize = 256;

/// The slot of an object.
pub(super) fn slot(object: usize) -> &'static Slot {
    static ALL: [Slot; SLOTS] = [const {
        Slot {
            fibres: AtomicU32::new(0),
            threads: AtomicU32::new(0),
            signals: AtomicU32::new(0),
        }
    }; SLOTS];
    // The golden ratio's digits spread neighbours.
    let mixed = (object >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as usize);
    &ALL[(mixed >> 32) % SLOTS]
}

/// A waiter that has counted itself.
pub(super) struct Counted<'a>(&'a AtomicU32);

impl<'a> Counted<'a> {
    /// Counts the caller.
    pub(super) fn among(count: &'a AtomicU32) -> Self {
        // Sequentially consistent, as what `changed` does.
        count.fetch_add(1, Ordering::SeqCst);
        Self(count)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Waits in a fibre until an attempt returns something else than [`NOT_YET`], and returns that, or
/// an error number. The attempt does not wait. The error number of the thread stays.
pub(super) fn wait_for(object: usize, wait: Wait, mut attempt: impl FnMut() -> c_int) -> c_int {
    let number = errno::get();
    let counted = Counted::among(&slot(object).fibres);
    let done = plain_calls(|| {
        loop {
            let mut done = NOT_YET;
            let look = || {
                done = attempt();
                done == NOT_YET
            };
            match TABLE.wait(object, wait, look) {
                Ok(()) => {}
                Err(Error::Again) => return done,
                Err(error) => return error.number(),
            }
        }
    });
    drop(counted);
    errno::set(number);
    done
}

/// The same in a call that is a cancellation point: `ECANCELED` if the thread is to end.
pub(super) fn wait_cancellably(
    object: usize,
    wait: Wait,
    mut attempt: impl FnMut() -> c_int,
) -> c_int {
    match wait_for(object, wait.cancellable(), &mut attempt) {
        libc::ECANCELED if !is_to_end() => wait_for(object, wait, attempt),
        done => done,
    }
}

/// Tells up to `most` fibres that an object has been given back, after that. It may be gone by now.
pub(super) fn changed(object: usize, most: u32) {
    fence(Ordering::SeqCst);
    if slot(object).fibres.load(Ordering::Relaxed) > 0 {
        let wake = || TABLE.wake(object, most, |_| 0);
        // Processors let no signals in.
        let _ = match in_fibre() {
            true => wake(),
            false => without_signals(wake),
        };
    }
}

/// Calls `f` while the thread lets no signals in: a handler may post a semaphore, and would wait
/// for the lock of a list that its own thread holds.
fn without_signals<R>(f: impl FnOnce() -> R) -> R {
    let mut before = MaybeUninit::uninit();
    // SAFETY: sets of this frame.
    unsafe {
        let mut all = MaybeUninit::uninit();
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_BLOCK, all.as_ptr(), before.as_mut_ptr());
    }
    let done = f();
    // SAFETY: what it was.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut()) };
    done
}
