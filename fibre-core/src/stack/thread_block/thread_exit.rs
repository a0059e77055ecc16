//! What ends a thread from within: `pthread_exit`, and a cancellation that the C library acts on.
//!
//! In a fibre with a block they would end the kernel thread that runs it, a processor. glibc goes
//! back to its first function of the thread then, and calls the destructors of values of keys. So
//! each block has a value of a key of ours, and its destructor ends the process with a word on what
//! has happened. Blocks are born with it: the end of a fibre leaves it, and the end of a block
//! takes it away.

use super::init_error::InitError;
use crate::sys::fork::is_forked_child;
use crate::sys::stderr::abort_with;
use std::ffi::c_void;
use std::ptr;
use std::sync::OnceLock;

/// The key.
static KEY: OnceLock<libc::pthread_key_t> = OnceLock::new();

/// Makes the key, once.
///
/// # Errors
///
/// If there is none left.
pub(super) fn prepare() -> Result<(), InitError> {
    if KEY.get().is_some() {
        return Ok(());
    }
    let mut key = 0;
    // SAFETY: room for a key; the destructor bears any value.
    match unsafe { libc::pthread_key_create(&raw mut key, Some(refuse)) } {
        0 => {
            KEY.get_or_init(|| key);
            Ok(())
        }
        _ => Err("there is no free key for values of threads".into()),
    }
}

/// Whether this is the key.
pub(super) fn is_key(key: usize) -> bool {
    KEY.get().is_some_and(|own| *own as usize == key)
}

/// Says whether the calling thread's block refuses such an end from now on.
pub(super) fn refuse_here(refuses: bool) {
    let value = if refuses {
        ptr::dangling()
    } else {
        ptr::null::<c_void>()
    };
    if let Some(key) = KEY.get() {
        // SAFETY: the key stays. Without memory for the value, which glibc has in each block for
        // the first keys, such an end is not noticed.
        unsafe { libc::pthread_setspecific(*key, value) };
    }
}

/// Called at the end of a thread that is a fibre's.
unsafe extern "C" fn refuse(_value: *mut c_void) {
    // The child of a fibre has one thread, which may end.
    if !is_forked_child() {
        abort_with(format_args!(
            "pthread_exit in a fibre with thread-locals of its own, or its cancellation by \
             pthread_cancel: that would end the kernel thread of a processor. Such a fibre ends by \
             a return"
        ));
    }
}
