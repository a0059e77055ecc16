//! The stack of a running thread.
//!
//! A thread in a system call stays there for a while: the kernel says where its stack is and where
//! it goes on ([`crate::threads`]), and the stack is copied, unless the thread has gone on
//! meanwhile. Most unwind tables need no other registers. If one does, or if the thread computes, a
//! signal asks the thread itself: its handler copies registers and stack, and lets it go on. Nobody
//! waits for the thread for long, as it may never answer.
//!
//! The signal is SIGPROF, which processors let in for profilers. The program's handlers keep their
//! signals: ours passes on a signal that is not a question. Once installed, the handler stays, as a
//! signal may come late.

use crate::request::{GaveUp, Request};
use crate::stack::memory;
use crate::stack::unwind::Frame;
use crate::threads::{self, Activity};
use fibre_core::internal::stack_bounds_at;
use gimli::{Register, X86_64};
use parking_lot::Mutex;
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

/// The signal.
const SIGNAL: i32 = libc::SIGPROF;

/// The registers that are asked for, and where the kernel's context has them.
pub(crate) const REGISTERS: [(Register, i32); 9] = [
    (X86_64::RA, libc::REG_RIP),
    (X86_64::RSP, libc::REG_RSP),
    (X86_64::RBP, libc::REG_RBP),
    (X86_64::RBX, libc::REG_RBX),
    (X86_64::R10, libc::REG_R10),
    (X86_64::R12, libc::REG_R12),
    (X86_64::R13, libc::REG_R13),
    (X86_64::R14, libc::REG_R14),
    (X86_64::R15, libc::REG_R15),
];

/// The question that is asked, and the answer.
struct Question {
    word: Request,
    /// The answer: the registers.
    registers: [AtomicU64; REGISTERS.len()],
    /// The answer: the bytes of the stack that have been copied.
    copied: AtomicUsize,
    /// Where they go; there is room for [`MAX_STACK`].
    copy: AtomicPtr<u8>,
}

/// The one question of the process.
static QUESTION: Question = Question {
    word: Request::new(),
    registers: [const { AtomicU64::new(0) }; REGISTERS.len()],
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
    if QUESTION.copy.load(Ordering::Relaxed).is_null() && !install() {
        return Err("there is no memory to copy its stack to");
    }
    QUESTION.word.ask(thread);
    // SAFETY: a signal for a thread of this process, with its handler installed.
    let sent = unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, SIGNAL) } == 0;
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
    for ((register, _), value) in REGISTERS.into_iter().zip(&QUESTION.registers) {
        frame.set(register, Some(value.load(Ordering::Relaxed) as usize));
    }
    let length = QUESTION.copied.load(Ordering::Relaxed);
    let copy = QUESTION.copy.load(Ordering::Relaxed);
    // SAFETY: so many bytes have been written there, and the word says that no thread writes more.
    let stack = unsafe { std::slice::from_raw_parts(copy, length) }.to_vec();
    Sample { frame, stack }
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
    if QUESTION.word.take(here) {
        // SAFETY: the kernel passes the interrupted thread's context.
        let machine = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext };
        for ((_, place), value) in REGISTERS.into_iter().zip(&QUESTION.registers) {
            value.store(machine.gregs[place as usize] as u64, Ordering::Relaxed);
        }
        let stack = machine.gregs[libc::REG_RSP as usize] as usize;
        let copy = QUESTION.copy.load(Ordering::Relaxed);
        let end = stack_bounds_at(stack).map_or(stack + MAX_STACK, |bounds| bounds.end + 16);
        // SAFETY: there is room for so many bytes, which the word has made this thread's.
        let copy = unsafe { std::slice::from_raw_parts_mut(copy, MAX_STACK.min(end - stack)) };
        let copied = memory::read(stack, copy);
        QUESTION.copied.store(copied, Ordering::Relaxed);
        QUESTION.word.finish();
    } else {
        pass_on(signal, info, context);
    }
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

/// Lets the handler before ours have the signal.
fn pass_on(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel passes valid information to such a handler.
    let (own, code) = unsafe { ((*info).si_pid() == libc::getpid(), (*info).si_code) };
    let previous = PREVIOUS.get();
    match previous.map_or(libc::SIG_IGN, |action| action.sa_sigaction) {
        // An answer that nobody waits for any more.
        libc::SIG_DFL if own && code == libc::SI_TKILL => {}
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
