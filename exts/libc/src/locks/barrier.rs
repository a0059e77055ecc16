//! Barriers. The C library's has no attempt. So one that no other process shares is ours, in its
//! memory, if it is made where threads are, or will be, fibres. Its last word tells the two apart:
//! the number of parties, or zero.

use crate::errno;
use crate::next::call_next;
use crate::threads::wants_fibres;
use fibre_sync::raw::{Barrier, Wait};
use libc::{pthread_barrier_t, pthread_barrierattr_t};
use std::ffi::{c_int, c_uint};

const _: () = assert!(
    size_of::<Barrier>() == size_of::<pthread_barrier_t>()
        && align_of::<Barrier>() <= align_of::<pthread_barrier_t>()
);

/// `PTHREAD_BARRIER_SERIAL_THREAD`.
const SERIAL: c_int = -1;

/// The last word of a barrier, which the C library leaves alone.
fn last_word(barrier: *mut pthread_barrier_t) -> *mut u32 {
    const LAST: usize = size_of::<pthread_barrier_t>() - size_of::<u32>();
    barrier.wrapping_byte_add(LAST).cast()
}

/// The barrier of ours there.
unsafe fn ours<'a>(barrier: *mut pthread_barrier_t) -> Option<&'a Barrier> {
    // SAFETY: the caller's barrier, which has been made here.
    unsafe { (last_word(barrier).read_volatile() != 0).then(|| &*barrier.cast::<Barrier>()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_barrier_init(
    barrier: *mut pthread_barrier_t,
    attributes: *const pthread_barrierattr_t,
    parties: c_uint,
) -> c_int {
    let made = call_next!(pthread_barrier_init: fn(
        barrier => *mut pthread_barrier_t,
        attributes => *const pthread_barrierattr_t,
        parties => c_uint
    ) -> c_int);
    if made != 0 {
        return made;
    }
    // SAFETY: null, or the caller's attributes.
    let is_shared = !attributes.is_null()
        && unsafe {
            let mut shared = 0;
            libc::pthread_barrierattr_getpshared(attributes, &raw mut shared);
            shared == libc::PTHREAD_PROCESS_SHARED
        };
    // SAFETY: the caller's place, which has been written already.
    unsafe {
        match wants_fibres() && !is_shared {
            true => barrier.cast::<Barrier>().write(Barrier::new(parties)),
            false => last_word(barrier).write(0),
        }
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_barrier_wait(barrier: *mut pthread_barrier_t) -> c_int {
    // SAFETY: the caller's barrier.
    let Some(ours) = (unsafe { ours(barrier) }) else {
        return call_next!(pthread_barrier_wait: fn(barrier => *mut pthread_barrier_t) -> c_int);
    };
    let number = errno::get();
    let waited = ours.wait(Wait::FOREVER);
    errno::set(number);
    match waited {
        Ok(true) => SERIAL,
        Ok(false) => 0,
        Err(error) => error.number(),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_barrier_destroy(barrier: *mut pthread_barrier_t) -> c_int {
    // SAFETY: the caller's barrier.
    match unsafe { ours(barrier) } {
        Some(ours) => ours.destroy().map_or_else(|error| error.number(), |()| 0),
        None => {
            call_next!(pthread_barrier_destroy: fn(barrier => *mut pthread_barrier_t) -> c_int)
        }
    }
}
