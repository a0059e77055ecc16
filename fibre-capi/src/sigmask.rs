//! Signal masks of fibres: `pthread_sigmask`, `sigpending`, and what a mask says.
//!
//! A processor blocks every signal that may come at any time, and goes on doing so: a fibre's mask
//! is a record of its own. A new fibre has its creator's. The mask says
//!
//! * which signals that the fibre raises itself stay pending, until it lets them in or waits for
//!   them;
//! * which signals the programs block that the fibre starts;
//! * if the fibre is `main` ([`first`](crate::main_fibre)): what the thread blocks that the process
//!   began with, which runs the handlers of the signals that are sent to the process;
//! * which signals that no thread lets in are taken for the fibre, see [`delivery`].
//!
//! On a plain thread these are the system's calls.

use crate::boundary::{fail, keep_errno};
use crate::delivery;
use crate::main_thread;
use crate::memory::{fetch_any, writable};
use crate::record::{Record, is_initial, of_caller, of_fibre};
use crate::self_signal::raise;
use fibre_core::in_fibre;
use fibre_core::internal::{
    block_in_children, blocks_signals, signals_blocked_by_program, with_signals_of_program,
};
use fibre_io::posix::signal_set::{self, LAST, bit, block, lowest, read, write};
use fibre_io::raw::Failure;
use rustix::io::Errno;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};

/// Signals that no mask can block: two that always act, and two that the C library has for itself.
const NEVER: u64 = bit(libc::SIGKILL) | bit(libc::SIGSTOP) | bit(32) | bit(33);

/// Whether any fibre has had a mask of its own.
static ANY: AtomicBool = AtomicBool::new(false);

/// What the calling fibre has blocked.
fn blocked() -> u64 {
    own().unwrap_or_else(signals_blocked_by_program)
}

/// The mask that the calling fibre has of its own.
fn own() -> Option<u64> {
    let any = ANY.load(Ordering::Relaxed) && in_fibre();
    any.then(|| of_caller().about(|about| about.signals.blocked))?
}

/// Gives a new fibre the mask of its creator, which is the caller.
#[inline]
pub fn inherit(record: &Record) {
    prepare();
    let creators = if in_fibre() { own() } else { of_thread() };
    if let Some(blocked) = creators {
        note_any();
        delivery::note_fibre(blocked);
        record.about(|about| about.signals.blocked = Some(blocked));
    }
}

/// Before there is a fibre of the program: has the runtime leave masks to this library.
pub fn prepare() {
    block_in_children(in_child);
}

/// Notes that some fibre has a mask of its own.
fn note_any() {
    if !ANY.load(Ordering::Relaxed) {
        ANY.store(true, Ordering::Relaxed);
    }
}

/// What the calling fibre has blocked, in a child that it has forked: nothing is let in there, not
/// even for a moment.
fn in_child() -> Option<u64> {
    // The owner of a lock may not be here.
    of_fibre()?.try_about(|about| about.signals.blocked)?
}

/// The mask of the calling thread, if it is one of the program's and blocks something else than
/// that did.
fn of_thread() -> Option<u64> {
    if blocks_signals() {
        return None;
    }
    let now = signal_set::blocked();
    (now != signals_blocked_by_program()).then_some(now)
}

/// Whether the calling fibre blocks a signal: then it is pending from now on.
pub fn holds(signal: c_int) -> bool {
    let holds = (1..=LAST).contains(&signal) && blocked() & bit(signal) != 0;
    if holds {
        of_caller().about(|about| about.signals.pending |= bit(signal));
    }
    holds
}

/// Takes the lowest of these signals that the calling fibre has raised, and blocks.
///
/// # Safety
///
/// There is a set.
pub unsafe fn take(set: *const libc::sigset_t) -> Option<c_int> {
    if of_caller().about(|about| about.signals.pending) == 0 {
        return None;
    }
    // SAFETY: the caller's promise. (If there is no set, the kernel says so next.)
    let wanted = unsafe { set_at(set) }.ok()??;
    of_caller().about(|about| {
        let signal = lowest(about.signals.pending & wanted)?;
        about.signals.pending &= !bit(signal);
        Some(signal)
    })
}

/// `start`, which starts a program: while it runs, its thread blocks what the calling fibre does.
/// Of that it lets nothing in, not even for a moment: it may be pending.
pub fn starting<R>(start: impl FnOnce() -> R) -> impl FnOnce() -> R {
    let own = own();
    move || {
        let Some(own) = own.filter(|_| blocks_signals()) else {
            return with_signals_of_program(start);
        };
        let before = signal_set::blocked();
        block(own);
        let started = start();
        block(before);
        started
    }
}

/// `pthread_sigmask`: the mask of the calling fibre or thread. What a fibre has raised and lets in
/// now, has been handled when this returns. `EINVAL` if `how` says nothing, `EFAULT` for a set that
/// is not there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_sigmask(
    how: c_int,
    set: *const libc::sigset_t,
    before: *mut libc::sigset_t,
) -> c_int {
    if !in_fibre() {
        // SAFETY: passed on.
        let number = unsafe { libc::pthread_sigmask(how, set, before) };
        if number == 0 && !set.is_null() && is_initial() {
            delivery::note_initial(signal_set::blocked(), false);
        }
        return number;
    }
    let old = keep_errno(blocked);
    let mut let_in = 0;
    // SAFETY: null, or the caller's set.
    let Ok(named) = (unsafe { set_at(set) }) else {
        return libc::EFAULT;
    };
    // Nothing is changed if that cannot be told.
    if !before.is_null() && writable(before.cast::<u64>(), 1).is_err() {
        return libc::EFAULT;
    }
    if let Some(named) = named {
        let new = match how {
            libc::SIG_BLOCK => old | named,
            libc::SIG_UNBLOCK => old & !named,
            libc::SIG_SETMASK => named,
            _ => return libc::EINVAL,
        };
        let_in = keep_errno(|| change(new & !NEVER));
    }
    if !before.is_null() {
        // SAFETY: the caller's room, which the kernel knows as so large.
        unsafe { before.cast::<u64>().write_unaligned(old) };
    }
    raise_all(let_in);
    if named.is_some() {
        // What it begins to let in; and what it has let in until now, as perhaps no other does.
        keep_errno(|| delivery::let_in_pending(old ^ self::blocked()));
    }
    0
}

/// The signals of a set of the program's; `None` for null.
///
/// # Errors
///
/// `EFAULT` if it cannot be read.
///
/// # Safety
///
/// What can be read there is a set.
unsafe fn set_at(set: *const libc::sigset_t) -> Result<Option<u64>, Errno> {
    // SAFETY: passed on; a set begins with these bits.
    unsafe { fetch_any(set.cast::<u64>()) }
}

/// Raises what is let in.
fn raise_all(mut let_in: u64) {
    while let Some(signal) = lowest(let_in) {
        let_in &= !bit(signal);
        raise(signal);
    }
}

/// Waits by `wait`, the calling fibre with this mask meanwhile, unless it is null: what `ppoll` and
/// its kin do.
///
/// # Errors
///
/// `EINTR`, without a wait, if the mask lets something in that the fibre has raised; `EFAULT` for a
/// mask that is not there; and those of `wait`.
///
/// # Safety
///
/// The mask is null, or a pointer to a set.
pub unsafe fn during<R>(
    mask: *const libc::sigset_t,
    wait: impl FnOnce() -> Result<R, Failure>,
) -> Result<R, Failure> {
    // SAFETY: the caller's promise.
    let Some(blocked) = (unsafe { set_at(mask) })? else {
        return wait();
    };
    let before = self::blocked();
    let let_in = change(blocked & !NEVER);
    raise_all(let_in);
    let taken = delivery::let_in_pending(before & !blocked);
    let waited = match let_in | taken {
        0 => wait(),
        _ => Err(Errno::INTR.into()),
    };
    // What has been raised meanwhile, by handlers, is let in as well; and so is what has been sent,
    // as perhaps no other fibre lets it in.
    raise_all(change(before));
    delivery::let_in_pending(before & !blocked);
    waited
}

/// Makes this the mask of the calling fibre; returns what that lets in.
fn change(blocked: u64) -> u64 {
    note_any();
    let record = of_caller();
    let before = self::blocked();
    let let_in = record.about(|about| {
        let signals = &mut about.signals;
        signals.blocked = Some(blocked);
        let let_in = signals.pending & !blocked;
        signals.pending &= blocked;
        let_in
    });
    if blocked != before && !main_thread::block(record.handle(), blocked) {
        delivery::note_fibre(blocked);
    }
    let_in
}

/// Has the calling fibre, which ends, let nothing in any more; returns whether there may be signals
/// that only it has let in ([`take_last`]).
#[inline]
pub fn leave(record: &Record) -> bool {
    record.leave_signals();
    delivery::is_started()
}

/// Takes what is pending for the process and has been let in by the calling fibre.
pub fn take_last() {
    delivery::let_in_pending(!blocked());
}

/// `sigprocmask`: [`fibre_sigmask`] that returns -1 and sets the error number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_sigprocmask(
    how: c_int,
    set: *const libc::sigset_t,
    before: *mut libc::sigset_t,
) -> c_int {
    // SAFETY: passed on.
    match unsafe { fibre_sigmask(how, set, before) } {
        0 => 0,
        number => fail(number),
    }
}

/// `sigpending`: the signals that are pending for the process, and those that the calling fibre has
/// raised and blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_sigpending(set: *mut libc::sigset_t) -> c_int {
    // SAFETY: the caller's room.
    let result = unsafe { libc::sigpending(set) };
    if result == 0 && in_fibre() {
        let own = of_caller().about(|about| about.signals.pending);
        // SAFETY: the set that has just been written.
        unsafe { write(set, read(set) | own) };
    }
    result
}

/// `fork`: the child, which has this fibre only, blocks what the fibre does.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_fork() -> libc::pid_t {
    let own = own();
    // SAFETY: what the child may do is for the program to see to.
    let child = unsafe { libc::fork() };
    if let (0, Some(own)) = (child, own) {
        // If `in_child` could not know.
        block(own);
    }
    child
}
