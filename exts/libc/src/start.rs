//! [`install`], and what it checks.

use crate::entry::{is_open, open};
#[cfg(not(target_feature = "crt-static"))]
use crate::next;
use crate::{parker, thread_locals};
use fibre_core::internal::once_blocks_fibres;
use rustix::time::Timespec;
use std::ffi::c_int;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Held by the caller that checks: there is one set of notes.
static TURN: Mutex<()> = Mutex::new(());

/// The number of the thread that makes the calls of a check; zero if none does.
static CHECKING: AtomicI32 = AtomicI32::new(0);

/// The word that that thread has waited for; zero for none.
static WAITED_FOR: AtomicUsize = AtomicUsize::new(0);

/// Whether that thread has slept by the C library's name.
static SLEPT: AtomicBool = AtomicBool::new(false);

/// Has calls of the C library block their fibres from now on. Does nothing the second time. Blocks
/// the thread for a moment.
///
/// # Safety
///
/// No code of the program keeps what belongs to a kernel thread over a call of the C library that
/// blocks, and relies on no other code using it meanwhile: another fibre may run on the thread.
/// Such are thread-locals of a library that it borrows while it reads from a socket, and locks that
/// know their owner by its thread. Code that does so belongs into [`plainly`](crate::plainly).
///
/// # Panics
///
/// If std's calls do not come here; if std's `Thread` is not as expected; and if another crate has
/// built `rustix` with `use-libc`: then the runtime's own calls would come here.
///
/// ```no_run
/// // SAFETY: no code of this program keeps what belongs to a kernel thread while it waits.
/// unsafe { fibre_libc::install() };
/// ```
pub unsafe fn install() {
    let _turn = TURN.lock();
    if is_open() {
        return;
    }
    let found = thread::scope(|scope| scope.spawn(|| check(sleep_by_rustix)).join());
    let found = found.unwrap_or(Err("the check has panicked"));
    if let Err(what) = found {
        panic!("fibre_libc::install: {what}");
    }
    thread_locals::find();
    once_blocks_fibres();
    #[cfg(not(target_feature = "crt-static"))]
    next::find_for_children();
    open();
}

/// Sleeps for a moment as the runtime makes its calls.
fn sleep_by_rustix() {
    let _ = rustix::thread::nanosleep(&Timespec {
        tv_sec: 0,
        tv_nsec: 1,
    });
}

/// Looks whether calls come here as they should, and those of the runtime do not, on a thread that
/// has no token to be unparked by.
fn check(sleep: impl FnOnce()) -> Result<(), &'static str> {
    WAITED_FOR.store(0, Ordering::Relaxed);
    SLEPT.store(false, Ordering::Relaxed);
    CHECKING.store(thread_number(), Ordering::Relaxed);
    thread::park_timeout(Duration::from_nanos(1));
    let word = WAITED_FOR.load(Ordering::Relaxed);
    sleep();
    CHECKING.store(0, Ordering::Relaxed);
    if word == 0 {
        Err("the calls of std do not come here")
    } else if !parker::find(word) {
        Err("the word by which std parks a thread is not where it was")
    } else if SLEPT.load(Ordering::Relaxed) {
        Err("rustix is built with its feature `use-libc`, and its calls would come here")
    } else {
        Ok(())
    }
}

/// Notes that a call waits for a word.
#[inline]
pub(crate) fn note_wait(word: usize) {
    if is_checking() {
        WAITED_FOR.store(word, Ordering::Relaxed);
    }
}

/// Notes that a call sleeps.
#[inline]
pub(crate) fn note_sleep() {
    if is_checking() {
        SLEPT.store(true, Ordering::Relaxed);
    }
}

/// Whether the calling thread makes the calls of a check.
#[inline]
fn is_checking() -> bool {
    let checking = CHECKING.load(Ordering::Relaxed);
    checking != 0 && checking == thread_number()
}

/// The calling thread's number in the kernel.
fn thread_number() -> c_int {
    // SAFETY: asks for a number.
    unsafe { libc::gettid() }
}

/// Whether the calls of shared libraries come here, too: they do if the executable exports its
/// names, as linkers have it do by themselves for those that a shared library defines. The linker's
/// `--exclude-libs` keeps them in.
///
/// ```
/// use fibre_libc as _;
///
/// assert!(fibre_libc::reaches_shared_libraries());
/// ```
#[must_use]
pub fn reaches_shared_libraries() -> bool {
    #[cfg(target_feature = "crt-static")]
    return false;
    #[cfg(not(target_feature = "crt-static"))]
    {
        // SAFETY: a name.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"recv".as_ptr()) };
        found.addr() == libc::recv as *const () as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check on a thread of its own, with sleeps by this call.
    fn checked(sleep: fn()) -> Result<(), &'static str> {
        let _turn = TURN.lock();
        thread::spawn(move || check(sleep)).join().unwrap()
    }

    /// As rustix sleeps if it is built with `use-libc`: by the C library's name.
    fn sleep_by_the_name() {
        let time = libc::timespec {
            tv_sec: 0,
            tv_nsec: 1,
        };
        // SAFETY: a time, and nowhere to write.
        unsafe { libc::nanosleep(&raw const time, std::ptr::null_mut()) };
    }

    #[test]
    fn a_runtime_whose_calls_come_here_is_refused() {
        assert_eq!(checked(sleep_by_rustix), Ok(()));
        let refused = checked(sleep_by_the_name).unwrap_err();
        assert!(refused.contains("use-libc"), "{refused}");
        // What one check has noted is not the next one's.
        assert_eq!(checked(sleep_by_rustix), Ok(()));
    }
}
