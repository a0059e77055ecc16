//! The end of a fibre with thread-locals of its own: what happens at the end of a thread.

use super::layout::{self, FIRST_LEVEL, Key, KeyValue, Layout, SECOND_LEVEL};
use super::{robust, thread_exit};
use crate::arch;
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How often values of keys are looked for, as their destructors may set others.
const ROUNDS: usize = 4;

/// Calls the destructors of the calling fibre's thread-locals, the first thing at the end of a
/// thread. They may block the fibre.
///
/// # Safety
///
/// As for [`end_of_thread`].
pub(crate) unsafe fn end_thread_locals() {
    // SAFETY: the caller's promise.
    unsafe { (layout::known().call_destructors)() };
}

/// Calls the destructors of the calling fibre's thread-locals and of its values of keys. They may
/// block the fibre.
///
/// # Safety
///
/// The caller is a fibre with a block, about to end. It comes back to none of its thread-locals.
pub(crate) unsafe fn end_of_thread() {
    let layout = layout::known();
    // SAFETY: the caller's promise. The C library does the same at the end of a thread.
    unsafe {
        (layout.call_destructors)();
        for _ in 0..ROUNDS {
            if !end_values(layout) {
                break;
            }
            // These may have made thread-locals again, which must not outlive the block's renewal.
            (layout.call_destructors)();
        }
        robust::give_up(layout);
    }
}

/// Takes back what the calling fibre has set of its thread: the locale, and how it can be
/// cancelled.
///
/// # Safety
///
/// As for [`end_of_thread`], and after it.
pub(crate) unsafe fn reset_thread() {
    // SAFETY: the caller's promise.
    unsafe {
        libc::uselocale(LC_GLOBAL_LOCALE);
        // The type first: a request that is pending must not take effect here.
        pthread_setcanceltype(0, ptr::null_mut());
        pthread_setcancelstate(0, ptr::null_mut());
    }
}

/// The locale of the process.
const LC_GLOBAL_LOCALE: libc::locale_t = ptr::without_provenance_mut(usize::MAX);

unsafe extern "C" {
    fn pthread_setcancelstate(state: i32, before: *mut i32) -> i32;
    fn pthread_setcanceltype(kind: i32, before: *mut i32) -> i32;
}

/// Forgets the calling fibre's values of keys, and calls no destructor: the process ends.
///
/// # Safety
///
/// The caller is a fibre with a block, which does not come back to any of these values.
pub(crate) unsafe fn forget_values() {
    // SAFETY: the caller's promise. Each place is that of a value.
    unsafe { for_each_place(layout::known(), |place, _| (*place).value = ptr::null_mut()) };
}

/// Ends the calling fibre's values of keys. Whether there were any.
///
/// # Safety
///
/// As for [`end_of_thread`].
unsafe fn end_values(layout: &Layout) -> bool {
    let mut any = false;
    // SAFETY: the caller's promise. Each place is that of the key's value.
    unsafe { for_each_place(layout, |place, key| any |= end_value(layout, place, key)) };
    any
}

/// The keys that a thread has values of before it runs any code of the program, by their sequences,
/// which are not zero: keys of what stands in for `pthread_create`. A sanitizer knows its thread by
/// one.
static BORN_WITH: [AtomicUsize; KEYS] = [const { AtomicUsize::new(0) }; KEYS];

/// How many keys there are.
const KEYS: usize = FIRST_LEVEL * SECOND_LEVEL;

/// Notes which values the calling thread was born with. They are a part of its block: they stay at
/// the end of a fibre, and end with the block.
///
/// # Safety
///
/// The caller is a new thread.
pub(super) unsafe fn note_values_at_birth() {
    // SAFETY: a new thread has such tables, too, and each place is that of a value.
    unsafe {
        for_each_place(layout::known(), |place, key| {
            if !(*place).value.is_null() {
                BORN_WITH[key].store((*place).sequence, Ordering::Relaxed);
            }
        });
    }
}

/// Calls `visit` with the places of the calling fibre's values of keys, and their keys; with all of
/// them, except for those that its block was born with, and for that of the runtime's own.
///
/// # Safety
///
/// The caller is a fibre with a block, or a new thread.
unsafe fn for_each_place(layout: &Layout, mut visit: impl FnMut(*mut KeyValue, usize)) {
    let place = arch::thread_pointer().wrapping_add_signed(layout.values);
    let tables = ptr::with_exposed_provenance::<*mut KeyValue>(place);
    for table in 0..FIRST_LEVEL {
        // SAFETY: the calling thread's tables of values, as many as there are. They stay for as
        // long as the thread.
        let values = unsafe { tables.add(table).read() };
        if values.is_null() {
            continue;
        }
        for index in 0..SECOND_LEVEL {
            let key = table * SECOND_LEVEL + index;
            // SAFETY: each has so many values.
            let place = unsafe { values.add(index) };
            let born_with = BORN_WITH[key].load(Ordering::Relaxed);
            // SAFETY: as above. A key that has been deleted since leaves its place to another one.
            let is_inborn = born_with != 0 && unsafe { (*place).sequence } == born_with;
            if !is_inborn && !thread_exit::is_key(key) {
                // The visitor may change others.
                visit(place, key);
            }
        }
    }
}

/// Ends one value; whether there was one.
///
/// # Safety
///
/// As for [`end_of_thread`]; the place is that of the key's value.
unsafe fn end_value(layout: &Layout, place: *mut KeyValue, key: usize) -> bool {
    // SAFETY: the calling thread's own; the table of keys has an entry for each.
    let (value, key) = unsafe {
        let value: *mut c_void = (*place).value;
        let keys = ptr::with_exposed_provenance::<Key>(layout.keys);
        (value, keys.add(key).read_volatile())
    };
    if value.is_null() {
        return false;
    }
    // SAFETY: as above; the value was set for this very key if the sequences agree.
    unsafe {
        (*place).value = ptr::null_mut();
        if (*place).sequence == key.sequence
            && let Some(destructor) = key.destructor
        {
            destructor(value);
        }
    }
    true
}
