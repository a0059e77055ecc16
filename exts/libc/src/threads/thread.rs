//! A fibre that the program takes for a thread, and its handle.
//!
//! A `pthread_t` of the C library's is the address of a thread control block. A fibre gets its
//! block when it begins, and its creator wants a handle before that. So a handle of ours is the
//! address of a record, with the lowest bit set: that tells them apart. As with those of the C
//! library, a handle must not be used once its thread has been joined, or was detached and has
//! ended.
//!
//! One byte, `claim`, says who gives the record back: the caller that joins, once it has seen the
//! end, or the fibre of a thread that is detached, as the last thing that it does. A caller that
//! cancels a thread holds its record meanwhile, which then goes with the last holder.

use super::exception::Exception;
use super::handler::Handler;
use super::living::count_done;
use super::requests::Requests;
use fibre_core::internal::{
    EmbeddedFibre, FibreReport, NamePlace, Program, Start, Viewer, abort_with, embedded_in, enter,
    rename,
};
use fibre_core::{StackError, is_forked_child};
use std::cell::{Cell, UnsafeCell};
use std::ffi::{CStr, c_void};
use std::mem::offset_of;
use std::ops::Deref;
use std::ptr;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

/// What all threads that are fibres have in common.
pub(super) static PROGRAM: Program = Program {
    run,
    ended,
    failed,
    describe,
    name: NamePlace {
        offset: offset_of!(Thread, name) as u32,
        length: NAME as u32,
    },
};

/// Bytes of a name, with the zero at its end.
pub(super) const NAME: usize = 16;

/// What tells handles of ours from addresses of blocks.
const OURS: libc::pthread_t = 1;

/// The claim of a thread that may be joined or detached.
const OPEN: u8 = 0;
/// That of one that a caller waits for.
const JOINED: u8 = 1;
/// That of one that nobody waits for any more.
const DETACHED: u8 = 2;

/// A fibre that the program takes for a thread.
pub(crate) struct Thread {
    /// What it runs.
    start: Start,
    /// The argument of `start`.
    argument: *mut c_void,
    /// Says which caller gives the record back.
    claim: AtomicU8,
    /// How many holders the record has: the claim, and those that cancel the thread.
    holders: AtomicU32,
    /// Its name, up to a zero.
    name: [AtomicU8; NAME],
    /// The signals that it blocks, a bit for each. Its own; relaxed, as a handler may change it.
    blocked: AtomicU64,
    /// What it has returned. Its own, until it has ended.
    result: Cell<*mut c_void>,
    /// Where its first frame is, which `pthread_exit` goes back to; null before and after. Its own.
    frame: Cell<*mut c_void>,
    /// The innermost cleanup handler of C; or null. Its own.
    cleanup: Cell<*mut Handler>,
    /// The requests to end it.
    requests: Requests,
    /// What unwinds its stack when it ends by force. Its own.
    exception: UnsafeCell<Exception>,
    /// The fibre: there from before it runs until the record is given back.
    fibre: UnsafeCell<Option<EmbeddedFibre>>,
}

// SAFETY: the cells are the fibre's own until it has ended, and then the claim's owner's, as told
// above. `start` may be called with the argument on any thread.
unsafe impl Sync for Thread {}

impl Thread {
    /// A thread that runs `start(argument)`, and blocks these signals.
    pub(super) fn new(
        start: Start,
        argument: *mut c_void,
        detached: bool,
        blocked: u64,
    ) -> Box<Self> {
        Box::new(Self {
            start,
            argument,
            claim: AtomicU8::new(if detached { DETACHED } else { OPEN }),
            holders: AtomicU32::new(1),
            name: [const { AtomicU8::new(0) }; NAME],
            blocked: AtomicU64::new(blocked),
            result: Cell::new(ptr::null_mut()),
            frame: Cell::new(ptr::null_mut()),
            cleanup: Cell::new(ptr::null_mut()),
            requests: Requests::new(),
            exception: UnsafeCell::new(Exception::new()),
            fibre: UnsafeCell::new(None),
        })
    }

    /// The thread with this handle; `None`: it is one of the C library's.
    ///
    /// # Safety
    ///
    /// The thread may be used, as POSIX has it, for as long as the reference is.
    pub(crate) unsafe fn of<'a>(handle: libc::pthread_t) -> Option<&'a Self> {
        let address = (handle & !OURS) as usize;
        // SAFETY: the caller's promise; handles of ours are addresses of records.
        (handle & OURS != 0).then(|| unsafe { &*ptr::with_exposed_provenance::<Self>(address) })
    }

    /// The calling thread, if it is one of ours.
    #[inline]
    pub(super) fn of_caller<'a>() -> Option<&'a Self> {
        let data = embedded_in(&PROGRAM);
        // SAFETY: the data of our program is a record, and the calling fibre's is there until it
        // has ended.
        unsafe { data.cast::<Self>().as_ref() }
    }

    /// Its handle.
    pub(super) fn handle(&self) -> libc::pthread_t {
        ptr::from_ref(self).expose_provenance() as libc::pthread_t | OURS
    }

    /// Keeps the fibre.
    ///
    /// # Safety
    ///
    /// It has not run, and nobody else knows the record.
    pub(super) unsafe fn keep(&self, fibre: EmbeddedFibre) {
        // SAFETY: the caller's promise.
        unsafe { *self.fibre.get() = Some(fibre) };
    }

    /// Its fibre.
    pub(super) fn fibre(&self) -> &EmbeddedFibre {
        // SAFETY: written before anybody knew the record, and taken back after that.
        match unsafe { &*self.fibre.get() } {
            Some(fibre) => fibre,
            None => abort_with(format_args!("a thread is used that has not been created")),
        }
    }

    /// Whether it may be joined or detached.
    pub(super) fn is_open(&self) -> bool {
        self.claim.load(Ordering::Relaxed) == OPEN
    }

    /// Whether it was detached.
    pub(super) fn is_detached(&self) -> bool {
        self.claim.load(Ordering::Relaxed) == DETACHED
    }

    /// Claims the thread for a join. `false`: another caller has joined or detached it.
    pub(super) fn claim_join(&self) -> bool {
        self.claim(JOINED)
    }

    /// Claims it for nobody.
    pub(super) fn claim_detach(&self) -> bool {
        self.claim(DETACHED)
    }

    /// Gives up the claim of a join that has not waited for the end.
    pub(super) fn reopen(&self) {
        self.claim.store(OPEN, Ordering::Release);
    }

    /// Takes the claim.
    fn claim(&self, claim: u8) -> bool {
        let taken = self
            .claim
            .compare_exchange(OPEN, claim, Ordering::Acquire, Ordering::Relaxed);
        taken.is_ok()
    }

    /// What it has returned.
    ///
    /// # Safety
    ///
    /// It has ended, and the caller has claimed the join.
    pub(super) unsafe fn result(&self) -> *mut c_void {
        self.result.get()
    }

    /// Notes what it leaves its frames with.
    pub(super) fn leave_with(&self, result: *mut c_void) {
        self.result.set(result);
    }

    /// What that is. Its own.
    pub(super) fn left_with(&self) -> *mut c_void {
        self.result.get()
    }

    /// Keeps the record until what this returns is dropped, whatever becomes of the thread.
    pub(super) fn hold(&self) -> Held {
        // Relaxed: the thread may be used now, so there is a holder.
        self.holders.fetch_add(1, Ordering::Relaxed);
        Held(ptr::from_ref(self))
    }

    /// Gives up the claim's hold of the record, and frees it if nobody else holds it.
    ///
    /// # Safety
    ///
    /// It has ended, the caller has the claim, and the record came from a box.
    pub(super) unsafe fn free(&self) {
        // SAFETY: the claim's hold.
        unsafe { self.let_go() };
    }

    /// Gives up one hold, and the record with the last.
    ///
    /// # Safety
    ///
    /// The hold was the caller's, and the record came from a box.
    unsafe fn let_go(&self) {
        if self.holders.fetch_sub(1, Ordering::AcqRel) > 1 {
            return;
        }
        let record = ptr::from_ref(self).cast_mut();
        // SAFETY: the caller's promise.
        drop(unsafe { Box::from_raw(record) });
    }

    /// Where its first frame is; null where there is none to go back to.
    pub(super) fn frame(&self) -> *mut c_void {
        self.frame.get()
    }

    /// Its innermost cleanup handler of C.
    pub(super) fn cleanup(&self) -> &Cell<*mut Handler> {
        &self.cleanup
    }

    /// What unwinds its stack when it ends by force.
    pub(super) fn exception(&self) -> *mut Exception {
        self.exception.get()
    }

    /// The requests to end it.
    pub(super) fn requests(&self) -> &Requests {
        &self.requests
    }

    /// The signals that it blocks.
    pub(super) fn blocked(&self) -> u64 {
        self.blocked.load(Ordering::Relaxed)
    }

    /// Makes these signals its mask.
    pub(super) fn block(&self, signals: u64) {
        self.blocked.store(signals, Ordering::Relaxed);
    }

    /// Gives it a name, which fits.
    pub(super) fn rename(&self, name: &CStr) {
        let padded = name.to_bytes().iter().copied().chain(std::iter::repeat(0));
        for (place, byte) in self.name.iter().zip(padded) {
            place.store(byte, Ordering::Relaxed);
        }
        rename(self.fibre().id(), &name.to_string_lossy());
    }

    /// Its name, up to a zero.
    pub(super) fn name(&self) -> [u8; NAME] {
        self.name
            .each_ref()
            .map(|byte| byte.load(Ordering::Relaxed))
    }
}

/// A record that is held.
pub(super) struct Held(*const Thread);

impl Deref for Held {
    type Target = Thread;

    fn deref(&self) -> &Thread {
        // SAFETY: it is held.
        unsafe { &*self.0 }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // SAFETY: our hold; records of threads that may be cancelled came from boxes.
        unsafe { self.let_go() };
    }
}

/// See [`Program::run`].
unsafe fn run(thread: *const ()) {
    // SAFETY: the data of our program is a record, the calling fibre's.
    let thread = unsafe { &*thread.cast::<Thread>() };
    // SAFETY: the creator has promised that this may be called on another thread.
    let result = unsafe { enter(thread.start, thread.argument, thread.frame.as_ptr()) };
    thread.frame.set(ptr::null_mut());
    // Its destructors are not ended.
    thread.requests.end();
    if is_forked_child() {
        // The last thread of a process has ended.
        // SAFETY: no frame above goes on.
        unsafe { libc::exit(0) };
    }
    thread.result.set(result);
    count_done();
}

/// See [`Program::ended`].
unsafe fn ended(thread: *const ()) {
    // SAFETY: as above; it was detached.
    unsafe { (*thread.cast::<Thread>()).free() };
}

/// See [`Program::failed`]. Nobody else would be told: the program has been promised that it runs.
unsafe fn failed(_thread: *const (), error: StackError) {
    abort_with(format_args!(
        "a thread of the program, which is a fibre, cannot begin: {error}"
    ));
}

/// See [`Program::describe`].
unsafe fn describe(thread: *const (), tell: Viewer<'_>) {
    // SAFETY: as above; the fibre has not ended.
    let name = unsafe { &*thread.cast::<Thread>() }.name();
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(NAME);
    tell(FibreReport {
        noun: "thread",
        name: std::str::from_utf8(&name[..end])
            .ok()
            .filter(|name| !name.is_empty()),
        remedy: "`std::thread::Builder::stack_size`, or RUST_MIN_STACK; \
                 pthread_attr_setstacksize in C",
    });
}
