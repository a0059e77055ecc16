//! The memory of a kernel thread's `thread_local!`s.
//!
//! All fibres of a processor have the same ones. A latch that a crate keeps there, as rayon does
//! for callers other than its threads, serves one wait at a time: if two fibres waited for it, the
//! first to go on would take what was meant for the other. So a wait for a word in that memory is
//! the thread's, as it is without this crate. (What such a crate does between taking the latch and
//! waiting for it may still leave the stack, as rayon's locks: docs/LIBC.md.)
//!
//! It is known of what is there when the program starts. On x86-64 that lies below the address in
//! the thread's register, on ARM above it, for all threads in the same way.

use crate::arch::{distance, reach};
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many bytes from the address in its register a thread's memory may reach. What a library has
/// that was loaded later lies anywhere.
const MOST: usize = 1 << 20;

/// How many it does.
static SIZE: AtomicUsize = AtomicUsize::new(0);

/// Notes how far the memory reaches.
pub(crate) fn find() {
    unsafe extern "C" fn look(
        object: *mut libc::dl_phdr_info,
        _: libc::size_t,
        _: *mut c_void,
    ) -> c_int {
        // SAFETY: the caller's object.
        let object = unsafe { &*object };
        let begin = object.dlpi_tls_data.addr();
        // SAFETY: the object's headers.
        let headers =
            unsafe { std::slice::from_raw_parts(object.dlpi_phdr, object.dlpi_phnum.into()) };
        let header = headers.iter().find(|header| header.p_type == libc::PT_TLS);
        let size = reach(begin, header.map_or(0, |header| header.p_memsz as usize));
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
    let distance = distance(word);
    distance != 0 && distance <= SIZE.load(Ordering::Relaxed)
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
