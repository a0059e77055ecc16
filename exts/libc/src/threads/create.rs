//! `pthread_create`.

use super::attributes::{self, KernelOnly, read};
use super::begin::begin_when_created;
use super::living::{Routine, count_ended, count_new, counted};
use super::mask;
use super::thread::{PROGRAM, Thread};
use crate::entry::{is_open, makes_fibres};
use crate::errno;
use crate::next::call_next;
use fibre_core::internal::{EmbeddedFibre, blocks_signals, has_own_thread_locals, warn};
use fibre_core::{Builder, Cluster};
use std::ffi::{c_int, c_void};
use std::io;
use std::sync::atomic::{AtomicU8, Ordering};

/// The largest stack: half of what a process can address.
const MAX_STACK: usize = 1 << 46;

/// A thread: a fibre in the caller's cluster or in the default one, once the program has asked for
/// fibres, and unless its attributes ask for what only the kernel can give.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_create(
    thread: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    start: Option<Routine>,
    argument: *mut c_void,
) -> c_int {
    let create = |start: Option<Routine>, argument: *mut c_void| {
        call_next!(pthread_create: fn(
            thread => *mut libc::pthread_t,
            attributes => *const libc::pthread_attr_t,
            start => Option<Routine>,
            argument => *mut c_void
        ) -> c_int)
    };
    begin_when_created();
    let Some(routine) = start.filter(|_| is_open() && makes_fibres()) else {
        return create(start, argument);
    };
    // SAFETY: the caller's attributes.
    let asked = unsafe { attributes::mask(attributes) };
    // SAFETY: the caller's attributes.
    let wanted = match unsafe { read(attributes) } {
        Ok(wanted) => wanted,
        Err(what) => {
            tell(what);
            // What the C library would take from the creator, and a processor blocks too much.
            let is_inherited = asked.is_none() && blocks_signals();
            let blocked = is_inherited.then(mask::of_caller);
            return counted(routine, argument, blocked, |start, argument| {
                create(Some(start), argument)
            });
        }
    };
    if wanted.stack_size > MAX_STACK {
        return libc::EAGAIN;
    }
    let number = errno::get();
    let blocked = asked.unwrap_or_else(mask::of_caller);
    let record = Thread::new(start, argument, wanted.is_detached, blocked);
    // SAFETY: the caller's place, and its wish.
    let created = unsafe { embed(record, wanted.stack_size, thread) };
    errno::set(number);
    match created {
        Ok(()) => 0,
        // POSIX has one error for all that is lacking.
        Err(_) => libc::EAGAIN,
    }
}

/// Makes the fibre of a thread, and tells its handle before it runs.
///
/// # Safety
///
/// What the thread runs may be called on any thread; `place` is the caller's.
unsafe fn embed(
    record: Box<Thread>,
    stack_size: usize,
    place: *mut libc::pthread_t,
) -> io::Result<()> {
    let cluster = match has_own_thread_locals() {
        true => None,
        false => Some(Cluster::default_cluster()?),
    };
    let is_detached = !record.is_open();
    let record: *const Thread = Box::into_raw(record);
    // SAFETY: it has just been made.
    let thread = unsafe { &*record };
    let receive = |fibre: EmbeddedFibre| {
        if is_detached {
            // It has not ended.
            let _ = fibre.detach();
        }
        // SAFETY: nobody else knows the record before the fibre runs; the caller's place.
        unsafe {
            thread.keep(fibre);
            *place = thread.handle();
        }
    };
    count_new();
    let builder = Builder::new().stack_size(stack_size);
    // SAFETY: the functions of the program are for records, and do not unwind into Rust.
    let created = unsafe { builder.embed(cluster, &PROGRAM, record.cast(), receive) };
    if created.is_err() {
        count_ended();
        // SAFETY: there is no fibre, and nobody else knows the record.
        unsafe { thread.free() };
    }
    created
}

/// Says, once for each reason, that a thread stays one of the kernel's.
fn tell(what: KernelOnly) {
    static TOLD: AtomicU8 = AtomicU8::new(0);
    let bit = 1 << what as u8;
    if TOLD.fetch_or(bit, Ordering::Relaxed) & bit == 0 {
        warn(format_args!(
            "a thread asks for {}, which a fibre cannot have: it is a thread of the kernel's, and \
             so are all others that do",
            what.words()
        ));
    }
}

/// `pthread_self`: the handle that the thread's creator has got.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_self() -> libc::pthread_t {
    if is_open()
        && let Some(thread) = Thread::of_caller()
    {
        return thread.handle();
    }
    call_next!(pthread_self: fn() -> libc::pthread_t)
}
