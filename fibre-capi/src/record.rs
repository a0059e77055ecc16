//! Handles, and what lies behind them.
//!
//! A handle is an index and a generation. The index finds a *record*, whose memory is never given
//! back; the generation tells whether it still is the same fibre's. Records of fibres and of plain
//! threads are alike; the latter get theirs when they first ask for their own handle, and lose it
//! at their end. Of these, only the initial one can be joined. Its record is no place of the table,
//! and is never given back: no other thread or fibre gets its handle. In a forked child, where
//! locks may be held for ever, it serves every caller that has none.
//!
//! One word, `claim`, says which caller may still ask for the fibre's end:
//!
//! ```text
//!  generation, FREE ──create──► generation, OPEN ──join──► generation, index of its joiner
//!        ▲                          │    ▲                    │                 │
//!        │                          │    └──── gave up ───────┘                 │ ended
//!        │                          └──detach──► generation, DETACHED           │
//!        └─────────── generation + 1 ◄──────────────── ended ◄──────────────────┘
//! ```
//!
//! Invariants: (1) a record is given back once: by the joiner, or, detached, at the fibre's end.
//! (2) `fibre` is there from before the fibre runs until the record is given back, which waits for
//! its visitors. So the owner of the claim may use it, and other callers in a visit
//! ([`fibre_core::internal::Asymmetric`]), with the generation checked in it. (3) A caller that
//! gives a record back has retired its generation before it touches anything else.
//!
//! Free records lie with the processor on which they were given back, up to `MOST_FREE`, and else
//! in one list for all processors.
//!
//! # Memory ordering
//!
//! A caller that changes the claim acquires what the one before has released: the handle, and the
//! result. Two fibres that join each other both change a claim and then read the other's
//! (sequentially consistent), so one of them sees the other.

use crate::environment::Environment;
use crate::init;
use fibre_core::internal::{
    Asymmetric, EmbeddedFibre, GUARD_SIZE, ProcessorLocal, SegmentedVec, ShortLock, embedded,
    signals_blocked_by_program, with_processor_local,
};
use fibre_core::{Key, in_fibre, is_forked_child};
use fibre_io::posix::signal_set::bit;
use fibre_sync::{AutoEvent, Event};
use parking_lot::Mutex;
use std::cell::{Cell, UnsafeCell};
use std::ffi::{c_char, c_int, c_void};
use std::mem::offset_of;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};

/// A fibre or a thread: an index, and above it a generation; zero is nobody. `pthread_t` has the
/// same size.
pub type fibre_t = u64;

/// What a fibre runs. From C, never null.
pub type fibre_start_t = Option<unsafe extern "C-unwind" fn(argument: *mut c_void) -> *mut c_void>;

/// What a cleanup handler, or the destructor of a key, is.
pub type fibre_routine_t = Option<unsafe extern "C-unwind" fn(argument: *mut c_void)>;

/// Bytes of a fibre's name, with the zero at its end.
pub const NAME: usize = 16;

/// How many free records a processor keeps at most.
const MOST_FREE: usize = 1024;
/// How many it gets at once.
const BATCH: usize = 16;

/// The claim of a free record: no fibre has it.
const FREE: u32 = 0;
/// It may be joined or detached. No record has this index.
const OPEN: u32 = u32::MAX;
/// The fibre is detached: no caller will ask for its end. No record has this index.
const DETACHED: u32 = u32::MAX - 1;
/// The index of the initial thread's record, which is beyond the table.
const INITIAL: u32 = u32::MAX - 2;

/// Of [`Record::stage`]: it lives, and can be cancelled.
const LIVES: u8 = 0;
/// It runs what tidies up, and nothing cancels it any more.
const ENDS: u8 = 1;
/// It is not kept yet ([`Record::keep`]), or takes no signal any more ([`Record::leave_signals`]).
const ABSENT: u8 = 2;

/// What lies behind a handle. See the module text.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Record {
    /// The generation, and below it the claim.
    claim: AtomicU64,
    /// Its place in the table; never zero.
    index: u32,
    /// See invariant 2.
    visits: Asymmetric,
    /// The fibre; none for plain threads.
    fibre: UnsafeCell<Option<EmbeddedFibre>>,
    /// The free record below it, if it is free.
    next: Cell<*const Self>,
    /// What the fibre runs. Its own, as the next ones.
    pub start: Cell<fibre_start_t>,
    /// The argument of `start`.
    pub argument: Cell<*mut c_void>,
    /// Where its first frame of this library is, which an escape goes back to; set while it runs.
    pub frame: Cell<*mut c_void>,
    /// What it has returned.
    pub result: Cell<*mut c_void>,
    /// The cleanup handler that was pushed last.
    pub cleanup: Cell<*mut c_void>,
    /// Whether it wants to know of no cancellation, and has said so. The fibre writes it, and its
    /// joiners read it.
    deaf: AtomicBool,
    /// How far it has come: one of the stages above. The fibre writes it, and its joiners read it.
    stage: AtomicU8,
    /// What it has said of the type of cancellation.
    pub asynchronous: Cell<bool>,
    /// Whether any of what follows may differ from what a new fibre has.
    rare: AtomicBool,
    /// What it has of its own instead of the thread's; null if it has nothing.
    pub environment: Cell<*mut Environment>,
    /// Its `h_errno`.
    host_error: Cell<c_int>,
    /// The generation that was the last to end detached; zero for none.
    last_detached: AtomicU32,
    /// What few fibres have.
    about: ShortLock<About>,
    /// What `fibre_unpark` has left for `fibre_park`.
    wake: AutoEvent,
    /// "It has ended", of the initial thread; others can be asked themselves, or not be joined.
    pub ended: Event,
}

/// What few fibres have.
#[derive(Debug, Clone, Copy, Default)]
pub struct About {
    /// Its policy and priority, as POSIX has it.
    pub scheduling: (u8, u8),
    /// Its name.
    pub name: [c_char; NAME],
    /// The processors of its cluster that its attributes let it run on, a bit each; zero for all.
    pub processors: u64,
    /// Its signals.
    pub signals: Signals,
    /// The memory of the program that is its stack; zeros if that is the runtime's.
    pub stack: (usize, usize),
    /// What the system calls the thread, if it is a plain one.
    pub thread: Option<libc::pthread_t>,
}

impl About {
    /// Bytes of the guard of its stack: none if that is memory of the program.
    pub fn guard(&self) -> Option<usize> {
        Some(if self.stack == (0, 0) { GUARD_SIZE } else { 0 })
    }
}

/// What a fibre has of signals.
#[derive(Debug, Clone, Copy, Default)]
pub struct Signals {
    /// Its mask, a bit for each signal, from the lowest on; none if it is the program's.
    pub blocked: Option<u64>,
    /// What it has raised, and blocks.
    pub pending: u64,
}

// SAFETY: cells are the fibre's own while it runs, the creator's before and the claim's holder's
// afterwards, as told in the module text.
unsafe impl Sync for Record {}
// SAFETY: nothing in it belongs to a thread.
unsafe impl Send for Record {}

/// Why there is no claim to be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// There is no such fibre.
    Unknown,
    /// It is detached, or another caller joins it.
    NotJoinable,
    /// It is the caller, or it waits for the caller.
    Deadlock,
}

impl Refused {
    /// The error number.
    pub const fn number(self) -> c_int {
        match self {
            Self::Unknown => libc::ESRCH,
            Self::NotJoinable => libc::EINVAL,
            Self::Deadlock => libc::EDEADLK,
        }
    }
}

/// All records, by their indexes, less one: zero is no record's.
static TABLE: SegmentedVec<Record> = SegmentedVec::new();

/// Free records.
static FREE_ONES: Mutex<FreeOnes> = Mutex::new(FreeOnes {
    first: ptr::null(),
    buckets: 0,
});

/// See [`FREE_ONES`].
struct FreeOnes {
    /// The one that was given back last.
    first: *const Record,
    /// How many buckets of records have been made.
    buckets: usize,
}

// SAFETY: records may be used by any thread.
unsafe impl Send for FreeOnes {}

impl FreeOnes {
    /// A free record; `None`: there are as many as there may be.
    fn take(&mut self) -> Option<&'static Record> {
        if self.first.is_null() {
            let records = TABLE.bucket(self.buckets, Record::new)?;
            self.buckets += 1;
            records.iter().rev().for_each(|record| self.put(record));
        }
        // SAFETY: records are never freed, and this is one.
        let record: &'static Record = unsafe { &*self.first };
        self.first = record.next.get();
        Some(record)
    }

    /// Keeps a free record.
    fn put(&mut self, record: &Record) {
        record.next.set(self.first);
        self.first = record;
    }
}

impl Record {
    /// A free record.
    fn new(place: usize) -> Self {
        // There are never more than that.
        Self::with_index(place as u32 + 1, FREE)
    }

    /// A record in its first generation.
    fn with_index(index: u32, claim: u32) -> Self {
        Self {
            claim: AtomicU64::new(word(1, claim)),
            index,
            visits: Asymmetric::new(),
            fibre: UnsafeCell::new(None),
            next: Cell::new(ptr::null()),
            start: Cell::new(None),
            argument: Cell::new(ptr::null_mut()),
            frame: Cell::new(ptr::null_mut()),
            result: Cell::new(ptr::null_mut()),
            cleanup: Cell::new(ptr::null_mut()),
            deaf: AtomicBool::new(false),
            stage: AtomicU8::new(LIVES),
            asynchronous: Cell::new(false),
            rare: AtomicBool::new(false),
            environment: Cell::new(ptr::null_mut()),
            host_error: Cell::new(0),
            last_detached: AtomicU32::new(0),
            about: ShortLock::new(About::default()),
            wake: AutoEvent::new(),
            ended: Event::new(),
        }
    }

    /// A record for a new fibre or thread, which may be joined. `None`: there are too many.
    pub fn take(detached: bool) -> Option<&'static Self> {
        // SAFETY: this library is the layer whose local values hold records; no call here blocks.
        let record = unsafe { with_processor_local(Self::take_from) }?;
        record.deaf.store(false, Ordering::Relaxed);
        record.stage.store(ABSENT, Ordering::Relaxed);
        record.asynchronous.set(false);
        record.cleanup.set(ptr::null_mut());
        if record.rare.load(Ordering::Relaxed) {
            record.forget();
        }
        let claim = if detached { DETACHED } else { OPEN };
        let generation = generation_of(record.claim.load(Ordering::Relaxed));
        record
            .claim
            .store(word(generation, claim), Ordering::Release);
        Some(record)
    }

    /// Gives the record back: no fibre has its handles from now on.
    ///
    /// # Safety
    ///
    /// Invariant 1.
    pub unsafe fn give_back(&'static self) {
        let claim = self.claim.load(Ordering::Relaxed);
        let generation = generation_of(claim);
        if claim_of(claim) == DETACHED {
            self.last_detached.store(generation, Ordering::Relaxed);
        }
        // Zero would make handles that look like none.
        let next = generation.wrapping_add(1).max(1);
        self.visits.retire(&self.claim, word(next, FREE));
        // SAFETY: invariant 2: no caller has the claim, and no visitor is there.
        drop(unsafe { (*self.fibre.get()).take() });
        // SAFETY: as in `take`.
        unsafe { with_processor_local(|local| self.put_into(local)) };
    }

    /// Says that no caller will ask for the end of the initial thread again: it has been joined.
    /// Calls with its handle are refused, and no other thread gets it.
    ///
    /// # Safety
    ///
    /// This is its record, and the caller has the claim.
    pub unsafe fn close(&self) {
        let generation = generation_of(self.claim.load(Ordering::Relaxed));
        self.claim.store(word(generation, FREE), Ordering::SeqCst);
    }

    /// A free record: of this processor, or of all.
    #[inline]
    fn take_from(local: Option<&ProcessorLocal>) -> Option<&'static Self> {
        let Some(local) = local else {
            return FREE_ONES.lock().take();
        };
        if local.list.get().is_null() {
            refill(local)?;
        }
        // SAFETY: records are never freed, and these are some.
        let record: &'static Self = unsafe { &*local.list.get().cast() };
        local.list.set(record.next.get().cast_mut().cast());
        local.count.set(local.count.get() - 1);
        Some(record)
    }

    /// Keeps a free record, with this processor or for all.
    #[inline]
    fn put_into(&self, local: Option<&ProcessorLocal>) {
        match local {
            Some(local) if local.count.get() < MOST_FREE => {
                self.next.set(local.list.get().cast_const().cast());
                local.list.set(ptr::from_ref(self).cast_mut().cast());
                local.count.set(local.count.get() + 1);
                local.end.set(Some(give_back_all));
            }
            _ => FREE_ONES.lock().put(self),
        }
    }

    /// Makes what few fibres have that of a new one.
    #[cold]
    fn forget(&self) {
        self.rare.store(false, Ordering::Relaxed);
        self.host_error.set(0);
        *self.about.lock() = About::default();
        self.wake.reset();
    }

    /// Says whether it wants to know of no cancellation; returns what it said before. Its own.
    pub fn set_deaf(&self, wanted: bool) -> bool {
        let before = self.deaf.load(Ordering::Relaxed);
        self.deaf.store(wanted, Ordering::Relaxed);
        before
    }

    /// Says that it is ending; returns whether it was. Its own.
    pub fn begin_end(&self) -> bool {
        let before = self.stage.load(Ordering::Relaxed);
        self.stage.store(ENDS, Ordering::Release);
        before != LIVES
    }

    /// Says that it lets no signal in from now on: it has ended. Its own.
    pub fn leave_signals(&self) {
        self.stage.store(ABSENT, Ordering::Release);
    }

    /// Where its `h_errno` is, which is its own.
    pub fn host_error(&self) -> *mut c_int {
        self.rare.store(true, Ordering::Relaxed);
        self.host_error.as_ptr()
    }

    /// Reads or changes what few fibres have.
    pub fn about<R>(&self, f: impl FnOnce(&mut About) -> R) -> R {
        self.rare.store(true, Ordering::Relaxed);
        f(&mut self.about.lock())
    }

    /// Where the name is, for debuggers; a lock begins with what it protects.
    pub const NAME: usize = offset_of!(Self, about) + offset_of!(About, name);

    /// Reads or changes what few fibres have, unless another caller has the lock.
    pub fn try_about<R>(&self, f: impl FnOnce(&mut About) -> R) -> Option<R> {
        self.rare.store(true, Ordering::Relaxed);
        self.about.try_lock().map(|mut about| f(&mut about))
    }

    /// What `fibre_unpark` has left for `fibre_park`.
    pub fn wake(&self) -> &AutoEvent {
        self.rare.store(true, Ordering::Relaxed);
        &self.wake
    }

    /// Its handle.
    #[inline]
    pub fn handle(&self) -> fibre_t {
        let generation = generation_of(self.claim.load(Ordering::Relaxed));
        word(generation, self.index)
    }

    /// Keeps the fibre, before that runs.
    ///
    /// # Safety
    ///
    /// The caller has taken the record and not published it.
    pub unsafe fn keep(&self, fibre: EmbeddedFibre) {
        // SAFETY: the creator is alone with it.
        unsafe { *self.fibre.get() = Some(fibre) };
        // Whoever sees that sees its mask, too.
        self.stage.store(LIVES, Ordering::Release);
    }

    /// The fibre, for the caller that has the claim.
    ///
    /// # Safety
    ///
    /// That is the caller, and it does not give the record back meanwhile.
    pub unsafe fn fibre(&self) -> Option<&EmbeddedFibre> {
        // SAFETY: invariant 2.
        unsafe { (*self.fibre.get()).as_ref() }
    }

    /// Claims the right to the end of the fibre with this handle, for the caller with record `me`.
    ///
    /// # Errors
    ///
    /// Why there is none.
    pub fn claim_join(handle: fibre_t, me: &Self) -> Result<&'static Self, Refused> {
        // By the handle: the caller may have the record of one that has ended.
        if handle == me.handle() {
            return Err(Refused::Deadlock);
        }
        let record = find(handle).ok_or(Refused::Unknown)?;
        // It looks again in the end, as a fibre that leaves its join gives the claim up before.
        let has_claim = || claim_of(me.claim.load(Ordering::SeqCst)) == record.index;
        let joins_me = || has_claim() && !Self::leaves(handle) && has_claim();
        if let Err(refused) = record.change(handle, me.index) {
            // Another caller may join it, while it waits for us.
            let deadlock = refused == Refused::NotJoinable && joins_me();
            return Err(if deadlock { Refused::Deadlock } else { refused });
        }
        // Two fibres that join each other both get here; the later one sees the other. A cancelled
        // one gives up.
        if joins_me() {
            record.reopen();
            return Err(Refused::Deadlock);
        }
        Ok(record)
    }

    /// Whether the fibre with this handle leaves the wait that it is in, as it has been cancelled.
    /// What it has said about that was said before it began to wait.
    fn leaves(handle: fibre_t) -> bool {
        let leaves = Self::with(handle, |record, fibre| {
            let notices = !record.deaf.load(Ordering::Relaxed)
                && record.stage.load(Ordering::Acquire) == LIVES;
            notices && fibre.is_some_and(EmbeddedFibre::is_cancelled)
        });
        leaves == Ok(true)
    }

    /// Gives the right to join up again.
    pub fn reopen(&self) {
        let generation = generation_of(self.claim.load(Ordering::Relaxed));
        self.claim.store(word(generation, OPEN), Ordering::SeqCst);
    }

    /// Detaches the fibre with this handle: no caller will ask for its end.
    ///
    /// # Errors
    ///
    /// Why that cannot be.
    pub fn claim_detach(handle: fibre_t) -> Result<&'static Self, Refused> {
        let record = find(handle).ok_or(Refused::Unknown)?;
        record.change(handle, DETACHED)?;
        Ok(record)
    }

    /// Makes an open claim another one.
    fn change(&self, handle: fibre_t, claim: u32) -> Result<(), Refused> {
        let generation = generation_of(handle);
        let changed = self.claim.compare_exchange(
            word(generation, OPEN),
            word(generation, claim),
            Ordering::SeqCst,
            Ordering::Acquire,
        );
        // A detached one is refused alike before and after its end.
        let was_detached = || self.last_detached.load(Ordering::Relaxed) == generation;
        match changed {
            Ok(_) => Ok(()),
            Err(now) if generation_of(now) != generation && was_detached() => {
                Err(Refused::NotJoinable)
            }
            Err(now) if generation_of(now) != generation => Err(Refused::Unknown),
            Err(now) if claim_of(now) == FREE => Err(Refused::Unknown),
            Err(_) => Err(Refused::NotJoinable),
        }
    }

    /// Calls `f` with the fibre that has this handle, which stays meanwhile; with none for a plain
    /// thread. `f` blocks nothing.
    ///
    /// # Errors
    ///
    /// If there is no such fibre.
    pub fn with<R>(
        handle: fibre_t,
        f: impl FnOnce(&'static Self, Option<&EmbeddedFibre>) -> R,
    ) -> Result<R, Refused> {
        let record = find(handle).ok_or(Refused::Unknown)?;
        record.visits.visit(|| {
            if !record.is(handle) {
                return Err(Refused::Unknown);
            }
            // SAFETY: invariant 2.
            let fibre = unsafe { (*record.fibre.get()).as_ref() };
            Ok(f(record, fibre))
        })
    }

    /// Calls `f` with what the system calls the plain thread that has this handle, and which does
    /// not end meanwhile: its record is given back before. `None` for a fibre. `f` blocks nothing.
    ///
    /// # Errors
    ///
    /// If there is no such fibre or thread.
    pub fn with_thread<R>(
        handle: fibre_t,
        f: impl FnOnce(libc::pthread_t) -> R,
    ) -> Result<Option<R>, Refused> {
        let is_own = !in_fibre() && of_caller().handle() == handle;
        Self::with(handle, |record, fibre| match fibre {
            Some(_) => None,
            // In a forked child the caller is another thread than the one that has left the record.
            // SAFETY: no requirement.
            None if is_own => Some(f(unsafe { libc::pthread_self() })),
            None => record.about(|about| about.thread).map(f),
        })
    }

    /// The record with this handle, which may become another fibre's at any time.
    ///
    /// # Errors
    ///
    /// If there is no such fibre.
    pub fn glimpse(handle: fibre_t) -> Result<&'static Self, Refused> {
        let record = find(handle).filter(|record| record.is(handle));
        record.ok_or(Refused::Unknown)
    }

    /// Whether the fibre is detached: no caller will ask for its end.
    pub fn is_detached(&self) -> bool {
        claim_of(self.claim.load(Ordering::Relaxed)) == DETACHED
    }

    /// Whether it is a fibre's that lets this signal in. The fibre may end or change its mask at
    /// any time.
    fn lets_in(&self, signal: c_int) -> bool {
        if claim_of(self.claim.load(Ordering::Acquire)) == FREE
            || self.stage.load(Ordering::Acquire) == ABSENT
        {
            return false;
        }
        let about = match self.rare.load(Ordering::Relaxed) {
            true => *self.about.lock(),
            false => About::default(),
        };
        let blocked = about.signals.blocked;
        let blocked = blocked.unwrap_or_else(signals_blocked_by_program);
        about.thread.is_none() && blocked & bit(signal) == 0
    }

    /// Whether the handle is of the one that has the record now.
    fn is(&self, handle: fibre_t) -> bool {
        let now = self.claim.load(Ordering::Acquire);
        generation_of(now) == generation_of(handle) && claim_of(now) != FREE
    }
}

/// Whether a fibre that can run, or has begun to, lets this signal in.
pub fn any_lets_in(signal: c_int) -> bool {
    let mut all = (0..).map_while(|index| TABLE.get(index));
    all.any(|record| record.lets_in(signal))
}

/// Gets records for a processor that has none; `None`: there are as many as there may be.
#[cold]
fn refill(local: &ProcessorLocal) -> Option<()> {
    let mut free = FREE_ONES.lock();
    for _ in 0..BATCH {
        let record = free.take()?;
        record.next.set(local.list.get().cast_const().cast());
        local.list.set(ptr::from_ref(record).cast_mut().cast());
        local.count.set(local.count.get() + 1);
    }
    local.end.set(Some(give_back_all));
    Some(())
}

/// Takes the records of a processor that ends.
fn give_back_all(list: *mut ()) {
    let mut free = FREE_ONES.lock();
    let mut next: *const Record = list.cast();
    // SAFETY: a list of free records, which are never freed.
    while let Some(record) = unsafe { next.as_ref() } {
        next = record.next.get();
        free.put(record);
    }
}

/// A generation and a claim, or an index.
const fn word(generation: u32, rest: u32) -> u64 {
    (generation as u64) << 32 | rest as u64
}

/// The generation of a claim or a handle.
const fn generation_of(word: u64) -> u32 {
    (word >> 32) as u32
}

/// The claim of a word, or the index of a handle.
const fn claim_of(word: u64) -> u32 {
    word as u32
}

/// The record that a handle means, if there is any.
#[inline]
fn find(handle: fibre_t) -> Option<&'static Record> {
    let index = claim_of(handle);
    let in_table = TABLE.get(index.checked_sub(1)? as usize);
    if in_table.is_none() && index == INITIAL {
        return OF_INITIAL.get();
    }
    in_table
}

/// The initial thread's record.
static OF_INITIAL: OnceLock<Record> = OnceLock::new();

/// The record of the calling fibre, if this library has made it.
#[inline]
pub fn of_fibre() -> Option<&'static Record> {
    // SAFETY: what is embedded in our fibres is their record, which is never freed.
    unsafe { embedded().cast::<Record>().as_ref() }
}

/// The processors that the calling fibre may run on, a bit each; zero for all, or for no fibre.
#[inline]
pub fn processors_of_fibre() -> u64 {
    let own = of_fibre().filter(|record| record.rare.load(Ordering::Relaxed));
    own.map_or(0, |record| record.about.lock().processors)
}

/// The record of the caller; a plain thread, or a fibre of another language, gets one that ends
/// with it.
///
/// # Panics
///
/// If there are four thousand million fibres.
#[inline]
pub fn of_caller() -> &'static Record {
    of_fibre().unwrap_or_else(of_stranger)
}

/// The record of a caller that is no fibre of ours.
#[cold]
fn of_stranger() -> &'static Record {
    if is_forked_child() {
        return of_initial();
    }
    static KEY: OnceLock<Key> = OnceLock::new();
    let key = *KEY.get_or_init(|| {
        init::notice_thread_ends();
        // Destructors of other keys may ask for the thread's handle.
        // SAFETY: its values are such records.
        unsafe { Key::new_last(end_of_stranger) }
    });
    // SAFETY: the key's values are such records.
    if let Some(record) = unsafe { key.get().cast::<Record>().as_ref() } {
        return record;
    }
    let record = if is_initial() {
        of_initial()
    } else {
        let taken = Record::take(true);
        taken.unwrap_or_else(|| unreachable!("there cannot be so many"))
    };
    // SAFETY: no requirement.
    record.about(|about| about.thread = Some(unsafe { libc::pthread_self() }));
    // SAFETY: the key's values are such records.
    unsafe { key.set(ptr::from_ref(record).cast_mut().cast()) };
    record
}

/// See [`OF_INITIAL`].
fn of_initial() -> &'static Record {
    OF_INITIAL.get_or_init(|| Record::with_index(INITIAL, OPEN))
}

/// Whether this thread is the one that the process began with.
pub fn is_initial() -> bool {
    // SAFETY: no requirements.
    !in_fibre() && unsafe { libc::gettid() == libc::getpid() }
}

/// A thread has ended.
unsafe extern "C-unwind" fn end_of_stranger(record: *mut c_void) {
    // SAFETY: the value is such a record, which is never freed.
    let record: &'static Record = unsafe { &*record.cast_const().cast() };
    if record.index != INITIAL {
        // SAFETY: no caller can join a thread that this library has not made.
        unsafe { record.give_back() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_index_is_found() {
        let mut free = Vec::new();
        for _ in 0..1000 {
            let record = Record::take(true).unwrap();
            assert!(ptr::eq(find(record.handle()).unwrap(), record));
            free.push(record);
        }
        let handles: Vec<_> = free.iter().map(|record| record.handle()).collect();
        for record in free {
            // SAFETY: taken above.
            unsafe { record.give_back() };
        }
        for handle in handles {
            assert_eq!(Record::with(handle, |_, _| ()), Err(Refused::Unknown));
        }
        for nonsense in [0, 1 << 32, u64::MAX, word(1, u32::MAX), word(7, 1 << 30)] {
            assert_eq!(Record::with(nonsense, |_, _| ()), Err(Refused::Unknown));
        }
    }
}
