//! Says which fibre has overflowed its stack before the process ends.
//!
//! A SIGSEGV whose address lies in the guard of the fibre that runs on this thread
//! is reported and aborts. Any other fault goes to whoever handled the signal
//! before us (std's own report for threads, a crash handler of the program).
//! The handler runs on an [`AlternateStack`], which each processor installs, and
//! does only what a signal handler may: it reads plain memory and writes to
//! file descriptor 2.

use super::{DEFAULT_STACK_SIZE, PAGE};
use std::io::{self, Write};
use std::mem::MaybeUninit;
use std::sync::{Once, OnceLock};

/// What the report says, and how to know that it is due.
#[derive(Debug)]
pub struct Culprit<'a> {
    /// The addresses whose touching is an overflow.
    pub guard: std::ops::Range<usize>,
    /// The fibre's number.
    pub id: u64,
    /// The fibre's name, if it has one.
    pub name: Option<&'a str>,
    /// Usable bytes of its stack.
    pub stack_size: usize,
}

/// How the handler asks who runs on this thread. Async-signal-safe.
type WhoRuns = fn(report: &mut dyn FnMut(Culprit<'_>));

/// Set before the handler is.
static WHO_RUNS: OnceLock<WhoRuns> = OnceLock::new();

/// Who handled SIGSEGV before.
static PREVIOUS: OnceLock<libc::sigaction> = OnceLock::new();

/// Installs the handler, once per process.
pub fn install(who_runs: WhoRuns) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let _ = WHO_RUNS.set(who_runs);
        // SAFETY: the handler is async-signal-safe, see the module text; reading
        // the previous action first means that it is there when it is needed.
        unsafe {
            let mut previous = MaybeUninit::zeroed();
            if libc::sigaction(libc::SIGSEGV, std::ptr::null(), previous.as_mut_ptr()) == 0 {
                let _ = PREVIOUS.set(previous.assume_init());
            }
            let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
            action.sa_sigaction = on_fault as *const () as libc::sighandler_t;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
            libc::sigaction(libc::SIGSEGV, &raw const action, std::ptr::null_mut());
        }
    });
}

/// The handler.
extern "C" fn on_fault(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid siginfo to an SA_SIGINFO handler.
    let address = unsafe { (*info).si_addr() }.addr();
    if let Some(who_runs) = WHO_RUNS.get() {
        who_runs(&mut |culprit| {
            if culprit.guard.contains(&address) {
                report(&culprit);
                // SAFETY: aborting is allowed in a signal handler.
                unsafe { libc::abort() };
            }
        });
    }
    pass_on(signal, info, context);
}

/// Writes the report without allocating.
fn report(culprit: &Culprit<'_>) {
    let mut text = [0_u8; 512];
    let mut rest = &mut text[..];
    let name = culprit.name.unwrap_or("unnamed");
    let _ = writeln!(
        rest,
        "fibre: stack overflow in fibre '{name}' (id {}): its stack of {} bytes is used up\n\
         fibre: give it a larger one (Builder::stack_size; the default is {DEFAULT_STACK_SIZE})",
        culprit.id, culprit.stack_size,
    );
    let unused = rest.len();
    let length = text.len() - unused;
    // SAFETY: a plain write of initialised bytes.
    unsafe { libc::write(2, text.as_ptr().cast(), length) };
}

/// Lets the previous handler have the fault.
fn pass_on(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let previous = PREVIOUS.get();
    match previous.map_or(libc::SIG_DFL, |action| action.sa_sigaction) {
        libc::SIG_DFL | libc::SIG_IGN => {
            // The default action, at the instruction that faults again.
            // SAFETY: resetting a signal is allowed in a handler.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
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

/// A thread's signal stack; taken away again on drop, on the same thread.
#[derive(Debug)]
pub struct AlternateStack {
    /// The memory.
    start: *mut libc::c_void,
}

impl AlternateStack {
    /// Bytes; enough for std's handler behind ours and for AVX-512 state.
    const SIZE: usize = 16 * PAGE;

    /// Gives this thread a signal stack of its own.
    ///
    /// # Errors
    ///
    /// What the kernel says when it has no memory.
    pub fn install() -> io::Result<Self> {
        use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping, which lives until this value is dropped.
        let start =
            unsafe { mmap_anonymous(std::ptr::null_mut(), Self::SIZE, access, MapFlags::PRIVATE)? };
        let stack = libc::stack_t {
            ss_sp: start,
            ss_flags: 0,
            ss_size: Self::SIZE,
        };
        // SAFETY: the memory is ours and stays.
        if unsafe { libc::sigaltstack(&raw const stack, std::ptr::null_mut()) } == 0 {
            Ok(Self { start })
        } else {
            Err(io::Error::other("sigaltstack was refused"))
        }
    }
}

impl Drop for AlternateStack {
    fn drop(&mut self) {
        let none = libc::stack_t {
            ss_sp: std::ptr::null_mut(),
            ss_flags: libc::SS_DISABLE,
            ss_size: Self::SIZE,
        };
        // SAFETY: the thread that installed it, on its ordinary stack; after the
        // first call nobody uses the memory.
        unsafe {
            libc::sigaltstack(&raw const none, std::ptr::null_mut());
            let _ = rustix::mm::munmap(self.start, Self::SIZE);
        }
    }
}
