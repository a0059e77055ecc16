//! Creating, joining and detaching fibres.

use crate::boundary::{contain, keep_errno, number_of};
use crate::cancel;
use crate::errno;
use crate::exit;
use crate::init;
use crate::record::{Record, Refused, fibre_start_t, fibre_t, of_caller};
use fibre_core::{Builder, EmbeddedFibre, Ending, Limit, Program, cancellation_point, in_fibre};
use std::ffi::{c_int, c_void};
use std::io;
use std::ptr;

/// What the fibres of C programs have in common.
static PROGRAM: Program = Program { run, ended };

/// See [`Program::run`].
unsafe fn run(record: *const ()) {
    errno::set(0);
    // SAFETY: the data of our fibres is their record.
    unsafe { exit::run(&*record.cast()) };
}

/// See [`Program::ended`].
unsafe fn ended(record: *const ()) {
    // SAFETY: as above; the fibre has ended and was detached.
    unsafe { (*record.cast::<Record>()).give_back() };
}

/// Creates a fibre as the builder says.
///
/// # Safety
///
/// `start(argument)` may be called on any thread; `start` is not null.
pub unsafe fn create(
    builder: Builder,
    start: fibre_start_t,
    argument: *mut c_void,
) -> io::Result<fibre_t> {
    let cluster = if in_fibre() {
        None
    } else {
        Some(init::cluster()?)
    };
    let Some(record) = Record::take(false) else {
        return Err(io::Error::from_raw_os_error(libc::EAGAIN));
    };
    record.start.set(start);
    record.value.set(argument);
    let handle = record.handle();
    // SAFETY: nobody else knows the record before the fibre runs.
    let receive = |fibre: EmbeddedFibre| unsafe { record.keep(fibre) };
    // SAFETY: the program's functions are for records, and do not unwind into Rust.
    let created =
        unsafe { builder.embed(cluster, &PROGRAM, ptr::from_ref(record).cast(), receive) };
    match created {
        Ok(()) => Ok(handle),
        Err(error) => {
            // SAFETY: there is no fibre.
            unsafe { record.give_back() };
            Err(error)
        }
    }
}

/// `pthread_create`: a fibre in the caller's cluster, or, for a caller that is no fibre, in the default one. `EAGAIN` if there cannot be
/// another one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_create(
    thread: *mut fibre_t,
    _attributes: *const c_void,
    start: fibre_start_t,
    argument: *mut c_void,
) -> c_int {
    if start.is_none() {
        return libc::EINVAL;
    }
    // SAFETY: the caller's wish.
    match keep_errno(|| unsafe { create(Builder::new(), start, argument) }) {
        Ok(handle) => {
            // SAFETY: the caller's place for it.
            unsafe { *thread = handle };
            0
        }
        Err(error) => number_of(&error),
    }
}

/// How a join ended.
enum Joined {
    /// With the fibre's result.
    Value(*mut c_void),
    /// With an error number.
    Failed(c_int),
    /// With the caller's cancellation.
    Cancelled,
}

/// See [`fibre_join`].
fn join(handle: fibre_t) -> Joined {
    let record = match Record::claim_join(handle, of_caller()) {
        Ok(record) => record,
        Err(refused) => return Joined::Failed(refused.number()),
    };
    // SAFETY: the claim is ours.
    let Some(fibre) = (unsafe { record.fibre() }) else {
        return Joined::Failed(libc::EINVAL);
    };
    let limit = Limit::Cancellation;
    let ending = match cancellation_point() {
        // SAFETY: who has the claim is alone in waiting, and is not the fibre.
        Ok(()) => unsafe { fibre.wait(limit) },
        Err(_) => None,
    };
    match ending {
        Some(Ending::Returned) => {
            let value = record.value.get();
            // SAFETY: it has ended, and we have joined it.
            unsafe { record.give_back() };
            Joined::Value(value)
        }
        Some(Ending::NoStack(_)) => {
            // SAFETY: as above.
            unsafe { record.give_back() };
            Joined::Failed(libc::EAGAIN)
        }
        // Its frames are still there, and so is its record.
        Some(Ending::Abandoned) => Joined::Failed(libc::ESRCH),
        None => {
            record.reopen();
            Joined::Cancelled
        }
    }
}

/// `pthread_join`: waits for a fibre's end, and has its result. `ESRCH` if there is no such fibre, `EINVAL` if it is detached or
/// being joined, `EDEADLK` if it is the caller or waits for the caller. A cancellation point.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn fibre_join(thread: fibre_t, result: *mut *mut c_void) -> c_int {
    match keep_errno(|| join(thread)) {
        Joined::Value(value) => {
            if !result.is_null() {
                // SAFETY: the caller's place for it.
                unsafe { *result = value };
            }
            0
        }
        Joined::Failed(number) => number,
        Joined::Cancelled => cancel::leave(),
    }
}

/// `pthread_detach`: nobody will ask for the fibre's end. `ESRCH` if there is no such fibre, `EINVAL` if it is
/// detached or being joined.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_detach(thread: fibre_t) -> c_int {
    let detached = contain(|| {
        let record = Record::claim_detach(thread)?;
        // SAFETY: the claim is ours until the fibre has been detached.
        if !unsafe { record.fibre() }.is_some_and(EmbeddedFibre::detach) {
            // SAFETY: it has ended, and will not do so itself.
            unsafe { record.give_back() };
        }
        Ok(())
    });
    detached.map_or_else(Refused::number, |()| 0)
}

/// `pthread_self`: the caller's handle. Threads that are no fibres have one, too.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_self() -> fibre_t {
    contain(|| of_caller().handle())
}

/// `pthread_equal`: whether two handles are of the same fibre.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_equal(one: fibre_t, other: fibre_t) -> c_int {
    c_int::from(one == other)
}

/// `sched_yield`: lets other fibres run.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_yield() -> c_int {
    keep_errno(fibre_core::yield_now);
    0
}
