//! The error number of the calling fibre.
//!
//! It is the `errno` of the kernel thread as long as the fibre runs. Fibres switch in calls of this
//! library only, so each call that may switch keeps the number meanwhile (see [`crate::boundary`]).
//!
//! The C library declares the address of `errno` to be a constant of the calling function, and LLVM
//! believes it; after a switch that address may be another thread's. Hence accessors that keep no
//! address: the C library has `errno` at the same distance from all threads' pointers (it is a
//! thread-local of the initial-exec model there), so each access is one volatile `asm!` with the
//! segment register in it, as those of fibre-core's thread-locals are. The header defines `errno`
//! by [`fibre_errno_location`], which is no constant.

use crate::arch;
use std::ffi::c_int;
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicIsize, AtomicPtr, Ordering};

/// Of [`DISTANCE`]: the thread's pointer itself is there.
const UNKNOWN: isize = 0;

/// Of [`DISTANCE`]: it is found each time, as calls are watched. For good.
const WATCHED: isize = 1;

/// Whether that is the distance: what a program begins with lies below the thread's pointer.
#[inline(always)]
const fn is_known(distance: isize) -> bool {
    distance < 0
}

/// How far `errno` is from the thread's pointer, or one of those above.
static DISTANCE: AtomicIsize = AtomicIsize::new(UNKNOWN);

/// See [`watch_calls`]; null for none.
static WATCH: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());

/// The error number of the calling fibre or thread.
#[inline(always)]
pub fn get() -> c_int {
    // SAFETY: the distance is that of this thread's error number.
    unsafe { arch::thread_number(distance()) }
}

/// The error number, for a call that may leave the stack and [comes back](come_back) with it.
#[inline(always)]
pub fn leave() -> c_int {
    if !is_known(DISTANCE.load(Ordering::Relaxed)) {
        watched(true);
    }
    get()
}

/// Sets the error number at the end of such a call.
#[inline(always)]
pub fn come_back(number: c_int) {
    if !is_known(DISTANCE.load(Ordering::Relaxed)) {
        watched(false);
    }
    set(number);
}

/// Has a function called where a call that may leave the stack begins (`true`) and ends, from now
/// on. The distance counts as unknown then, so that the usual way pays for one look.
pub fn watch_calls(watch: fn(bool)) {
    WATCH.store(watch as *mut (), Ordering::Release);
    DISTANCE.store(WATCHED, Ordering::Release);
}

/// Calls the function of [`watch_calls`], if there is one.
#[cold]
#[inline(never)]
fn watched(leaves: bool) {
    let watch = WATCH.load(Ordering::Acquire);
    if !watch.is_null() {
        // SAFETY: only such functions are kept there.
        unsafe { mem::transmute::<*mut (), fn(bool)>(watch)(leaves) };
    }
}

/// Sets it.
#[inline(always)]
pub fn set(number: c_int) {
    // SAFETY: the distance is that of this thread's error number.
    unsafe { arch::set_thread_number(distance(), number) };
}

/// [`DISTANCE`], found out at the first call.
#[inline(always)]
fn distance() -> isize {
    match DISTANCE.load(Ordering::Relaxed) {
        known if is_known(known) => known,
        _ => find(),
    }
}

/// Finds it out.
#[cold]
#[inline(never)]
fn find() -> isize {
    let distance = (fibre_errno_location() as isize).wrapping_sub(arch::thread_pointer());
    let _ = DISTANCE.compare_exchange(UNKNOWN, distance, Ordering::Relaxed, Ordering::Relaxed);
    distance
}

/// Where the error number of the calling fibre is until its next call of this library; what `errno`
/// stands for in programs that include the header.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn fibre_errno_location() -> *mut c_int {
    // SAFETY: no requirement.
    let location = unsafe { libc::__errno_location() };
    arch::opaque();
    location
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each thread's own, and the one that the C library means.
    #[test]
    fn it_is_that_of_the_thread() {
        set(1);
        let other = std::thread::spawn(|| {
            set(2);
            // SAFETY: no such descriptor.
            assert_eq!(unsafe { libc::close(-1) }, -1);
            (get(), std::io::Error::last_os_error().raw_os_error())
        });
        assert_eq!(other.join().unwrap(), (libc::EBADF, Some(libc::EBADF)));
        assert_eq!(get(), 1);
        assert_eq!(std::io::Error::last_os_error().raw_os_error(), Some(1));
    }
}
