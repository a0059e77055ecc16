//! What is asked and said of a thread that is a fibre, by its handle: names, and what belongs to a
//! kernel thread, which is answered for the fibre or refused with an error that POSIX has.

use super::thread::{NAME, Thread};
use crate::entry::{is_open, plain};
use crate::next::call_next;
use fibre_core::internal::{page_size, stack_bounds};
use fibre_io::posix::syscall::syscall;
use libc::{pthread_t, sched_param};
use std::ffi::{CStr, c_char, c_int, c_ulong};
use std::ops::Range;
use std::ptr;

/// The thread of ours with this handle.
///
/// # Safety
///
/// The caller's thread.
unsafe fn ours<'a>(thread: pthread_t) -> Option<&'a Thread> {
    // SAFETY: the caller's promise.
    unsafe { Thread::of(thread) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_setname_np(thread: pthread_t, name: *const c_char) -> c_int {
    // SAFETY: the caller's thread.
    let Some(ours) = (unsafe { ours(thread) }) else {
        return call_next!(pthread_setname_np: fn(
            thread => pthread_t, name => *const c_char
        ) -> c_int);
    };
    // SAFETY: the caller's text.
    let name = unsafe { CStr::from_ptr(name) };
    if name.count_bytes() >= NAME {
        return libc::ERANGE;
    }
    ours.rename(name);
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_getname_np(
    thread: pthread_t,
    place: *mut c_char,
    room: usize,
) -> c_int {
    // SAFETY: the caller's thread.
    let Some(ours) = (unsafe { ours(thread) }) else {
        return call_next!(pthread_getname_np: fn(
            thread => pthread_t, place => *mut c_char, room => usize
        ) -> c_int);
    };
    if room < NAME {
        return libc::ERANGE;
    }
    let name = ours.name();
    // SAFETY: the caller's room, which is enough.
    unsafe { place.copy_from_nonoverlapping(name.as_ptr().cast(), NAME) };
    0
}

/// `prctl`, which may name the calling thread. Its arguments come in the same places as if they
/// were declared.
#[unsafe(no_mangle)]
unsafe extern "C" fn prctl(
    option: c_int,
    first: c_ulong,
    second: c_ulong,
    third: c_ulong,
    fourth: c_ulong,
) -> c_int {
    let thread = match option {
        libc::PR_SET_NAME | libc::PR_GET_NAME if is_open() => Thread::of_caller(),
        _ => None,
    };
    let Some(thread) = thread else {
        let [first, second, third, fourth] = [first, second, third, fourth].map(|it| it as usize);
        return plain(syscall!(SYS_prctl, option, first, second, third, fourth));
    };
    let place = std::ptr::with_exposed_provenance_mut::<u8>(first as usize);
    if option == libc::PR_GET_NAME {
        // SAFETY: the caller's room, of so many bytes.
        unsafe { place.copy_from_nonoverlapping(thread.name().as_ptr(), NAME) };
        return 0;
    }
    let mut name = [0; NAME];
    for (at, byte) in name.iter_mut().take(NAME - 1).enumerate() {
        // SAFETY: the caller's text, up to its zero.
        *byte = unsafe { place.add(at).read() };
        if *byte == 0 {
            break;
        }
    }
    // It ends in a zero at least.
    if let Ok(name) = CStr::from_bytes_until_nul(&name) {
        thread.rename(name);
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_getaffinity_np(
    thread: pthread_t,
    size: usize,
    cpus: *mut libc::cpu_set_t,
) -> c_int {
    // SAFETY: the caller's thread.
    if unsafe { ours(thread) }.is_none() {
        return call_next!(pthread_getaffinity_np: fn(
            thread => pthread_t, size => usize, cpus => *mut libc::cpu_set_t
        ) -> c_int);
    }
    // Those of the kernel thread that the caller is on.
    // SAFETY: the caller's set.
    match unsafe { libc::sched_getaffinity(0, size, cpus) } {
        0 => 0,
        _ => crate::errno::get(),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_getschedparam(
    thread: pthread_t,
    policy: *mut c_int,
    parameters: *mut sched_param,
) -> c_int {
    // SAFETY: the caller's thread.
    if unsafe { ours(thread) }.is_none() {
        return call_next!(pthread_getschedparam: fn(
            thread => pthread_t, policy => *mut c_int, parameters => *mut sched_param
        ) -> c_int);
    }
    // SAFETY: the caller's places.
    unsafe {
        *policy = libc::SCHED_OTHER;
        (*parameters).sched_priority = 0;
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_setschedparam(
    thread: pthread_t,
    policy: c_int,
    parameters: *const sched_param,
) -> c_int {
    // SAFETY: the caller's thread.
    if unsafe { ours(thread) }.is_none() {
        return call_next!(pthread_setschedparam: fn(
            thread => pthread_t, policy => c_int, parameters => *const sched_param
        ) -> c_int);
    }
    // SAFETY: the caller's parameters.
    let priority = unsafe { (*parameters).sched_priority };
    match (policy, priority) {
        (libc::SCHED_OTHER, 0) => 0,
        _ => libc::ENOTSUP,
    }
}

/// The stack of the caller, if that is a fibre: the range that it is on, with a guard of one page
/// at least. Where the stack of another fibre lies is not told: `ESRCH`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_getattr_np(
    thread: pthread_t,
    place: *mut libc::pthread_attr_t,
) -> c_int {
    // SAFETY: no condition.
    let is_caller = || thread == unsafe { libc::pthread_self() };
    let stack = Some(()).filter(|()| is_open() && is_caller());
    let stack = stack.and_then(|()| stack_bounds());
    // SAFETY: the caller's thread.
    match (stack, unsafe { ours(thread) }) {
        // SAFETY: the caller's place.
        (Some(stack), ours) => unsafe {
            write_attributes(place, stack, ours.is_some_and(Thread::is_detached))
        },
        (None, Some(_)) => libc::ESRCH,
        (None, None) => call_next!(pthread_getattr_np: fn(
            thread => pthread_t, place => *mut libc::pthread_attr_t
        ) -> c_int),
    }
}

/// Makes attributes with this stack.
///
/// # Safety
///
/// They can be written to.
unsafe fn write_attributes(
    place: *mut libc::pthread_attr_t,
    stack: Range<usize>,
    detached: bool,
) -> c_int {
    let state = match detached {
        true => libc::PTHREAD_CREATE_DETACHED,
        false => libc::PTHREAD_CREATE_JOINABLE,
    };
    let low = ptr::with_exposed_provenance_mut(stack.start);
    // SAFETY: attributes that are made first.
    unsafe {
        let made = libc::pthread_attr_init(place);
        if made != 0 {
            return made;
        }
        let set = [
            libc::pthread_attr_setdetachstate(place, state),
            libc::pthread_attr_setguardsize(place, page_size()),
            libc::pthread_attr_setstack(place, low, stack.len()),
        ];
        set.into_iter().find(|number| *number != 0).unwrap_or(0)
    }
}

/// Defines a call that a fibre cannot have, with what it returns instead.
macro_rules! refused {
    ($($name:ident($($argument:ident: $type:ty),*) => $answer:expr;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(thread: pthread_t, $($argument: $type),*) -> c_int {
            // SAFETY: the caller's thread.
            if unsafe { ours(thread) }.is_some() {
                return $answer;
            }
            call_next!($name: fn(thread => pthread_t $(, $argument => $type)*) -> c_int)
        }
    )*};
}

refused! {
    pthread_setaffinity_np(_size: usize, _cpus: *const libc::cpu_set_t) => libc::ESRCH;
    pthread_getcpuclockid(_place: *mut libc::clockid_t) => libc::ESRCH;
    pthread_setschedprio(priority: c_int) => if priority == 0 { 0 } else { libc::ENOTSUP };
}
