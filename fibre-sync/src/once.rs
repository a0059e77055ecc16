//! Initialisation that happens once, for fibres.
//!
//! It behaves like `std::sync::Once`, poisoning included: an initialiser that panics leaves its
//! work half done, and nobody could see that from outside. So all later calls panic as well, unless
//! they can cope ([`Once::call_once_force`]). Present waiters are woken, and behave as if they had
//! come later.
//!
//! Two things differ from std. Waiters block their fibre and not the thread, so the initialiser may
//! block, too. And an initialiser that calls its own `Once` panics instead of waiting for itself.
//! State, list and lock are one word: see `once_word`.

use crate::once_word::{LockedWord, Node, OnceWord, Progress};
use fibre_core::internal::{Outcome, caller_id, within, without_unwinding};
use fibre_core::sync::Framed;
use fibre_core::{Limit, WaitError};
use std::cell::Cell;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::time::Duration;

/// Runs the closure of the first caller once in the life of this object. It has eight bytes, all
/// zero at first.
///
/// ```
/// use fibre::sync::Once;
///
/// static START: Once = Once::new();
///
/// fibre::scope(|scope| {
///     for _ in 0..10 {
///         scope.spawn(|| START.call_once(|| println!("once")));
///     }
/// });
/// assert!(START.is_completed());
/// ```
#[doc(alias("pthread_once", "call_once"))]
pub struct Once {
    word: OnceWord,
}

impl UnwindSafe for Once {}
impl RefUnwindSafe for Once {}

fibre_core::end_of_frame!(Once: word);

/// The state that [`Once::call_once_force`] passes to its initialiser.
#[derive(Debug)]
pub struct OnceState {
    poisoned: bool,
    /// The progress to set if the closure returns.
    end: Cell<Progress>,
}

impl OnceState {
    /// Whether an earlier initialiser has panicked.
    ///
    /// ```
    /// let once = fibre::sync::Once::new();
    /// once.call_once_force(|state| assert!(!state.is_poisoned()));
    /// ```
    #[must_use]
    pub fn is_poisoned(&self) -> bool {
        self.poisoned
    }

    /// Lets the next caller try, though the closure returns.
    pub(crate) fn fail(&self) {
        self.end.set(Progress::Incomplete);
    }
}

/// What a caller that wants to initialise finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    /// The initialisation is complete.
    Complete,
    /// The caller cannot go on.
    Refused(Refusal),
    /// The caller has to initialise now.
    Turn {
        /// Whether an earlier initialiser has panicked.
        poisoned: bool,
    },
    /// Another initialiser is running.
    Busy,
}

/// Why a call cannot go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The object is poisoned, and the caller cannot cope.
    Poisoned,
    /// The caller is within the initialiser already.
    OwnCall,
}

impl Refusal {
    /// Panics with the reason.
    #[cold]
    pub(crate) fn panic(self) -> ! {
        match self {
            Self::Poisoned => panic!("the `Once` is poisoned: its initialiser has panicked"),
            Self::OwnCall => {
                panic!("an initialiser waits for itself: it uses what it is to initialise")
            }
        }
    }
}

impl Once {
    fibre_core::const_outside_models! {
        /// A `Once` that has not run its closure.
        #[must_use]
        pub const fn new() -> Self {
            Self {
                word: OnceWord::new(),
            }
        }
    }

    /// Calls `init`, unless an initialiser has run, and returns when one has. While another
    /// initialiser is running, blocks the fibre, or the thread if the caller is not a fibre.
    /// Afterwards it costs one load. It does not notice cancellation; `init` does.
    ///
    /// # Panics
    ///
    /// If `init` panics, which poisons the object; if the object is poisoned; and if the caller
    /// is within `init` of this object already.
    #[inline]
    pub fn call_once(&self, init: impl FnOnce()) {
        if !self.is_completed() {
            let mut init = Some(init);
            let called = self.call(false, &mut |_| call(&mut init, |init| init()));
            called.unwrap_or_else(|refusal| refusal.panic());
        }
    }

    /// Like [`call_once`](Self::call_once), but tries again if the object is poisoned, and tells
    /// the closure.
    ///
    /// ```
    /// let once = fibre::sync::Once::new();
    /// let failed = std::panic::catch_unwind(|| once.call_once(|| panic!("no luck")));
    /// assert!(failed.is_err());
    /// once.call_once_force(|state| assert!(state.is_poisoned()));
    /// once.call_once(|| unreachable!("it has happened"));
    /// ```
    ///
    /// # Panics
    ///
    /// If `init` panics, and if the caller is within `init` of this object already.
    #[inline]
    pub fn call_once_force(&self, init: impl FnOnce(&OnceState)) {
        if !self.is_completed() {
            let mut init = Some(init);
            let called = self.call(true, &mut |state| call(&mut init, |init| init(state)));
            called.unwrap_or_else(|refusal| refusal.panic());
        }
    }

    /// Whether the initialisation is complete. A caller that gets `true` sees what the closure did.
    /// Blocks nothing.
    #[inline]
    #[must_use]
    pub fn is_completed(&self) -> bool {
        self.word.progress() == Progress::Complete
    }

    /// Waits until another caller has completed the initialisation. Blocks the fibre, or the thread
    /// if the caller is not a fibre.
    ///
    /// # Panics
    ///
    /// If the object is poisoned, or the caller is within the closure.
    pub fn wait(&self) {
        // Without a limit this cannot fail.
        self.wait_limited(Limit::None, false);
    }

    /// Like [`wait`](Self::wait), but waits on while the object is poisoned, for callers that can
    /// cope.
    ///
    /// # Panics
    ///
    /// If the caller is within the closure.
    pub fn wait_force(&self) {
        self.wait_limited(Limit::None, true);
    }

    /// Like [`wait`](Self::wait), but gives up after `timeout`, or when the fibre is cancelled.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let once = fibre::sync::Once::new();
    /// assert!(!once.wait_timeout(Duration::from_millis(1)));
    /// once.call_once(|| ());
    /// assert!(once.wait_timeout(Duration::ZERO));
    /// ```
    ///
    /// # Panics
    ///
    /// As [`wait`](Self::wait).
    #[must_use = "`false` means that it has not happened"]
    pub fn wait_timeout(&self, timeout: Duration) -> bool {
        self.wait_limited(Limit::after(timeout), false)
    }

    /// Like [`wait`](Self::wait), but gives up when the [`Limit`] comes.
    ///
    /// # Errors
    ///
    /// [`WaitError`]; then the initialisation was not complete.
    ///
    /// # Panics
    ///
    /// As [`wait`](Self::wait).
    #[inline]
    pub fn wait_within(&self, limit: impl Into<Limit>) -> Result<(), WaitError> {
        within(limit, |limit| self.wait_limited(limit, false).then_some(()))
    }

    /// Initialises, or waits for the initialiser.
    #[cold]
    pub(crate) fn call(
        &self,
        ignore_poison: bool,
        init: &mut dyn FnMut(&OnceState),
    ) -> Result<(), Refusal> {
        let me = caller_id();
        let node = Framed::new(Node::initialising(me));
        loop {
            let mut found = Found::Complete;
            let enter = |word: &mut LockedWord<'_>| {
                found = enter(word, &node, me, ignore_poison);
                found == Found::Busy
            };
            let _ = self.word.wait(Limit::None, enter);
            match found {
                Found::Complete => return Ok(()),
                Found::Busy => {}
                Found::Turn { poisoned } => {
                    self.run(poisoned, init);
                    return Ok(());
                }
                Found::Refused(refusal) => return Err(refusal),
            }
        }
    }

    /// Runs the closure, as the initialiser.
    fn run(&self, poisoned: bool, init: &mut dyn FnMut(&OnceState)) {
        let mut finish = Finish {
            word: &self.word,
            end: Progress::Poisoned,
        };
        let state = OnceState {
            poisoned,
            end: Cell::new(Progress::Complete),
        };
        // Unwound, it would be poisoned by a time-out, or an end, that is another's affair.
        without_unwinding(|| init(&state));
        finish.end = state.end.get();
    }

    /// Waits until the initialisation is complete. Returns `false` if the limit came first.
    pub(crate) fn wait_limited(&self, limit: Limit, ignore_poison: bool) -> bool {
        let mut me = None;
        while !self.is_completed() {
            let mut found = Found::Complete;
            let me = *me.get_or_insert_with(caller_id);
            let look = |word: &mut LockedWord<'_>| {
                found = match word.progress() {
                    Progress::Poisoned if !ignore_poison => Found::Refused(Refusal::Poisoned),
                    _ if word.is_run_by(me) => Found::Refused(Refusal::OwnCall),
                    _ => Found::Busy,
                };
                found == Found::Busy
            };
            match self.word.wait(limit, look) {
                Outcome::TimedOut | Outcome::Cancelled => return self.is_completed(),
                Outcome::NotParked | Outcome::Woken(_) => {}
            }
            if let Found::Refused(refusal) = found {
                refusal.panic();
            }
        }
        true
    }
}

/// Looks for a caller that wants to initialise, and makes it the initialiser if it is its turn.
fn enter(word: &mut LockedWord<'_>, node: &Node, me: u64, ignore_poison: bool) -> Found {
    match word.progress() {
        Progress::Complete => Found::Complete,
        Progress::Running if word.is_run_by(me) => Found::Refused(Refusal::OwnCall),
        Progress::Running => Found::Busy,
        Progress::Poisoned if !ignore_poison => Found::Refused(Refusal::Poisoned),
        progress @ (Progress::Poisoned | Progress::Incomplete) => {
            word.begin(node);
            Found::Turn {
                poisoned: progress == Progress::Poisoned,
            }
        }
    }
}

/// Calls a closure that is called once.
fn call<F, R>(closure: &mut Option<F>, call: impl FnOnce(F) -> R) -> R {
    match closure.take() {
        Some(closure) => call(closure),
        None => unreachable!("a turn comes once"),
    }
}

/// Ends an initialisation, also one that unwinds.
struct Finish<'a> {
    word: &'a OnceWord,
    end: Progress,
}

impl Drop for Finish<'_> {
    fn drop(&mut self) {
        if let Some(word) = self.word.lock() {
            word.finish(self.end).resume();
        }
    }
}

impl Default for Once {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Once").field(&self.word.progress()).finish()
    }
}
