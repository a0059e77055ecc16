//! Cancellation, as POSIX has it: deferred to the calls that are cancellation points.
//!
//! It is that of fibre-core: a cancelled fibre finds out in such a call, which then ends it
//! ([`leave`]). A fibre that does not want to know of it is in a shield. The asynchronous type is
//! accepted. A fibre that computes cannot be interrupted, so with this type, too, it ends at a
//! cancellation point; but then the calls here, which say what is to become of a request, are
//! such points.

use crate::boundary::{keep_errno, keep_errno_cancellable};
pub use crate::exit::leave;
use crate::record::{Record, Refused, fibre_t, of_caller, of_fibre};
use fibre_core::cancellation_point;
use fibre_core::internal::{lower_shield, raise_shield};
use std::ffi::c_int;

/// `PTHREAD_CANCEL_ENABLE`.
const ENABLE: c_int = 0;
/// `PTHREAD_CANCEL_DISABLE`.
const DISABLE: c_int = 1;
/// `PTHREAD_CANCEL_DEFERRED`.
const DEFERRED: c_int = 0;
/// `PTHREAD_CANCEL_ASYNCHRONOUS`.
const ASYNCHRONOUS: c_int = 1;

/// `pthread_cancel`: cancels a fibre, which ends at its next cancellation point; the caller itself
/// in this call, if its type is the asynchronous one. `ESRCH` if it has ended; `ENOTSUP` for a
/// plain thread.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn fibre_cancel(thread: fibre_t) -> c_int {
    let cancelled = keep_errno(|| {
        Record::with(thread, |_, fibre| match fibre {
            Some(fibre) => {
                fibre.cancel();
                0
            }
            None => libc::ENOTSUP,
        })
    });
    if cancelled == Ok(0) {
        leave_if_asynchronous();
    }
    cancelled.unwrap_or_else(Refused::number)
}

/// Ends the calling fibre if it has been cancelled, and is of the asynchronous type.
#[inline]
fn leave_if_asynchronous() {
    if of_fibre().is_some_and(|record| record.asynchronous.get()) {
        fibre_testcancel();
    }
}

/// `pthread_testcancel`: ends the calling fibre if it has been cancelled.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn fibre_testcancel() {
    if keep_errno_cancellable(cancellation_point).is_err() {
        leave();
    }
}

/// `pthread_setcancelstate`: whether the calling fibre is ended if it is cancelled: in this call,
/// if it has been and its type is the asynchronous one. `EINVAL` for an unknown state.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn fibre_setcancelstate(state: c_int, old: *mut c_int) -> c_int {
    let wanted = match state {
        ENABLE => false,
        DISABLE => true,
        _ => return libc::EINVAL,
    };
    let record = of_caller();
    let before = record.set_deaf(wanted);
    if before != wanted && of_fibre().is_some() {
        if wanted {
            raise_shield();
        } else {
            lower_shield();
        }
    }
    if !old.is_null() {
        // SAFETY: the caller's place for it.
        unsafe { *old = if before { DISABLE } else { ENABLE } };
    }
    if !wanted {
        leave_if_asynchronous();
    }
    0
}

/// `pthread_setcanceltype`: accepts both types. A request that is pending acts in a call that sets
/// the asynchronous one; later ones act at cancellation points, with either type. `EINVAL` for
/// another type.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn fibre_setcanceltype(kind: c_int, old: *mut c_int) -> c_int {
    let wanted = match kind {
        DEFERRED => false,
        ASYNCHRONOUS => true,
        _ => return libc::EINVAL,
    };
    let before = of_caller().asynchronous.replace(wanted);
    if !old.is_null() {
        // SAFETY: the caller's place for it.
        unsafe { *old = if before { ASYNCHRONOUS } else { DEFERRED } };
    }
    leave_if_asynchronous();
    0
}
