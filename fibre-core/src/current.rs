//! Which processor this kernel thread is, and what it owns besides: the runtime's only
//! thread-locals.
//!
//! LLVM may compute the address of a thread-local once and keep it in a register
//! or a stack slot, and it may infer that a small accessor reads no memory and
//! merge two calls of it. Either way a fibre that has moved to another kernel
//! thread would go on with the old thread's value. So the accessors are never
//! inlined, contain a volatile `asm!` that LLVM cannot see through, and their
//! results are used at once and never kept across a switch.

use std::arch::asm;
use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a kernel thread is to the runtime. Untyped: the types lie above this module.
struct Current {
    /// Its ready queue; null on a foreign thread.
    ready: Cell<*const ()>,
    /// The processor itself; null on a foreign thread.
    processor: Cell<*const ()>,
    /// Its own fibre-local values; null if it has none.
    locals: Cell<*const ()>,
    /// Its number; zero until somebody asks.
    number: Cell<u64>,
    /// Whether the runtime has started it to make calls that block.
    own: Cell<bool>,
    /// Where it puts off waking processors; null if it does not.
    deferred: Cell<*const ()>,
}

/// Calls a function when the thread ends.
struct AtEnd(Cell<Option<fn()>>);

impl Drop for AtEnd {
    fn drop(&mut self) {
        if let Some(f) = self.0.take() {
            f();
        }
    }
}

thread_local! {
    /// See [`Current`]. Without destructor, so it can be read until the very end.
    static CURRENT: Current = const {
        Current {
            ready: Cell::new(ptr::null()),
            processor: Cell::new(ptr::null()),
            locals: Cell::new(ptr::null()),
            number: Cell::new(0),
            own: Cell::new(false),
            deferred: Cell::new(ptr::null()),
        }
    };

    /// See [`AtEnd`]. Touched only by threads that have something to end.
    static AT_END: AtEnd = const { AtEnd(Cell::new(None)) };
}

/// The ready queue of the processor that this thread is, or null.
#[inline(never)]
pub fn ready() -> *const () {
    let ready = CURRENT.with(|current| current.ready.get());
    opaque();
    ready
}

/// The processor that this thread is, or null.
#[inline(never)]
pub fn processor() -> *const () {
    let processor = CURRENT.with(|current| current.processor.get());
    opaque();
    processor
}

/// Whether this thread is unwinding. std counts that in a thread-local of its own, so
/// it is asked from here.
#[inline(never)]
pub fn panicking() -> bool {
    let panicking = std::thread::panicking();
    opaque();
    panicking
}

/// Makes this thread a processor, or, with null pointers, a foreign thread again.
#[inline(never)]
pub fn set(ready: *const (), processor: *const ()) {
    CURRENT.with(|current| {
        current.ready.set(ready);
        current.processor.set(processor);
    });
    opaque();
}

/// This thread's own fibre-local values, or null.
#[inline(never)]
pub fn locals() -> *const () {
    let locals = CURRENT.with(|current| current.locals.get());
    opaque();
    locals
}

/// Sets them, and what ends them when the thread ends. If it is ending already, they stay
/// for ever.
#[inline(never)]
pub fn set_locals(locals: *const (), at_end: fn()) {
    CURRENT.with(|current| current.locals.set(locals));
    let _ = AT_END.try_with(|end| end.0.set(Some(at_end)));
    opaque();
}

/// Where this thread puts off waking processors, or null.
#[inline(never)]
pub fn deferred() -> *const () {
    let deferred = CURRENT.with(|current| current.deferred.get());
    opaque();
    deferred
}

/// Sets it.
#[inline(never)]
pub fn set_deferred(deferred: *const ()) {
    CURRENT.with(|current| current.deferred.set(deferred));
    opaque();
}

/// This thread's number, below all numbers of fibres. No other thread has or had it.
#[inline(never)]
pub fn thread_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let number = CURRENT.with(|current| {
        if current.number.get() == 0 {
            current.number.set(NEXT.fetch_add(1, Ordering::Relaxed));
        }
        current.number.get()
    });
    opaque();
    number
}

/// Says that the runtime has started this thread, which is no processor.
#[inline(never)]
pub fn set_own() {
    CURRENT.with(|current| current.own.set(true));
    opaque();
}

/// Whether the runtime has started this thread, which may be a processor.
#[inline(never)]
pub fn is_own() -> bool {
    let own = CURRENT.with(|current| current.own.get() || !current.processor.get().is_null());
    opaque();
    own
}

/// Something that may touch any memory, as far as LLVM knows.
#[inline(always)]
fn opaque() {
    // SAFETY: no instruction at all.
    unsafe { asm!("", options(nostack, preserves_flags)) };
}
