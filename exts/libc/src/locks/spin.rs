//! Spin locks: between two attempts of a fibre others run, the owner among them.

use super::queue::NOT_YET;
use crate::entry::may_switch_as_thread;
use crate::errno;
use crate::next::call_next;
use crate::time::sched_yield;
use libc::pthread_spinlock_t;
use std::ffi::c_int;

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_spin_lock(lock: *mut pthread_spinlock_t) -> c_int {
    if !may_switch_as_thread() {
        return call_next!(pthread_spin_lock: fn(lock => *mut pthread_spinlock_t) -> c_int);
    }
    let number = errno::get();
    loop {
        // SAFETY: the caller's lock.
        match unsafe { libc::pthread_spin_trylock(lock) } {
            NOT_YET => sched_yield(),
            done => {
                errno::set(number);
                return done;
            }
        };
    }
}
