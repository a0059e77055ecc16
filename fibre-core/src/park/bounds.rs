//! How a limit scope changes the waits within it.
//!
//! [`WaitLimits::of_wait`] finds the caller's innermost scope and its rule for a wait;
//! [`WaitLimits::wait`] waits within that, and ends the call if the scope has ended.
//! `wait/limit_scope.rs` explains the scopes.
//!
//! A cluster that is stopped within limits unwinds its fibres in the end, as a scope around all of
//! them would. If a wait has begun before, its processor ends it: it *rouses* the fibre
//! (`processor/rouse.rs`).
//!
//! A scope does not bound three kinds of waits: closed ones; those of a caller that has raised a
//! shield in the scope; and those without a limit of a caller that unwinds in the scope, since it
//! cannot unwind a second time. A destructor may begin a scope of its own.

use crate::fibre::ControlBlock;
use crate::fibre::local_table::Key;
use crate::park::shield::shields;
use crate::processor::{Processor, with_running};
use crate::queue::Link;
use crate::sys::current;
use crate::sys::panic_count;
use crate::wait::cancelled::Cancelled;
use crate::wait::limit::Limit;
use crate::wait::limit_scope::{self, LimitScope};
use crate::wait::waiter::Outcome;
use std::any::Any;
use std::panic::resume_unwind;
use std::ptr;
use std::sync::LazyLock;
use std::time::Instant;

/// The payload with which a call is unwound to the scope at this address.
#[derive(Debug)]
pub(crate) struct ScopeEnded(pub usize);

/// The key of the innermost scopes. Fibre-local values, since the control block has no room for
/// what few fibres have.
static SCOPES: LazyLock<Key> = LazyLock::new(|| {
    // SAFETY: there is no destructor, and nobody else has the key.
    unsafe { Key::new(None) }
});

/// The innermost scope of the calling fibre or thread, or null.
pub(crate) fn innermost() -> *const LimitScope {
    SCOPES.get().cast_const().cast()
}

/// Makes a scope the innermost one of the calling fibre or thread.
///
/// # Safety
///
/// The scope is null, or stays until another one takes its place.
pub(crate) unsafe fn set_innermost(scope: *const LimitScope) {
    // SAFETY: there is no destructor, and readers expect a scope, which stays.
    unsafe { SCOPES.set(scope.cast_mut().cast()) };
}

/// The innermost scope, unless a shield keeps it out.
pub(super) fn in_force<'a>() -> Option<&'a LimitScope> {
    if !limit_scope::are_used() {
        return None;
    }
    // SAFETY: a scope of the caller's chain lies in a frame below this one (invariant 2).
    let scope = unsafe { innermost().as_ref() }?;
    scope.is_in_force(shields()).then_some(scope)
}

/// Whether a panic of the caller's has begun in this scope, and is not over: then it unwinds
/// already, or is in the panic hook, and cannot be unwound to the scope.
#[inline]
pub(super) fn unwinds_already(scope: &LimitScope) -> bool {
    current::panicking() && panics_exceed(scope.panics().count())
}

/// Whether the caller has more panics under way than so many, or that is not known.
#[cold]
fn panics_exceed(panics: usize) -> bool {
    panic_count::panics().is_none_or(|now| now.count() > panics)
}

/// Whether the caller is in a panic hook, as far as is known. If a time-out unwinds there, std's
/// flag is cleared (see [`begin_to_unwind`]), but the scope that is unwound to has begun in the
/// hook.
pub(super) fn is_in_hook() -> bool {
    panic_count::is_in_hook() || began_in_hook()
}

/// Whether the caller's innermost scope has begun in a panic hook.
pub(super) fn began_in_hook() -> bool {
    if !limit_scope::are_used() {
        return false;
    }
    // SAFETY: a scope of the caller's chain lies in a frame below this one (invariant 2).
    let scope = unsafe { innermost().as_ref() };
    scope.is_some_and(|scope| scope.panics().is_in_hook())
}

/// Whether the time of a scope that the caller is in is over. The scope notes that it has been
/// noticed.
pub(crate) fn is_over() -> bool {
    in_force().is_some_and(|scope| scope.end_call(Instant::now()).is_some())
}

/// Ends a call that cannot fail and does not park, as one that spins, if a scope ends it: such a
/// call asks this again and again. **It unwinds.**
pub fn unwind_if_over() {
    let open = |scope: &&LimitScope| !unwinds_already(scope);
    if let Some(scope) = in_force().filter(open) {
        let over = |deadline: Instant| Instant::now() >= deadline;
        let notices = |fibre: &ControlBlock| fibre.state.is_cancelled() && fibre.shields.get() == 0;
        let is_cancelled = || with_running(notices) == Some(true);
        if scope.unwinds() && is_cancelled() {
            unwind(None);
        }
        if scope.deadline().is_some_and(over) {
            unwind(Some(scope));
        }
    }
}

/// Whether the caller is a fibre of a cluster that unwinds its fibres, and may be unwound.
#[cold]
pub(super) fn is_stopped() -> bool {
    let is_stopped = |here: &Processor| {
        let fibre = here.running()?;
        // SAFETY: the calling fibre.
        let may = unsafe { fibre.as_ref() }.may_be_unwound();
        Some(may && here.domain().control.must_unwind())
    };
    !current::panicking() && Processor::here(is_stopped).flatten() == Some(true)
}

/// What the fibres of the caller's scopes inherit for the time being. They are firm if nothing
/// unwinds the caller: it is in a shield, in an initialiser, in a scope of such a caller, or
/// unwinds already. And they are spared if the caller is.
pub(crate) fn exemptions() -> u8 {
    let of_fibre = |fibre: &ControlBlock| {
        let link = fibre.link();
        (link.is_firm() || fibre.shields.get() > 0, link.is_spared())
    };
    let of_thread = || (current::shields() > 0, false);
    let (is_firm, is_spared) = with_running(of_fibre).unwrap_or_else(of_thread);
    Link::exemptions(is_firm || current::panicking(), is_spared)
}

/// Calls `f` as if the caller were in no scope; it notices cancellation as ever. For functions of
/// C, whose callers can neither be unwound nor told that a time is over.
#[inline]
pub fn outside_scopes<R>(f: impl FnOnce() -> R) -> R {
    let _outside = Outside::begin(None);
    f()
}

/// Calls `f` so that no wait in it unwinds: as if the caller were in no scope, and its cluster did
/// not unwind. Calls that notice cancellation do so as ever. For initialisers: others wait for what
/// they make, and would find it poisoned by a limit that is not theirs.
pub fn without_unwinding<R>(f: impl FnOnce() -> R) -> R {
    let was_firm = with_running(|fibre| fibre.link().set_firm(true));
    let _outside = Outside::begin(was_firm);
    f()
}

/// While it lives, the caller is in no scope.
struct Outside {
    /// The scopes that it is in otherwise; null for none.
    scopes: *const LimitScope,
    /// What is to be set in the fibre's link at the end: whether nothing unwinds it.
    was_firm: Option<bool>,
}

impl Outside {
    /// Hides the scopes.
    #[inline]
    fn begin(was_firm: Option<bool>) -> Self {
        let scopes = match limit_scope::are_used() {
            true => hide_scopes(),
            false => ptr::null(),
        };
        Self { scopes, was_firm }
    }
}

impl Drop for Outside {
    #[inline]
    fn drop(&mut self) {
        if !self.scopes.is_null() {
            show_scopes(self.scopes);
        }
        if let Some(was_firm) = self.was_firm {
            with_running(|fibre| fibre.link().set_firm(was_firm));
        }
    }
}

/// Takes the caller's scopes out of sight.
#[cold]
fn hide_scopes() -> *const LimitScope {
    let scopes = innermost();
    if !scopes.is_null() {
        // SAFETY: null.
        unsafe { set_innermost(ptr::null()) };
    }
    scopes
}

/// Undoes that.
#[cold]
fn show_scopes(scopes: *const LimitScope) {
    // SAFETY: they were the caller's when it hid them, and scopes that it has begun since have
    // ended.
    unsafe { set_innermost(scopes) };
}

/// The limits of one wait.
pub(super) struct WaitLimits<'a> {
    /// The limit of the call.
    own: Limit,
    /// The same, with that of the scope.
    limit: Limit,
    /// When the wait ends, too.
    due: Option<Instant>,
    /// The scope around the call, if it limits the wait.
    scope: Option<&'a LimitScope>,
    /// Whether a wait without a limit of its own is ended by cancellation.
    unwinds: bool,
}

impl WaitLimits<'_> {
    /// Finds the limits of a wait of the caller; `open`: scopes end it, too.
    pub(super) fn of_wait(open: bool, own: Limit, due: Option<Instant>) -> Self {
        let may_unwind = |scope: &&LimitScope| own != Limit::None || !unwinds_already(scope);
        let scope = in_force().filter(|scope| open && may_unwind(scope));
        let stopped = || open && own == Limit::None && is_stopped();
        let unwinds = scope.is_some_and(LimitScope::unwinds) || stopped();
        let limit = match scope.map_or(own, |scope| scope.bound(own)) {
            Limit::None if unwinds => Limit::Cancellation,
            limit => limit,
        };
        Self {
            own,
            limit,
            due,
            scope,
            unwinds,
        }
    }

    /// What limits the wait.
    pub(super) fn limit(&self) -> Limit {
        let Some(due) = self.due else {
            return self.limit;
        };
        match self.limit {
            Limit::None | Limit::Cancellation => Limit::Deadline(due),
            Limit::Deadline(end) => Limit::Deadline(end.min(due)),
            Limit::Wall(moment) if moment.is_before(due) => self.limit,
            Limit::Wall(_) => Limit::Deadline(due),
        }
    }

    /// Waits by `wait`, within these limits. Unwinds if they end a wait that has no limit of its
    /// own. `wait` gets the limit, and whether it is not to heed cancellation.
    #[inline(always)]
    pub(super) fn wait(self, wait: impl FnOnce(Limit, bool) -> Outcome) -> Outcome {
        // A deadline alone does not make the call notice cancellation.
        let heeds = self.own != Limit::None || self.unwinds;
        let outcome = wait(self.limit(), !heeds);
        self.settle(outcome)
    }

    /// Ends the call, if its limits have ended its wait. If what was due has come, it does not
    /// matter what else has.
    #[inline(always)]
    fn settle(&self, outcome: Outcome) -> Outcome {
        let is_due = |due| self.scope.is_none() || Instant::now() >= due;
        match outcome {
            Outcome::TimedOut if self.due.is_some_and(is_due) => outcome,
            // Cancelled, it does not stop at a scope that ends meanwhile: a loop of short time-outs
            // would never end.
            Outcome::Cancelled if self.own == Limit::None => unwind(None),
            Outcome::TimedOut if self.own == Limit::None => unwind(self.scope),
            Outcome::TimedOut if self.limit != self.own => {
                let _ = self.scope.map(|scope| scope.end_call(Instant::now()));
                Outcome::Cancelled
            }
            outcome => outcome,
        }
    }
}

/// Ends a call that cannot fail: unwinds to the scope whose time is over, or, if the fibre has been
/// cancelled, to the call that catches this, at last its root. Inlined, as each frame on the way
/// costs about as much as all of a wait.
#[inline(always)]
pub(super) fn unwind(scope: Option<&LimitScope>) -> ! {
    resume_unwind(begin_to_unwind(scope))
}

/// The payload with which a call is unwound.
#[cold]
#[inline(never)]
fn begin_to_unwind(scope: Option<&LimitScope>) -> Box<dyn Any + Send> {
    if cfg!(panic = "abort") {
        refuse_to_unwind();
    }
    panic_count::leave_hook();
    match scope.and_then(|scope| scope.end_call(Instant::now())) {
        // SAFETY: a scope of the chain (invariant 2).
        Some(over) => Box::new(ScopeEnded(unsafe { &*over }.address())),
        None => Box::new(Cancelled),
    }
}

/// Ends a program in which nothing can be unwound, where a call would have to be.
#[cold]
fn refuse_to_unwind() -> ! {
    panic!(
        "the time of a `timeout`, a `deadline` or a group is over, and the call that waits in it cannot fail: it would be unwound, which \
         this program cannot do, as it is built with `panic = \"abort\"`. Build it with `panic = \"unwind\"`, or wait by calls that can \
         fail: `…_timeout`, `…_within`"
    )
}
