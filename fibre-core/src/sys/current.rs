//! The processor that this kernel thread is, and what else it owns: the runtime's only
//! thread-locals.
//!
//! LLVM may compute the address of a thread-local once and keep it in a register or a stack slot.
//! It may also infer that a small accessor reads no memory, and merge two calls of it. Either way a
//! fibre that has moved to another kernel thread would go on with the old thread's value. So the
//! accessors are never inlined, contain a volatile `asm!` that LLVM cannot see through ([`arch`]),
//! and their results are used at once and never kept across a switch.
//!
//! Every call needs two words: the ready queue and the processor. These are thread-locals of our
//! own, declared and read by volatile `asm!` that names no address: the segment register is part of
//! each access. So these accessors can be inlined. They use the initial-exec model, which costs two
//! instructions even in a shared library, where the compiler's model costs a call.

use crate::arch::{self, opaque};
use crate::sys::counted::counted;
use crate::sys::numbers;
use std::cell::Cell;
use std::ptr;

/// The runtime's values of a kernel thread. Untyped: the types lie above this module.
struct Current {
    /// Its own fibre-local values; null if it has none.
    locals: Cell<*const ()>,
    /// What scoped values are bound for it, apart from its fibres; null if there are none.
    bindings: Cell<*mut ()>,
    /// The thread's number; zero until it is first asked for.
    number: Cell<u64>,
    /// Whether the runtime has started the thread.
    own: Cell<bool>,
    /// The list of processors that it puts off waking; null if it does not.
    deferred: Cell<*const ()>,
    /// How many shields a plain thread has raised.
    shields: Cell<u32>,
    /// Whether a plain thread's next spawn goes to the processor with the fewest live fibres.
    spreads: Cell<bool>,
    /// Whether a fibre has had it block what the program blocks, to exec.
    hears: Cell<bool>,
    /// Whether what it calls of the C library is the system's own: see `plain_thread`.
    plain: Cell<bool>,
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
    /// This thread's values. Without destructor, so they can be read until the very end.
    static CURRENT: Current = const {
        Current {
            locals: Cell::new(ptr::null()),
            bindings: Cell::new(ptr::null_mut()),
            number: Cell::new(0),
            own: Cell::new(false),
            deferred: Cell::new(ptr::null()),
            shields: Cell::new(0),
            spreads: Cell::new(false),
            hears: Cell::new(false),
            plain: Cell::new(false),
        }
    };

    /// The function that ends this thread's values. Touched only by threads that have something to
    /// end.
    static AT_END: AtEnd = const { AtEnd(Cell::new(None)) };
}

/// The ready queue of the processor that this thread is, or null.
#[inline(always)]
pub(crate) fn ready() -> *const () {
    arch::current_ready()
}

/// The processor that this thread is, or null.
#[inline(always)]
pub(crate) fn processor() -> *const () {
    arch::current_processor()
}

/// The place of these two words: their distance from the thread pointer, the same in all threads.
pub(super) fn place() -> isize {
    arch::current_place()
}

/// Whether the caller panics: its stack is unwound, or it is in the panic hook. std counts that in
/// a thread-local of its own, so the question is asked from here. A fibre takes its panics along;
/// where it cannot, this is true for all fibres of the thread (see `panic_count`).
#[inline(never)]
pub(crate) fn panicking() -> bool {
    let panicking = std::thread::panicking();
    opaque();
    panicking
}

/// Makes this thread a processor, or, with null pointers, a foreign thread again.
#[inline(never)]
pub(crate) fn set(ready: *const (), processor: *const ()) {
    arch::set_current(ready, processor);
}

/// This thread's own fibre-local values, or null.
#[inline(never)]
pub(crate) fn locals() -> *const () {
    let locals = CURRENT.with(|current| current.locals.get());
    opaque();
    locals
}

/// Sets this thread's fibre-local values; [`set_at_end`] sets the function that ends them.
#[inline(never)]
pub(crate) fn set_locals(locals: *const ()) {
    CURRENT.with(|current| current.locals.set(locals));
    opaque();
}

/// What is bound for this thread, apart from its fibres, or null.
#[inline(never)]
pub(crate) fn bindings() -> *mut () {
    let bindings = CURRENT.with(|current| current.bindings.get());
    opaque();
    bindings
}

/// Binds something else for this thread, and returns what was bound before.
#[inline(never)]
pub(crate) fn replace_bindings(bindings: *mut ()) -> *mut () {
    let before = CURRENT.with(|current| current.bindings.replace(bindings));
    opaque();
    before
}

/// Calls a function when this thread ends, as std does for thread-locals: also at an exit of the
/// process that this thread asks for. If the thread is ending already, the function is not called.
#[inline(never)]
pub(crate) fn set_at_end(at_end: fn()) {
    let _ = AT_END.try_with(|end| end.0.set(Some(at_end)));
    opaque();
}

/// The list of processors that this thread puts off waking, or null.
#[inline(never)]
pub(crate) fn deferred() -> *const () {
    let deferred = CURRENT.with(|current| current.deferred.get());
    opaque();
    deferred
}

/// Sets that list.
#[inline(never)]
pub(crate) fn set_deferred(deferred: *const ()) {
    CURRENT.with(|current| current.deferred.set(deferred));
    opaque();
}

/// How many shields this thread has raised, apart from its fibres.
#[inline(never)]
pub(crate) fn shields() -> u32 {
    let shields = CURRENT.with(|current| current.shields.get());
    opaque();
    shields
}

/// Adds to that number.
#[inline(never)]
pub(crate) fn change_shields(by: i32) {
    CURRENT.with(|current| {
        let shields = &current.shields;
        shields.set(counted(shields.get(), by, "shields"));
    });
    opaque();
}

/// Notes whether this thread of the runtime hears of signals for now, as a fibre is about to exec.
/// Returns what was noted before.
#[inline(never)]
pub(crate) fn set_hears(hears: bool) -> bool {
    let before = CURRENT.with(|own| {
        // SAFETY: the carrier's values lie as far from its thread pointer as the fibre's do from
        // the fibre's. The carrier is the calling kernel thread, so nobody else touches them.
        let current =
            unsafe { &*ptr::from_ref(own).wrapping_byte_add(arch::distance_to_carrier()) };
        current.hears.replace(hears)
    });
    opaque();
    before
}

/// Sets whether the next spawn of this thread, a plain one, goes to the processor with the fewest
/// live fibres; returns what was set before.
#[inline(never)]
pub(crate) fn set_spreads(spreads: bool) -> bool {
    let before = CURRENT.with(|current| current.spreads.replace(spreads));
    opaque();
    before
}

/// Whether what this thread calls of the C library is the system's own.
#[inline(never)]
pub(crate) fn is_plain() -> bool {
    let plain = CURRENT.with(|current| current.plain.get());
    opaque();
    plain
}

/// Sets that, and returns what was set before.
#[inline(never)]
pub(crate) fn set_plain(plain: bool) -> bool {
    let before = CURRENT.with(|current| current.plain.replace(plain));
    opaque();
    before
}

/// This thread's number. No other thread and no fibre has or had it.
#[inline(never)]
pub(crate) fn thread_number() -> u64 {
    let number = CURRENT.with(|current| {
        if current.number.get() == 0 {
            current.number.set(numbers::take_one());
        }
        current.number.get()
    });
    opaque();
    number
}

/// Notes that the runtime has started this thread, which is no processor.
#[inline(never)]
pub(crate) fn set_own() {
    CURRENT.with(|current| current.own.set(true));
    opaque();
}

/// Whether the runtime has started this thread, which may be a processor.
#[inline(never)]
pub(crate) fn is_own() -> bool {
    let own = CURRENT.with(|current| current.own.get()) || !processor().is_null();
    opaque();
    own
}
