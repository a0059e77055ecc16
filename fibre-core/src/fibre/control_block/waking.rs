//! How fibres are woken and cancelled, as those see it that know of no fibres.

use super::ControlBlock;
use crate::fibre::cancel_batch::Cancellable;
use crate::fibre::{Cancel, Wake};
use crate::sync::asymmetric;
use crate::wait::waiter::Wakeable;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many fibres of the process have been cancelled.
static CANCELLED: AtomicU64 = AtomicU64::new(0);

/// Counts a fibre that is cancelled.
fn count_cancelled() {
    CANCELLED.fetch_add(1, Ordering::Relaxed);
}

/// How many fibres of the process have been cancelled. Several threads that cancel one at the same
/// moment may count it more than once.
pub(crate) fn cancelled_fibres() -> u64 {
    CANCELLED.load(Ordering::Relaxed)
}

impl Cancellable for ControlBlock {
    unsafe fn retain(this: NonNull<Self>) {
        // SAFETY: alive by the reference that the caller knows of.
        unsafe { this.as_ref() }.retain_one();
    }

    unsafe fn cancel_later(this: NonNull<Self>) {
        // SAFETY: alive by the caller's reference.
        unsafe { this.as_ref() }.state.cancel_later();
        count_cancelled();
    }

    unsafe fn begin_cancel(this: NonNull<Self>) -> bool {
        // SAFETY: alive by the caller's reference; queued only if the caller is the one to queue
        // it.
        unsafe {
            if !this.as_ref().state.is_cancelled() {
                count_cancelled();
            }
            match this.as_ref().state.cancel() {
                Cancel::Done => false,
                Cancel::Visit => true,
                Cancel::Enqueue => {
                    Self::enqueue(this);
                    false
                }
            }
        }
    }

    fn membarrier_all() {
        asymmetric::membarrier_all();
    }

    unsafe fn end_cancel(this: NonNull<Self>) {
        // SAFETY: alive by the caller's reference; queued only if the caller is the one to queue
        // it.
        unsafe {
            if this.as_ref().state.visit() {
                Self::enqueue_at_home(this);
            }
        }
    }

    unsafe fn release(this: NonNull<Self>) {
        // SAFETY: passed on.
        unsafe { Self::release(this) };
    }
}

impl Wakeable for ControlBlock {
    #[inline]
    unsafe fn resume(this: NonNull<Self>) {
        // SAFETY: the fibre waits for us, so its block and its home are alive.
        unsafe {
            if this.as_ref().state.wake() == Wake::Enqueue {
                Self::enqueue(this);
            }
        }
    }

    #[inline]
    unsafe fn resume_at_home(this: NonNull<Self>) {
        // SAFETY: the fibre waits for us, at home.
        unsafe { Self::enqueue_at_home(this) };
    }
}
