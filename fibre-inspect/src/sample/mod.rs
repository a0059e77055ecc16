//! The stack of a running thread.
//!
//! A thread in a system call stays there for a while: the kernel says where its stack is and where
//! it goes on ([`crate::threads`]), and the stack is copied, unless the thread has gone on
//! meanwhile. Most unwind tables need no other registers. If one does, or if the thread computes, a
//! signal asks the thread itself: its handler copies registers and stack, and lets it go on. Nobody
//! waits for the thread for long, as it may never answer.
//!
//! The signal is SIGPROF, which processors let in for profilers. The program's handlers keep their
//! signals: ours passes on a signal that has not come from here. Once installed, the handler stays,
//! as a signal may come late.
//!
//! * `ask`: the signal;
//! * `hold`: holding all threads still for a moment, by the same signal;
//! * `stuck`: fibres that nobody can wake any more, in a copy made while all are held.

mod ask;
pub(crate) mod hold;
pub(crate) mod stuck;

use self::ask::{SIGNAL, ask, is_ours as is_marked};
use self::hold::Place;
use crate::arch::{SAMPLED, sampled, stack_of};
use crate::request::{GaveUp, Request};
use crate::stack::memory;
use crate::stack::unwind::Frame;
use crate::threads::{self, Activity};
use fibre_core::internal::{stack_bounds_at, thread_pointer};
use fibre_core::sync::thread_mutex::Mutex;
use std::mem::MaybeUninit;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How long a thread has to answer.
const TIMEOUT: Duration = Duration::from_millis(100);

/// How long it has to finish an answer that it has begun.
const LONG_PATIENCE: Duration = Duration::from_secs(1);

/// The sleep between two looks at the answer.
const BETWEEN: Duration = Duration::from_micros(100);

/// The most bytes of a stack that are copied.
const MAX_STACK: usize = 256 << 10;

/// The question that is asked, and the answer.
struct Question {
    word: Request,
    /// The answer: the registers.
    registers: [AtomicU64; SAMPLED.len()],
    /// The answer: the bytes of the stack that have been copied.
    copied: AtomicUsize,
    /// Where they go; there is room for [`MAX_STACK`].
    copy: AtomicPtr<u8>,
}

/// The one question of the process.
static QUESTION: Question = Question {
    word: Request::new(),
    registers: [const { AtomicU64::new(0) }; SAMPLED.len()],
    copied: AtomicUsize::new(0),
    copy: AtomicPtr::new(std::ptr::null_mut()),
};

/// The handler of the signal before ours.
static PREVIOUS: OnceLock<libc::sigaction> = OnceLock::new();

/// Held by the thread that asks.
static ASKS: Mutex<()> = Mutex::new(());

/// A thread as it was for a moment.
#[derive(Debug)]
pub(crate) struct Sample {
    /// The innermost frame.
    pub frame: Frame,
    /// The bytes of its stack, from the frame's address on.
    pub stack: Vec<u8>,
}

impl Sample {
    /// The word at an address of the copied stack.
    pub(crate) fn word(&self, address: usize) -> Option<usize> {
        let from = address.checked_sub(self.frame.stack())?;
        let bytes = self.stack.get(from..from.checked_add(8)?)?;
        Some(usize::from_ne_bytes(bytes.try_into().ok()?))
    }
}

/// The bytes of the stack above an address, a few of those below included, which functions without
/// calls use.
pub(crate) fn copy_of(stack: usize) -> Vec<u8> {
    let end = stack_bounds_at(stack).map_or(stack + MAX_STACK, |bounds| bounds.end + 16);
    let mut bytes = vec![0; MAX_STACK.min(end - stack)];
    let length = memory::read(stack, &mut bytes);
    bytes.truncate(length);
    bytes
}

/// The stack of a thread that is in a system call, as far as the kernel says where it is. `None`:
/// it is in none, or has gone on meanwhile.
pub(crate) fn of_call(thread: i32) -> Option<Sample> {
    let before = threads::activity(thread);
    let Activity::Call { stack, code, .. } = before else {
        return None;
    };
    let sample = Sample {
        frame: Frame::new(code, stack),
        stack: copy_of(stack),
    };
    (threads::activity(thread) == before).then_some(sample)
}

/// Asks a thread for its stack. Blocks the thread for as long as that may take, 100 ms or so.
///
/// # Errors
///
/// Why there is no answer. It may not be worth asking again.
pub(crate) fn by_signal(thread: i32) -> Result<Sample, &'static str> {
    if threads::blocks(thread, SIGNAL) {
        return Err("its thread blocks SIGPROF, by which it would have been asked");
    }
    // A dump and the watch may ask at the same time.
    let Some(_asks) = ASKS.try_lock_for(LONG_PATIENCE) else {
        return Err("another thread is being asked all the time");
    };
    if !QUESTION.word.make_room() {
        return Err("another thread has not finished its answer yet");
    }
    if !is_installed() && !install() {
        return Err("there is no memory to copy its stack to");
    }
    QUESTION.word.ask(thread);
    let sent = ask(thread) == Ok(Some(()));
    let timeout = if sent { TIMEOUT } else { Duration::ZERO };
    if !answered_within(timeout) {
        match QUESTION.word.give_up() {
            GaveUp::InTime if sent => return Err("its thread did not answer a signal"),
            GaveUp::InTime => return Err("its thread has ended"),
            GaveUp::TooLate => {}
        }
        if !answered_within(LONG_PATIENCE) {
            // Nobody else is asked before it has.
            return Err("its thread did not finish its answer");
        }
    }
    Ok(answer())
}

/// Whether the answer comes in time.
fn answered_within(timeout: Duration) -> bool {
    let deadline = Instant::now() + timeout;
    loop {
        if QUESTION.word.collect() {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::park_timeout(BETWEEN);
    }
}

/// The answer that has been collected.
fn answer() -> Sample {
    let mut frame = Frame::new(0, 0);
    for ((register, _), value) in SAMPLED.into_iter().zip(&QUESTION.registers) {
        frame.set(register, Some(value.load(Ordering::Relaxed) as usize));
    }
    let length = QUESTION.copied.load(Ordering::Relaxed);
    let copy = QUESTION.copy.load(Ordering::Relaxed);
    // SAFETY: so many bytes have been written there, and the word says that no thread writes more.
    let stack = unsafe { std::slice::from_raw_parts(copy, length) }.to_vec();
    Sample { frame, stack }
}

/// Installs the handler, once. `false`: there is no memory, or somebody asks for too long.
pub(crate) fn prepare() -> bool {
    let asks = ASKS.try_lock_for(LONG_PATIENCE);
    asks.is_some() && (is_installed() || install())
}

/// Whether there is room for answers, and the handler has been installed.
fn is_installed() -> bool {
    !QUESTION.copy.load(Ordering::Relaxed).is_null()
}

/// Whether the program has left our handler in place. Nobody knows what the signal does otherwise.
pub(crate) fn is_ours() -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: the kernel writes the action; all zeros is one, too.
    let action = unsafe {
        libc::sigaction(SIGNAL, std::ptr::null(), action.as_mut_ptr());
        action.assume_init()
    };
    action.sa_sigaction == on_signal as *const () as libc::sighandler_t
}

/// Makes room for answers, and installs the handler. `false`: there is no memory.
fn install() -> bool {
    let mut room: Vec<u8> = Vec::new();
    if room.try_reserve_exact(MAX_STACK).is_err() {
        return false;
    }
    room.resize(MAX_STACK, 0);
    memory::prepare();
    QUESTION
        .copy
        .store(room.leak().as_mut_ptr(), Ordering::Relaxed);
    PREVIOUS.get_or_init(|| {
        let mut previous = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: all zeros is an action; the handler is async-signal-safe, and passes on what is
        // not meant for it.
        unsafe {
            libc::sigaction(SIGNAL, std::ptr::null(), previous.as_mut_ptr());
            let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
            action.sa_sigaction = on_signal as *const () as libc::sighandler_t;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
            libc::sigaction(SIGNAL, &raw const action, std::ptr::null_mut());
            previous.assume_init()
        }
    });
    true
}

/// Answers, if this thread is asked; else has the handler before ours do what it did.
extern "C" fn on_signal(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the C library's place of this thread's error number, which is set back.
    let errno = unsafe { *libc::__errno_location() };
    // SAFETY: a number.
    let here = unsafe { libc::gettid() };
    // SAFETY: the kernel passes the interrupted thread's context.
    let interrupted = unsafe { &*context.cast::<libc::ucontext_t>() };
    let stack = stack_of(interrupted);
    let frame = (&raw const errno).addr();
    let lent = &interrupted.uc_stack;
    let place = Place {
        stack,
        frame,
        pointer: thread_pointer(),
        lent: stack.wrapping_sub(lent.ss_sp.addr()) < lent.ss_size,
    };
    let stayed = hold::stayed(here, place);
    if !stayed && QUESTION.word.take(here) {
        for ((_, place), value) in SAMPLED.into_iter().zip(&QUESTION.registers) {
            value.store(sampled(interrupted, place) as u64, Ordering::Relaxed);
        }
        let copy = QUESTION.copy.load(Ordering::Relaxed);
        let end = stack_bounds_at(stack).map_or(stack + MAX_STACK, |bounds| bounds.end + 16);
        // SAFETY: there is room for so many bytes, which the word has made this thread's.
        let copy = unsafe { std::slice::from_raw_parts_mut(copy, MAX_STACK.min(end - stack)) };
        let copied = memory::read(stack, copy);
        QUESTION.copied.store(copied, Ordering::Relaxed);
        QUESTION.word.finish();
    }
    // SAFETY: the kernel has made the information.
    if !unsafe { is_marked(info) } {
        pass_on(signal, info, context);
    }
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

/// Lets the handler before ours have the signal.
fn pass_on(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let previous = PREVIOUS.get();
    match previous.map_or(libc::SIG_IGN, |action| action.sa_sigaction) {
        libc::SIG_IGN => {}
        libc::SIG_DFL => {
            // SAFETY: allowed in a handler. The signal is blocked here, and ends the process when
            // this handler returns.
            unsafe {
                libc::signal(signal, libc::SIG_DFL);
                libc::raise(signal);
            }
        }
        handler if previous.is_some_and(|action| action.sa_flags & libc::SA_SIGINFO != 0) => {
            // SAFETY: it was installed with SA_SIGINFO, hence has this type.
            let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) =
                unsafe { std::mem::transmute(handler) };
            handler(signal, info, context);
        }
        handler => {
            // SAFETY: it was installed without SA_SIGINFO, hence has this type.
            let handler: extern "C" fn(i32) = unsafe { std::mem::transmute(handler) };
            handler(signal);
        }
    }
}
