//! The one-time initialisation of pthreads.
//!
//! `pthread_once_t` has four bytes, too few for a list. So the word holds only the progress. A
//! table lists initialisers by the addresses of their words: a few chains, each under a lock of its
//! own that is held for a few instructions. An entry lies in the frame of its initialiser, holds
//! the initialiser's number, and has the list of its waiters. The table is empty when nothing is
//! being initialised.
//!
//! The word changes only under the lock of its chain. Readers need no lock: it is written with
//! release and read with acquire. The last change, to complete, is the last access of the word; the
//! lock that is released after that belongs to the table, which exists for ever.
//!
//! Unwinding can leave an initialiser, and so can the end of its thread in C, which unwinds
//! nothing. Then the code that cleans up after it says so ([`Once::finish`]), and the next caller
//! begins anew.

use crate::faults;
use crate::raw::error::{Error, Result};
use crate::wait_list::{Claimed, ListWait, Locked, WaitList};
use fibre_core::internal::{caller_id, lower_shield, raise_shield, waits_may_unwind};
use fibre_core::sync::{AtomicU32, Ordering, planted};
use fibre_core::{Limit, WaitKind, WaitObject};
use std::ptr;

/// No initialiser has begun.
const INCOMPLETE: u32 = 0;
/// An initialiser is running.
const RUNNING: u32 = 1;
/// The initialisation is complete.
const COMPLETE: u32 = 2;

/// How many chains the table has.
#[cfg(not(loom))]
const CHAINS: usize = 64;

/// One initialisation, in the frame of the one that does it: for [`Once::begin`].
#[derive(Debug)]
pub struct OnceEntry {
    /// The word.
    once: *const Once,
    /// The initialiser's number.
    initialiser: u64,
    /// The waiters for this initialisation.
    waiting: WaitList,
    /// The next entry of the chain; or null.
    next: *mut OnceEntry,
}

impl OnceEntry {
    /// An entry for an initialisation that the caller is about to begin.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            once: ptr::null(),
            initialiser: 0,
            waiting: WaitList::new(),
            next: ptr::null_mut(),
        }
    }
}

impl Default for OnceEntry {
    fn default() -> Self {
        Self::new()
    }
}

/// The initialisations under way in one chain.
#[derive(Debug)]
struct Chain {
    first: *mut OnceEntry,
}

// SAFETY: entries are touched under the chain's lock only, and stay in their place while they are
// in it.
unsafe impl Send for Chain {}

impl Chain {
    /// An empty chain.
    const fn new() -> Self {
        Self {
            first: ptr::null_mut(),
        }
    }

    /// The entry of a word, or null.
    fn find(&self, once: *const Once) -> *mut OnceEntry {
        let mut entry = self.first;
        // SAFETY: in the chain, hence alive; under its lock.
        while let Some(seen) = unsafe { entry.as_ref() }.filter(|seen| seen.once != once) {
            entry = seen.next;
        }
        entry
    }

    /// Takes the entry of a word out.
    fn remove(&mut self, once: *const Once) {
        let mut place = &raw mut self.first;
        // SAFETY: as in `find`; `place` is in the chain itself or in an entry.
        unsafe {
            while let Some(entry) = (*place).as_mut() {
                if entry.once == once {
                    *place = entry.next;
                    return;
                }
                place = &raw mut entry.next;
            }
        }
    }
}

/// The chain that a word is entered in.
#[cfg(not(loom))]
fn chain(once: *const Once) -> &'static Locked<Chain> {
    static TABLE: [Locked<Chain>; CHAINS] = [const { Locked::new(Chain::new()) }; CHAINS];
    &TABLE[once.addr() / align_of::<Once>() % CHAINS]
}

/// The chain that a word is entered in: all of a model's are in one.
#[cfg(loom)]
fn chain(_: *const Once) -> &'static Locked<Chain> {
    loom::lazy_static! {
        static ref CHAIN: &'static Locked<Chain> = Box::leak(Box::new(Locked::new(Chain::new())));
    }
    &CHAIN
}

/// `pthread_once_t`. See [`raw`](crate::raw). It needs no destruction.
///
/// ```
/// use fibre::sync::raw::{Error, Once};
///
/// static START: Once = Once::new();
///
/// let mut calls = 0;
/// START.call(|| calls += 1)?;
/// START.call(|| calls += 1)?;
/// assert_eq!(calls, 1);
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Default)]
#[repr(C)]
pub struct Once {
    /// The progress of the initialisation.
    progress: AtomicU32,
}

fibre_core::layout!(Once: 4, 4);

fibre_core::end_of_frame!(Once: progress);

/// What a caller that wants to initialise finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    /// The initialisation is complete.
    Complete,
    /// The caller is within the initialiser already.
    OwnCall,
    /// The caller has to initialise now.
    Turn,
    /// Another initialiser is running.
    Busy,
}

impl Once {
    fibre_core::const_outside_models! {
        /// It has not happened: all zeros.
        #[must_use]
        pub const fn new() -> Self {
            Self {
                progress: AtomicU32::new(INCOMPLETE),
            }
        }
    }

    /// Calls `init`, unless an initialiser has run, and returns when one has. While another
    /// initialiser is running, blocks the fibre, or the thread if the caller is not a fibre. It
    /// does not notice cancellation. If `init` unwinds, the initialisation is not complete, and the
    /// next caller calls its own.
    ///
    /// # Errors
    ///
    /// [`Deadlock`](Error::Deadlock) if the caller is within `init` of this object already.
    #[inline]
    pub fn call(&self, init: impl FnOnce()) -> Result {
        match self.is_complete() {
            true => Ok(()),
            false => self.call_slowly(init),
        }
    }

    /// The rest of [`call`](Self::call).
    #[cold]
    fn call_slowly(&self, init: impl FnOnce()) -> Result {
        let mut entry = OnceEntry::new();
        // SAFETY: it stays here until `Finish` is dropped.
        if !unsafe { self.begin(&raw mut entry)? } {
            return Ok(());
        }
        let mut finish = Finish {
            once: self,
            done: false,
        };
        init();
        finish.done = true;
        Ok(())
    }

    /// Begins an initialisation: for a caller that runs the initialiser itself, and says how that
    /// has ended ([`finish`](Self::finish)). Returns `false` if the initialisation is complete
    /// already. While another initialiser is running, blocks as [`call`](Self::call) does.
    ///
    /// ```
    /// use fibre::sync::raw::{Once, OnceEntry};
    ///
    /// let once = Once::new();
    /// let mut entry = OnceEntry::new();
    /// // SAFETY: the entry stays until the end; what was begun is finished.
    /// unsafe {
    ///     assert!(once.begin(&raw mut entry)?);
    ///     once.finish(true);
    ///     assert!(!once.begin(&raw mut entry)?);
    /// }
    /// # Ok::<(), fibre::sync::raw::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`call`](Self::call).
    ///
    /// # Safety
    ///
    /// If it returns `true`, the entry stays in its place and is used for nothing else until the
    /// caller has finished.
    pub unsafe fn begin(&self, entry: *mut OnceEntry) -> Result<bool> {
        if self.is_complete() {
            return Ok(false);
        }
        // SAFETY: the caller's, in no chain yet.
        unsafe {
            (*entry).once = self;
            (*entry).initialiser = caller_id();
        }
        match self.enter(entry) {
            Found::OwnCall => Err(Error::Deadlock),
            Found::Complete | Found::Busy => Ok(false),
            Found::Turn => Ok(true),
        }
    }

    /// Ends an initialisation that the caller has begun. If it is `done`, it is complete; if not,
    /// the next caller begins anew. Blocks nothing.
    ///
    /// # Safety
    ///
    /// The caller has begun, and has not finished.
    pub unsafe fn finish(&self, done: bool) {
        self.end(if done { COMPLETE } else { INCOMPLETE }).resume();
        if planted(faults::raw_once::LOOKS_AT_WORD_AFTER_THE_END) {
            self.progress.load(Ordering::Relaxed);
        }
    }

    /// Whether the initialisation is complete. A caller that gets `true` sees what the initialiser
    /// did. Blocks nothing.
    #[inline]
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.progress.load(Ordering::Acquire) == COMPLETE
    }

    /// Begins, with an entry that stays in its place until the end; or finds that there is no need
    /// to, after a wait if another initialiser is running.
    fn enter(&self, entry: *mut OnceEntry) -> Found {
        let mut found = Found::Busy;
        // An entry must not be left by unwinding.
        let shielded = waits_may_unwind();
        if shielded {
            raise_shield();
        }
        while found == Found::Busy {
            let at_it = std::cell::Cell::new(ptr::null_mut());
            let look = |chain: &mut fibre_core::internal::ShortGuard<'static, Chain>| {
                found = self.look(chain, entry);
                at_it.set(chain.find(self));
                found == Found::Busy
            };
            // SAFETY: under the lock. The entry is in the chain, as its initialiser is running, and
            // stays until all waiters in it have been claimed.
            let list = |_: &mut fibre_core::internal::ShortGuard<'static, Chain>| unsafe {
                &raw mut (*at_it.get()).waiting
            };
            // SAFETY: it is one list for the whole wait, see above; no waiter leaves it by a limit.
            let _ =
                unsafe {
                    ListWait::new(WaitObject::new(WaitKind::Once, self).closed(), Limit::None)
                        .under(|| chain(self).lock(), list, look, || (), |_, _| ())
                };
        }
        if shielded {
            lower_shield();
        }
        found
    }

    /// What the caller finds; enters it if it is its turn. Under the chain's lock.
    fn look(&self, chain: &mut Chain, entry: *mut OnceEntry) -> Found {
        match self.progress.load(Ordering::Acquire) {
            COMPLETE => return Found::Complete,
            // SAFETY: in the chain, hence alive; the caller's own is.
            RUNNING => unsafe {
                return match (*chain.find(self)).initialiser == (*entry).initialiser {
                    true => Found::OwnCall,
                    false => Found::Busy,
                };
            },
            _ => {}
        }
        // SAFETY: the caller's own.
        unsafe { (*entry).next = chain.first };
        chain.first = entry;
        if !planted(faults::raw_once::INITIALISES_SILENTLY) {
            self.progress.store(RUNNING, Ordering::Relaxed);
        }
        Found::Turn
    }

    /// Ends an initialisation, and claims its waiters.
    fn end(&self, end: u32) -> Claimed {
        let mut chain = chain(self).lock();
        // SAFETY: the entry of the caller, which is the initialiser: alive, and in the chain.
        let waiting = unsafe { (*chain.find(self)).waiting.claim_all(0) };
        chain.remove(self);
        let release = match planted(faults::raw_once::WRITES_WORD_WITHOUT_RELEASE) {
            true => Ordering::Relaxed,
            false => Ordering::Release,
        };
        self.progress.store(end, release);
        waiting
    }
}

/// Ends an initialisation, also one that unwinds.
struct Finish<'a> {
    once: &'a Once,
    done: bool,
}

impl Drop for Finish<'_> {
    fn drop(&mut self) {
        // SAFETY: made by the caller that has begun.
        unsafe { self.once.finish(self.done) };
    }
}
