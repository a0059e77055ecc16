//! Creating fibres, and what they do.

use crate::attr::fibre_attr_t;
use crate::attr_stack;
use crate::boundary::{call_or_leave, keep_errno, number_of};
use crate::errno;
use crate::exit;
use crate::float;
use crate::init;
use crate::main_thread;
use crate::record::{self, NAME, Record, Refused, fibre_start_t, fibre_t, of_caller};
use crate::reserve;
use crate::sigmask;
use crate::sync::timing::Until;
use fibre_core::internal::{
    EmbeddedFibre, FibreReport, NamePlace, Program, Viewer, blocks_signals, caller_id,
};
use fibre_core::{Limit, WaitError, blocking, in_fibre, is_forked_child};
use fibre_io::posix::boundary::Passed;
use fibre_io::posix::held::end_of_fibre;
use fibre_io::posix::signal_set;
use fibre_sync::raw;
use std::ffi::{c_int, c_void};
use std::io;
use std::ptr;

/// What the fibres of C programs have in common.
static PROGRAM: Program = Program {
    run,
    ended,
    // Its joiner is told.
    failed: |_, _| (),
    describe,
    name: NamePlace {
        offset: Record::NAME as u32,
        length: NAME as u32,
    },
};

/// The largest stack: half of what a process can address.
const MAX_STACK: usize = 1 << 46;

/// See [`Program::run`].
unsafe fn run(record: *const ()) {
    errno::set(0);
    // SAFETY: the data of our fibres is their record.
    let record = unsafe { &*record.cast::<Record>() };
    float::begin(record);
    // SAFETY: the creator has promised that this may be called, on this fibre.
    let result = unsafe { exit::call(record, record.start.get(), record.argument.get()) };
    if is_forked_child() {
        exit::end_child();
    }
    // SAFETY: the fibre's own record.
    let mut result = unsafe { exit::end_values(record, result) };
    if sigmask::leave(record) {
        // Handlers may end it once more, and set values.
        // SAFETY: as above; what is called may be called at any time.
        result =
            unsafe { exit::end_values(record, exit::call(record, Some(take_signals), result)) };
    }
    record.result.set(result);
    float::end(record);
    end_of_fibre();
}

/// Takes the signals that only the calling fibre has let in, and returns what it is given.
unsafe extern "C-unwind" fn take_signals(result: *mut c_void) -> *mut c_void {
    sigmask::take_last();
    result
}

/// See [`Program::ended`].
unsafe fn ended(record: *const ()) {
    // SAFETY: as above; the fibre has ended and was detached.
    unsafe { (*record.cast::<Record>()).give_back() };
}

/// See [`Program::describe`].
unsafe fn describe(record: *const (), tell: Viewer<'_>) {
    // SAFETY: as above; the fibre has not ended.
    let record = unsafe { &*record.cast::<Record>() };
    // A signal handler must not wait: if a caller changes the name now, it stays unsaid.
    let name = record.try_about(|about| about.name).unwrap_or_default();
    let name = name.map(|byte| byte as u8);
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(NAME);
    let remedy = if main_thread::is_served(record.handle()) {
        "`ulimit -s`, which main's stack follows"
    } else {
        "pthread_attr_setstacksize, or FIBRE_STACK_SIZE for those without"
    };
    tell(FibreReport {
        noun: "thread",
        name: std::str::from_utf8(&name[..end])
            .ok()
            .filter(|name| !name.is_empty()),
        remedy,
    });
}

/// Creates a fibre with these attributes. `publish` is given its handle, before it runs.
///
/// # Safety
///
/// `start(argument)` may be called on any thread; `start` is not null.
pub unsafe fn create(
    attributes: &fibre_attr_t,
    start: fibre_start_t,
    argument: *mut c_void,
    publish: impl FnOnce(fibre_t),
) -> io::Result<()> {
    if reserve::is_low() {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    // The memory is taken when the fibre begins, and then it is too late to say that there can be
    // none.
    let stack = attributes.attr_stack();
    if stack.is_none() && attributes.stack_size() > MAX_STACK {
        return Err(io::Error::from_raw_os_error(libc::EAGAIN));
    }
    let cluster = match attributes.cluster() {
        None if in_fibre() => None,
        None => Some(init::cluster()?),
        chosen => chosen,
    };
    let processors = || match cluster {
        Some(cluster) => cluster.processors(),
        None => fibre_core::internal::processors().unwrap_or(1),
    };
    let builder = attributes.builder(processors);
    if attributes.is_absurd() {
        return Err(io::Error::from_raw_os_error(libc::EAGAIN));
    }
    let detached = attributes.is_detached();
    let Some(record) = Record::take(detached) else {
        return Err(io::Error::from_raw_os_error(libc::EAGAIN));
    };
    let (start, argument) = match &stack {
        None => (start, argument),
        Some(stack) => {
            record.about(|about| about.stack = (stack.start, stack.end));
            // SAFETY: the program has given the memory to this fibre.
            unsafe { attr_stack::wrap(attributes.stack_end(), start, argument) }
        }
    };
    record.start.set(start);
    record.argument.set(argument);
    attributes.describe(record);
    sigmask::inherit(record);
    if !float::inherit(record) {
        // SAFETY: there is no fibre.
        unsafe { record.give_back() };
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    let receive = |fibre: EmbeddedFibre| {
        if detached {
            let _ = fibre.detach();
        }
        // SAFETY: no other caller knows the record before the fibre runs.
        unsafe { record.keep(fibre) };
        publish(record.handle());
    };
    // SAFETY: the program's functions are for records, and do not unwind into Rust.
    let created =
        unsafe { builder.embed(cluster, &PROGRAM, ptr::from_ref(record).cast(), receive) };
    if created.is_err() {
        float::forget(record);
        // SAFETY: there is no fibre.
        unsafe { record.give_back() };
    }
    created
}

/// `pthread_create`: a fibre in the caller's cluster, or, for a caller that is no fibre, in the
/// default one. What has been created runs. `EAGAIN` if there cannot be another one, not even once
/// the caller has yielded; `EINVAL` if the cluster has no such processor, or the priority is none
/// of the policy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_create(
    thread: *mut fibre_t,
    attr: *const fibre_attr_t,
    start: fibre_start_t,
    argument: *mut c_void,
) -> c_int {
    if start.is_none() {
        return libc::EINVAL;
    }
    // SAFETY: the caller's attributes.
    let attributes = unsafe { fibre_attr_t::of(attr) }.within(record::processors_of_fibre());
    if !attributes.is_valid() {
        return libc::EINVAL;
    }
    // The fibre may read the place, and free it.
    // SAFETY: the caller's place for it.
    let publish = move |handle| unsafe { *thread = handle };
    // SAFETY: the caller's wish.
    let create = || keep_errno(|| unsafe { create(&attributes, start, argument, publish) });
    let mut created = create().map_err(|error| number_of(&error));
    if created == Err(libc::EAGAIN) {
        // A caller that tries again and again must let those fibres run whose end makes room.
        keep_errno(fibre_core::yield_now);
        created = create().map_err(|error| number_of(&error));
    }
    created.err().unwrap_or(0)
}

/// `pthread_self`: the caller's handle. Threads that are no fibres have one, too.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_self() -> fibre_t {
    of_caller().handle()
}

/// `pthread_equal`: whether two handles are of the same fibre.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_equal(one: fibre_t, other: fibre_t) -> c_int {
    c_int::from(one == other)
}

/// The number of the calling fibre or thread: unique in the process, never reused.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_id() -> u64 {
    caller_id()
}

/// Whether the caller is a fibre: 1, or 0.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_is_fibre() -> c_int {
    c_int::from(in_fibre())
}

/// `sched_yield`: lets other fibres run.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_yield() -> c_int {
    keep_errno(fibre_core::yield_now);
    0
}

/// Waits until another one calls `fibre_unpark` for the caller, or returns at once if one has done
/// so since the last time; now and then it returns without that. A cancellation point.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn fibre_park() -> c_int {
    call_or_leave(|| {
        let woken = of_caller().wake().wait_within(Limit::Cancellation);
        woken.map_err(|_| raw::Error::Cancelled)
    })
}

/// `fibre_park` until a moment of a clock: `CLOCK_REALTIME` or `CLOCK_MONOTONIC`. `ETIMEDOUT`;
/// `EINVAL` for another clock, or an invalid time.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn fibre_park_until(
    clock: libc::clockid_t,
    deadline: *const libc::timespec,
) -> c_int {
    call_or_leave(|| {
        // SAFETY: the caller's time.
        let limit = unsafe { limit_of(clock, deadline) }?;
        fibre_core::cancellation_point().map_err(|_| raw::Error::Cancelled)?;
        let woken = of_caller().wake().wait_within(limit);
        woken.map_err(|error| match error {
            WaitError::TimedOut => raw::Error::TimedOut,
            WaitError::Cancelled => raw::Error::Cancelled,
        })
    })
}

/// Lets the next `fibre_park` of a fibre or thread return, or the one that it is in. `ESRCH` if
/// there is no such fibre.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_unpark(thread: fibre_t) -> c_int {
    let woken = keep_errno(|| Record::glimpse(thread).map(|record| record.wake().set()));
    woken.map_or_else(Refused::number, |()| 0)
}

/// What ends a wait until a clock shows a time: cancellation, and that, unless it is null or never
/// comes.
///
/// # Safety
///
/// Null, or a pointer to a time.
///
/// # Errors
///
/// [`raw::Error::Invalid`] for another clock, or a time that is none.
pub unsafe fn limit_of(clock: libc::clockid_t, time: *const libc::timespec) -> raw::Result<Limit> {
    let until = Until::Clock(clock, time);
    let wait = match time.is_null() {
        true => until
            .clock(raw::Clock::Realtime)
            .map(|_| raw::Wait::FOREVER),
        // SAFETY: the caller's promise.
        false => unsafe { until.wait(raw::Clock::Realtime) },
    };
    Ok(wait?.cancellable().limit())
}

/// Runs `routine(argument)` on a thread that may block, and returns what it returns; the calling
/// fibre waits, and its processor runs others. `errno` is what the routine has left. For calls that
/// would block a processor: files, libraries of others. The routine is no fibre. Its thread blocks
/// signals, as processors do, whatever it made of its mask before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_blocking(
    routine: fibre_start_t,
    argument: *mut c_void,
) -> *mut c_void {
    let Some(routine) = routine else {
        return ptr::null_mut();
    };
    let argument = Passed(argument);
    let (value, number) = keep_errno(|| {
        blocking(move || {
            // The mask that the routine leaves is not for later callers on this thread.
            let kept = blocks_signals().then(signal_set::blocked);
            errno::set(0);
            // SAFETY: the caller's wish.
            let value = unsafe { routine(argument.take()) };
            let number = errno::get();
            kept.into_iter().for_each(signal_set::block);
            (Passed(value), number)
        })
    });
    errno::set(number);
    value.take()
}
