//! Reports which fibre has overflowed its stack before the process ends.
//!
//! A SIGSEGV with an address in the guard of any fibre's stack is reported and aborts. Nearly
//! always the stack belongs to the fibre that runs on this thread. Otherwise the report names both:
//! the fibre that ran, and the owner of the stack above the guard. Any other fault goes to the
//! handler that was there before (std's own report for threads, a crash handler of the program).
//!
//! The handler runs on an [`AlternateStack`](super::alternate::AlternateStack), which each
//! processor installs, and does only what a signal handler may: it reads plain memory and writes to
//! file descriptor 2. The owner of another fibre's stack may end meanwhile; so its part of the
//! report comes last.

use super::size::GUARD_SIZE;
use super::slab;
use std::fmt::Display;
use std::io::Write;
use std::mem::MaybeUninit;
use std::sync::{Once, OnceLock};

/// What a report says of a fibre.
pub(crate) struct Fibre<'a> {
    /// Its number.
    pub id: u64,
    /// What its makers call it: a fibre, a thread.
    pub noun: &'a str,
    /// Its name, if it has one.
    pub name: Option<&'a str>,
    /// What it says of itself besides, with a leading comma; empty for nothing.
    pub labels: &'a dyn Display,
    /// How its program gives such fibres larger stacks.
    pub remedy: &'a str,
    /// Bytes of the stacks of fibres that ask for no size.
    pub default: usize,
}

/// Hands the description of the owner that an owner word names to the second argument.
type Describe = unsafe fn(*const (), &mut dyn FnMut(Fibre<'_>));

/// The functions that tell the handler about fibres. Async-signal-safe.
#[derive(Debug)]
pub(crate) struct OverflowHook {
    /// The fibre that runs on this thread, as its stack's owner word has it; null if none does.
    pub who_runs: fn() -> *const (),
    /// Describes a fibre that an owner word names.
    pub describe: Describe,
}

/// The hook; set before the handler is.
static OVERFLOW_HOOK: OnceLock<OverflowHook> = OnceLock::new();

/// What tells where a stack was used up.
type Witness = fn(&libc::ucontext_t);

/// The function of a layer above that tells it, if there is one.
static WITNESS: OnceLock<Witness> = OnceLock::new();

/// Has `tell` called after the report of an overflow, on the thread and in the handler of the
/// fault, with the registers of that moment; the process aborts when it returns. It is
/// async-signal-safe.
/// Only the first function counts. For layers above. May be called before `main`.
pub fn on_stack_overflow(tell: Witness) {
    let _ = WITNESS.set(tell);
}

/// The handler of SIGSEGV before ours.
static PREVIOUS: OnceLock<libc::sigaction> = OnceLock::new();

/// Installs the handler, once per process.
pub(crate) fn install(informant: OverflowHook) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let _ = OVERFLOW_HOOK.set(informant);
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

/// Handles a SIGSEGV.
extern "C" fn on_fault(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid siginfo to an SA_SIGINFO handler.
    let address = unsafe { (*info).si_addr() }.addr();
    if let Some((slab, index)) = slab::find(address)
        && address < slab.guard(index).start + GUARD_SIZE
        && let Some(informant) = OVERFLOW_HOOK.get()
    {
        // SAFETY: the fibre that has come to the guard is on a stack of this slab, which so stays
        // (invariant 1 of slabs). If the address was a stray one, the mapping may go, and then the
        // process ends by the fault of this read. Aborting is allowed in a signal handler.
        unsafe {
            report(informant, slab.owner(index), slab.stack_size());
            if let (Some(tell), Some(context)) =
                (WITNESS.get(), context.cast::<libc::ucontext_t>().as_ref())
            {
                tell(context);
            }
            libc::abort();
        }
    }
    pass_on(signal, info, context);
}

/// Writes the report: `owner`'s stack of so many bytes has been overrun.
fn report(informant: &OverflowHook, owner: *const (), size: usize) {
    let culprit = (informant.who_runs)();
    if !culprit.is_null() && culprit == owner {
        // SAFETY: the fibre runs on this thread, hence exists.
        unsafe {
            (informant.describe)(owner, &mut |fibre| {
                let (name, id) = (fibre.name.unwrap_or("unnamed"), fibre.id);
                let (noun, remedy, default) = (fibre.noun, fibre.remedy, fibre.default);
                let labels = fibre.labels;
                warn(format_args!(
                    "fibre: stack overflow in {noun} '{name}' (id {id}{labels}): its stack of {size} bytes \
                     is used up\n\
                     fibre: give it a larger one ({remedy}; the default is {default})\n"
                ));
            });
        }
        return;
    }
    if culprit.is_null() && owner.is_null() {
        return warn(format_args!(
            "fibre: stack overflow in a thread that runs no fibre: its stack of {size} bytes is \
             used up\n"
        ));
    }
    warn(format_args!("fibre: stack overflow: "));
    name(informant, culprit, "a thread that runs no fibre");
    warn(format_args!(
        " touched the guard below a stack of {size} bytes, that of "
    ));
    name(informant, owner, "no fibre");
    warn(format_args!("\n"));
}

/// Writes the fibre's description.
fn name(informant: &OverflowHook, fibre: *const (), nobody: &str) {
    if fibre.is_null() {
        return warn(format_args!("{nobody}"));
    }
    // SAFETY: the fibre runs here, or was on that stack a moment ago; see the module text.
    unsafe {
        (informant.describe)(fibre, &mut |fibre| {
            let (name, id) = (fibre.name.unwrap_or("unnamed"), fibre.id);
            let (noun, labels) = (fibre.noun, fibre.labels);
            warn(format_args!("{noun} '{name}' (id {id}{labels})"));
        });
    }
}

/// Writes without allocating.
fn warn(words: std::fmt::Arguments<'_>) {
    let mut text = [0_u8; 768];
    let mut rest = &mut text[..];
    let _ = rest.write_fmt(words);
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
