//! What must hold before fibres have thread-locals of their own. Each is tried, on a block that is
//! made and ended for it.

use super::block::ThreadBlock;
use super::images::{Images, look_first};
use super::init_error::InitError;
use super::take::as_thread;
use super::{credentials, layout, thread_exit};
use crate::arch;
use crate::stack::context::{Action, Context, Entry, Suspender};
use crate::stack::size::{DEFAULT_STACK_SIZE, class_of};
use crate::stack::{Stack, pool};
use crate::sync::thread_mutex::Mutex;
use crate::sys::{current, modules, numbers, unusual};
use std::cell::{Cell, UnsafeCell};
use std::ffi::c_int;
use std::io;
use std::ptr;

/// Makes ready what fibres with thread-locals of their own need. Blocks the thread for some 200 µs,
/// until it has succeeded once.
///
/// # Errors
///
/// `Unsupported`, with what is missing; or what was refused.
pub(crate) fn prepare() -> io::Result<()> {
    static READY: Mutex<bool> = Mutex::new(false);
    let mut ready = READY.lock();
    if !*ready {
        check().map_err(|error| match error {
            InitError::Lacks(why) => io::Error::new(
                io::ErrorKind::Unsupported,
                format!("fibres cannot have thread-locals of their own here: {why}"),
            ),
            InitError::Refused(error) => error,
        })?;
        unusual::note();
        *ready = true;
    }
    Ok(())
}

/// Looks at everything.
fn check() -> Result<(), InitError> {
    if cfg!(not(target_env = "gnu")) || is_static() {
        return Err("the program is not linked with glibc as a shared library".into());
    }
    if let Some(lacking) = arch::lacks_for_thread_blocks() {
        return Err(lacking.into());
    }
    layout::find()?;
    credentials::install()?;
    thread_exit::prepare()?;
    look_first()?;
    let mut stack = pool::take_one(class_of(DEFAULT_STACK_SIZE))?;
    let images = Images::default();
    // With a new block, and with the same one renewed.
    for _ in 0..2 {
        let outcome;
        (stack, outcome) = try_with(stack, &images);
        if outcome.is_err() {
            pool::put_cold(stack);
            return outcome;
        }
    }
    pool::put_cold(stack);
    Ok(())
}

/// Whether the program is a static one: no loader begins it, whatever its parts were compiled for.
fn is_static() -> bool {
    let begins = |header: &libc::Elf64_Phdr| header.p_type == libc::PT_INTERP;
    let program = modules::find(|program| Some(program.headers().iter().any(begins)));
    cfg!(target_feature = "crt-static") || program != Some(true)
}

/// Tries all with a computation on this stack, which is returned.
fn try_with(stack: Stack, images: &Images) -> (Stack, Result<(), InitError>) {
    let (stack, block) = match as_thread(stack, images) {
        Ok((stack, block, _)) => (stack, block),
        Err((stack, error)) => return (stack, Err(error.into())),
    };
    let mutex = ErrorChecking::new();
    let trial = Trial {
        pointer: block.thread_pointer(),
        number: numbers::take_one(),
        mutex: &mutex,
        outcome: Cell::new(Err("a computation with a block does not run")),
    };
    let stack = run(stack, block, &trial);
    if mutex.unlock() != libc::EPERM {
        let words = "a thread unlocks what another one has locked";
        return (stack, Err(words.into()));
    }
    (stack, trial.outcome.get().map_err(InitError::from))
}

/// What a computation finds out.
struct Trial<'a> {
    /// The thread pointer that it should have.
    pointer: usize,
    /// The last number that the runtime has given to a thread.
    number: u64,
    mutex: &'a ErrorChecking,
    outcome: Cell<Result<(), &'static str>>,
}

/// Runs the trial on the stack, which is returned.
fn run(stack: Stack, block: ThreadBlock, trial: &Trial<'_>) -> Stack {
    let errno = set_errno(libc::ENOENT);
    let number = current::thread_number();
    // SAFETY: the block is the stack's. The trial is there until the computation has ended, which
    // it does at once.
    let (context, action) = unsafe {
        let argument = ptr::from_ref(trial).cast();
        let context = Context::new_as_thread::<Trying>(stack, block, argument);
        let action = context.resume_as_thread(ptr::null(), ptr::null());
        (context, action)
    };
    let stays = set_errno(errno) == libc::ENOENT && current::thread_number() == number;
    if action != Action::Exit || !stays {
        trial.outcome.set(Err(
            "a computation with a block changes its caller's thread-locals",
        ));
    }
    context.into_stack()
}

/// Sets the calling thread's `errno`; returns what it was.
fn set_errno(errno: c_int) -> c_int {
    // SAFETY: the calling thread's own.
    unsafe { libc::__errno_location().replace(errno) }
}

/// A computation that looks at its thread.
struct Trying;

impl Entry for Trying {
    unsafe fn run(trial: *const (), suspender: Suspender) -> Suspender {
        // SAFETY: the caller waits for it.
        let trial = unsafe { &*trial.cast::<Trial<'_>>() };
        trial.outcome.set(look(trial));
        // What a fibre may leave behind, besides its number.
        set_errno(libc::EBADF);
        suspender
    }
}

/// Compares what a computation finds with what a thread finds.
fn look(trial: &Trial<'_>) -> Result<(), &'static str> {
    // SAFETY: asks for the caller's handle.
    let own = unsafe { libc::pthread_self() };
    if arch::thread_pointer() != trial.pointer || own as usize != trial.pointer {
        return Err("`pthread_self` is not the block");
    }
    // The runtime's number of a thread is one of its thread-locals, and given out once.
    if current::thread_number() <= trial.number || set_errno(0) != 0 {
        return Err("thread-locals are not those of a new thread");
    }
    if trial.mutex.lock() != 0 || trial.mutex.lock() != libc::EDEADLK {
        return Err("a mutex does not know its owner");
    }
    Ok(())
}

/// A mutex of the C library that knows its owner.
struct ErrorChecking(UnsafeCell<libc::pthread_mutex_t>);

impl ErrorChecking {
    /// A mutex that nobody has locked.
    const fn new() -> Self {
        Self(UnsafeCell::new(
            libc::PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP,
        ))
    }

    /// Locks it; the error.
    fn lock(&self) -> c_int {
        // SAFETY: a mutex.
        unsafe { libc::pthread_mutex_lock(self.0.get()) }
    }

    /// Unlocks it; the error.
    fn unlock(&self) -> c_int {
        // SAFETY: a mutex.
        unsafe { libc::pthread_mutex_unlock(self.0.get()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_lacks_something_is_told_what() {
        match (arch::lacks_for_thread_blocks(), prepare()) {
            (None, Ok(())) => {}
            (Some(lacking), Err(error)) => {
                assert_eq!(error.kind(), io::ErrorKind::Unsupported);
                assert!(error.to_string().contains(lacking), "{error}");
            }
            other => panic!("{other:?}"),
        }
    }
}
