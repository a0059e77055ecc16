//! What a program may ask of a fibre that exists, and what it may change: attributes, name,
//! scheduling.

use crate::attr::{cpus, fibre_attr_t, is_priority_of, read_name};
use crate::boundary::{contain, number_of};
use crate::init;
use crate::main_thread;
use crate::record::{NAME, Record, Refused, fibre_t};
use fibre_core::internal::{EmbeddedFibre, rename};
use fibre_core::internal::{processors, stack_bounds};
use fibre_core::stack_used;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem;
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering};

/// Runs `f` with the record behind a handle; `ESRCH` if there is none.
fn with(thread: fibre_t, f: impl FnOnce(&Record) -> c_int) -> c_int {
    contain(|| Record::with(thread, |record, _| f(record))).unwrap_or_else(Refused::number)
}

/// Asks the system about a plain thread, or says what is wrong with a handle; `None`: it is a
/// fibre's.
fn of_thread(thread: fibre_t, ask: impl FnOnce(libc::pthread_t) -> c_int) -> Option<c_int> {
    contain(|| Record::with_thread(thread, ask)).unwrap_or_else(|refused| Some(refused.number()))
}

/// `pthread_getattr_np`: the attributes of a fibre, or of a plain thread. Where the stack lies is
/// known of the caller and of plain threads; of other fibres it is null, with the size that stacks
/// have. `ESRCH` if there is no such fibre.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_getattr(thread: fibre_t, attr: *mut fibre_attr_t) -> c_int {
    let own = crate::record::of_caller().handle() == thread;
    let (stack, guard) = match contain(|| Record::with_thread(thread, stack_of_thread)) {
        Err(refused) => return refused.number(),
        Ok(None) => (None, None),
        Ok(Some(Err(number))) => return number,
        Ok(Some(Ok((stack, guard)))) => (Some(stack), Some(guard)),
    };
    with(thread, |record| {
        let about = record.about(|about| *about);
        let stack = match about.stack {
            _ if stack.is_some() => stack,
            (0, 0) if own => stack_bounds(),
            (0, 0) => None,
            (start, end) => Some(start..end),
        };
        let (policy, priority) = about.scheduling;
        let attributes = fibre_attr_t::of_running(record.is_detached(), stack)
            .with_guard(guard.or_else(|| about.guard()))
            .with_processors(about.processors)
            .with_scheduling(policy, priority)
            .with_name(about.name);
        // SAFETY: the caller's place for them.
        unsafe { attr.write(attributes) };
        0
    })
}

/// Where the system says that a plain thread's stack lies, and how many bytes of guard it has; or
/// an error number.
fn stack_of_thread(thread: libc::pthread_t) -> Result<(Range<usize>, usize), c_int> {
    let (mut low, mut size, mut guard) = (ptr::null_mut::<c_void>(), 0, 0);
    // SAFETY: a thread that there is, attributes of ours that are made first, and places of ours.
    let failed = unsafe {
        let mut attributes = mem::zeroed::<libc::pthread_attr_t>();
        match libc::pthread_getattr_np(thread, &raw mut attributes) {
            0 => {
                libc::pthread_attr_getstack(&raw const attributes, &raw mut low, &raw mut size);
                libc::pthread_attr_getguardsize(&raw const attributes, &raw mut guard);
                libc::pthread_attr_destroy(&raw mut attributes)
            }
            number => number,
        }
    };
    match failed {
        0 => Ok((low.expose_provenance()..low.addr() + size, guard)),
        number => Err(number),
    }
}

/// `pthread_setname_np`: up to 15 bytes. The kernel is told of the names of plain threads, and of
/// `main`, whether it is a fibre or not: that is the process'. `ERANGE` for a longer name, `ESRCH`
/// if there is no such fibre.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_setname(thread: fibre_t, name: *const c_char) -> c_int {
    // SAFETY: the caller's text.
    let Some(name) = (unsafe { read_name(name) }) else {
        return libc::ERANGE;
    };
    // SAFETY: a thread that there is, and a text that ends with a zero.
    let set = |thread| unsafe { libc::pthread_setname_np(thread, name.as_ptr()) };
    if let Some(number) = of_thread(thread, set) {
        return number;
    }
    if let Some(number @ 1..) = main_thread::thread_of(thread).map(set) {
        return number;
    }
    let set = |record: &Record, fibre: Option<&EmbeddedFibre>| {
        record.about(|about| about.name = name);
        if let Some(fibre) = fibre {
            // SAFETY: read as a text above.
            rename(
                fibre.id(),
                &unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy(),
            );
        }
        0
    };
    contain(|| Record::with(thread, set)).unwrap_or_else(Refused::number)
}

/// `pthread_getname_np`: the name; `ERANGE` if there is no room for 16 bytes, however short it is.
/// `ESRCH` if there is no such fibre.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_getname(thread: fibre_t, name: *mut c_char, size: usize) -> c_int {
    if size < NAME {
        return libc::ERANGE;
    }
    // SAFETY: a thread that there is, and the caller's place.
    let get = |thread| unsafe { libc::pthread_getname_np(thread, name, size) };
    if let Some(number) = of_thread(thread, get) {
        return number;
    }
    with(thread, |record| {
        let own = record.about(|about| about.name);
        let end = own.iter().position(|byte| *byte == 0);
        let length = end.map_or(own.len(), |end| end + 1);
        // SAFETY: the caller's place has `size` bytes.
        unsafe { ptr::copy_nonoverlapping(own.as_ptr(), name, length) };
        0
    })
}

/// `pthread_getschedparam`: what the fibre was created with, or what has been set since. `ESRCH` if
/// there is no such fibre.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_getschedparam(
    thread: fibre_t,
    policy: *mut c_int,
    param: *mut libc::sched_param,
) -> c_int {
    with(thread, |record| {
        let (own, priority) = record.about(|about| about.scheduling);
        // SAFETY: the caller's places.
        unsafe {
            policy.write(own.into());
            param.write(libc::sched_param {
                sched_priority: priority.into(),
            });
        }
        0
    })
}

/// `pthread_setschedparam`: keeps what a fibre has; a fibre that there is cannot be given another
/// priority: `ENOTSUP`. `EINVAL` for an unknown policy, or a priority beyond its range; `ESRCH` if
/// there is no such fibre.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_setschedparam(
    thread: fibre_t,
    policy: c_int,
    param: *const libc::sched_param,
) -> c_int {
    // SAFETY: the caller's parameter.
    let priority = unsafe { (*param).sched_priority };
    match policy {
        libc::SCHED_OTHER | libc::SCHED_FIFO | libc::SCHED_RR => {
            keep_scheduling(thread, Some(policy), priority)
        }
        _ => with(thread, |_| libc::EINVAL),
    }
}

/// Refuses a scheduling, unless it is what the fibre has; `None` for the policy that it has.
fn keep_scheduling(thread: fibre_t, policy: Option<c_int>, priority: c_int) -> c_int {
    with(thread, |record| {
        let (own, has) = record.about(|about| about.scheduling);
        let policy = policy.unwrap_or(own.into());
        match is_priority_of(policy, priority) {
            false => libc::EINVAL,
            true if (policy, priority) == (own.into(), has.into()) => 0,
            true => libc::ENOTSUP,
        }
    })
}

/// `pthread_setschedprio`: as `fibre_setschedparam`, with the policy that the fibre has.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_setschedprio(thread: fibre_t, priority: c_int) -> c_int {
    keep_scheduling(thread, None, priority)
}

/// `pthread_getaffinity_np`: the processors that the fibre's attributes or its creator's let it run
/// on; or else those that the caller's cluster has, or the default one; as bits of a set of CPUs,
/// so without those beyond the CPUs of the machine. `EINVAL` if there is no room for them, `ESRCH`
/// if there is no such fibre.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_getaffinity(
    thread: fibre_t,
    size: usize,
    set: *mut c_void,
) -> c_int {
    let count = match (processors(), init::cluster()) {
        (Some(count), _) => count,
        (None, Ok(cluster)) => cluster.processors(),
        (None, Err(error)) => return number_of(&error),
    };
    let count = count.min(cpus());
    with(thread, |record| {
        if size < count.div_ceil(8) {
            return libc::EINVAL;
        }
        let chosen = record.about(|about| about.processors).to_le_bytes();
        let is_chosen = chosen != [0; 8];
        let bytes: *mut u8 = set.cast();
        for index in 0..size {
            let bits = count.saturating_sub(8 * index).min(8);
            let mut byte = ((1_u32 << bits) - 1) as u8;
            if is_chosen {
                byte &= chosen.get(index).copied().unwrap_or(0);
            }
            // SAFETY: the caller's set has `size` bytes.
            unsafe { bytes.add(index).write(byte) };
        }
        0
    })
}

/// `pthread_setaffinity_np`: a fibre that there is cannot be sent to other processors: `ENOTSUP`,
/// unless the set has all of those that `fibre_getaffinity` says. `EINVAL` for a set that has no
/// CPU of the machine; `ESRCH` if there is no such fibre.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_setaffinity(
    thread: fibre_t,
    size: usize,
    set: *const c_void,
) -> c_int {
    let mut all = [0_u8; 128];
    let length = size.min(all.len());
    // SAFETY: a set of this frame.
    let known = unsafe { fibre_getaffinity(thread, all.len(), all.as_mut_ptr().cast()) };
    if known != 0 {
        return known;
    }
    // SAFETY: the caller's set has `size` bytes.
    let wanted = unsafe { std::slice::from_raw_parts(set.cast::<u8>(), length) };
    let has_all = all.iter().enumerate().all(|(index, byte)| {
        let wanted = wanted.get(index).copied().unwrap_or(0);
        byte & !wanted == 0
    });
    let has_any = (0..cpus().min(8 * length)).any(|cpu| wanted[cpu / 8] >> (cpu % 8) & 1 == 1);
    match has_any {
        true if has_all => 0,
        true => libc::ENOTSUP,
        false => libc::EINVAL,
    }
}

/// What `fibre_setconcurrency` has been told.
static CONCURRENCY: AtomicI32 = AtomicI32::new(0);

/// `pthread_setconcurrency`: a hint, which is kept and not followed: `fibre_cluster_add_processors`
/// says it better. `EINVAL` below zero.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_setconcurrency(level: c_int) -> c_int {
    if level < 0 {
        return libc::EINVAL;
    }
    CONCURRENCY.store(level, Ordering::Relaxed);
    0
}

/// `pthread_getconcurrency`: what has been set, or zero.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_getconcurrency() -> c_int {
    CONCURRENCY.load(Ordering::Relaxed)
}

/// `pthread_getcpuclockid`: fibres have no clocks of their own: `ENOENT`, as POSIX has it; `ESRCH`
/// if there is no such fibre, or it has ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_getcpuclockid(
    thread: fibre_t,
    _clock: *mut libc::clockid_t,
) -> c_int {
    let clock = |_: &Record, fibre: Option<&EmbeddedFibre>| {
        let ended = fibre.is_some_and(|fibre| fibre.ending().is_some());
        if ended { libc::ESRCH } else { libc::ENOENT }
    };
    contain(|| Record::with(thread, clock)).unwrap_or_else(Refused::number)
}

/// `pthread_getattr_default_np`: what fibres are without attributes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_getattr_default(attr: *mut fibre_attr_t) -> c_int {
    // SAFETY: the caller's place.
    unsafe { crate::attr::fibre_attr_init(attr) }
}

/// `pthread_setattr_default_np`: `ENOTSUP`; `fibre_init` and the environment set defaults.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_setattr_default(_attr: *const fibre_attr_t) -> c_int {
    libc::ENOTSUP
}

/// How many bytes of its stack the calling fibre has used at most; zero on a plain thread. Asks the
/// kernel.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_stack_used() -> usize {
    contain(|| stack_used().unwrap_or(0))
}
