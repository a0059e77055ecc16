//! Functions of the C library that block, made on a thread of a pool.
//!
//! `errno` and `h_errno` are a thread's, so what such a function leaves there is brought to the
//! caller's. The function finds there what the caller has, as programs set `errno` to zero before
//! calls that tell failures by it alone.
//!
//! A fibre's `h_errno` lies in its record, so its address stays the same wherever the fibre goes:
//! compilers keep it, as the system declares that it is a constant.

use crate::boundary::{contain, keep_errno};
use crate::errno;
use crate::record::of_caller;
use fibre_core::internal::blocking_lookup;
use fibre_core::{blocking, in_fibre};
use fibre_io::posix::boundary::Passed;
use std::ffi::c_int;

unsafe extern "C" {
    /// Where `h_errno` of this thread is.
    safe fn __h_errno_location() -> *mut c_int;
}

/// A call that ends in a foreseeable time, such as one on a file. Blocks the fibre;
/// on a plain thread, just makes the call.
pub fn elsewhere<R>(call: impl FnOnce() -> R) -> R {
    let call = Passed(CallEffects::by(call));
    keep_errno(|| blocking(move || Passed((call.take())())).take()).bring()
}

/// A call that looks something up, which servers elsewhere may have to be asked for. Otherwise as
/// [`elsewhere`], on threads that are for that alone.
pub fn looking_up<R>(call: impl FnOnce() -> R) -> R {
    let call = Passed(CallEffects::by(call));
    keep_errno(|| blocking_lookup(move || Passed((call.take())())).take()).bring()
}

/// A call that waits for what others do, for as long as that takes. Otherwise as [`elsewhere`].
pub fn patiently<R>(call: impl FnOnce() -> R) -> R {
    let call = Passed(CallEffects::by(call));
    keep_errno(|| fibre_io::raw::patiently(move || Passed((call.take())())).take()).bring()
}

/// What a call has left on its thread.
struct CallEffects<R> {
    /// What it returned.
    result: R,
    /// `errno`.
    number: c_int,
    /// `h_errno`.
    host_number: c_int,
}

impl<R> CallEffects<R> {
    /// Makes a call, on whatever thread, with the caller's `errno`.
    fn by(call: impl FnOnce() -> R) -> impl FnOnce() -> Self {
        let number = errno::get();
        move || {
            errno::set(number);
            let result = call();
            Self {
                result,
                number: errno::get(),
                // SAFETY: this thread's.
                host_number: unsafe { *__h_errno_location() },
            }
        }
    }

    /// Leaves the same with the caller.
    fn bring(self) -> R {
        errno::set(self.number);
        set_host_error(self.host_number);
        self.result
    }
}

/// Sets the caller's `h_errno`, and the thread's, of which functions of the system tell (`herror`).
#[inline(never)]
fn set_host_error(number: c_int) {
    // SAFETY: both are the caller's now, and used at once.
    unsafe {
        *__h_errno_location() = number;
        *fibre_h_errno_location() = number;
    }
}

/// Where the `h_errno` of the calling fibre is, as long as that runs; what `h_errno` stands for in
/// mapped programs.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_h_errno_location() -> *mut c_int {
    if !in_fibre() {
        return __h_errno_location();
    }
    contain(|| of_caller().host_error())
}
