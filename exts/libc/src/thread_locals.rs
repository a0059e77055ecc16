//! The memory of a kernel thread's `thread_local!`s.
//!
//! All fibres of a processor have the same ones. A latch that a crate keeps there, as rayon does
//! for callers other than its threads, serves one wait at a time: if two fibres waited for it, the
//! first to go on would take what was meant for the other. So a wait for a word in that memory is
//! the thread's, as it is without this crate. (What such a crate does between taking the latch and
//! waiting for it may still leave the stack, as rayon's locks: docs/LIBC.md.)
//!
//! It is known of what is there when the program starts. On x86-64 that lies below the address in
//! the thread's register, for all threads in the same way.

use crate::arch::thread_pointer;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many bytes below the address in its register a thread's memory may begin. What a library has
/// that was loaded later lies anywhere.
const MOST: usize = 1 << 20;

/// How many it is.
static SIZE: AtomicUsize = AtomicUsize::new(0);

/// Notes where the memory begins.
pub(crate) fn find() {
    unsafe extern "C" fn look(
        object: *mut libc::dl_phdr_info,
        _: libc::size_t,
        _: *mut c_void,
    ) -> c_int {
        // SAFETY: the caller's object.
        let begin = unsafe { (*object).dlpi_tls_data }.addr();
        let size = thread_pointer().wrapping_sub(begin);
        if begin != 0 && size <= MOST {
            SIZE.fetch_max(size, Ordering::Relaxed);
        }
        0
    }
    // SAFETY: a function that is right for any object, and has no other argument.
    unsafe { libc::dl_iterate_phdr(Some(look), std::ptr::null_mut()) };
}

/// Whether a word lies in a `thread_local!` of the thread that the caller runs on.
#[inline]
pub(crate) fn have(word: usize) -> bool {
    let below = thread_pointer().wrapping_sub(word);
    below != 0 && below <= SIZE.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn each_thread_has_its_own_and_nothing_else() {
        find();
        let check = || {
            // SAFETY: it has no conditions.
            let own = unsafe { libc::__errno_location() }.addr();
            let on_stack = 0_u32;
            let on_heap = Box::new(0_u32);
            assert!(have(own));
            assert!(!have((&raw const on_stack).addr()));
            assert!(!have((&raw const *on_heap).addr()));
            assert!(!have((&raw const SIZE).addr()));
            own
        };
        let elsewhere = thread::spawn(check).join().unwrap();
        assert_ne!(check(), elsewhere);
    }
}
