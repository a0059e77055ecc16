//! Keeps the spans of the crate `tracing` with the fibres that have entered them.
//!
//! `tracing` keeps entered spans in thread-locals, and the fibres of a processor share these.
//! Without this module, a line that one fibre logs would appear in the spans of another, waiting
//! one. [`layer`] makes a layer that notes which spans each fibre has entered. When the fibre
//! leaves its stack, it exits them, the innermost one first; before it goes on, on any thread, it
//! enters them again. All layers of the subscriber see that, as with an instrumented future: for
//! layers that measure time, a span is idle while its fibre waits.
//!
#![cfg_attr(not(doctest), doc = include_str!("tracing/spans.md"))]
//!
//! Notes:
//!
//! * A spawned fibre is in no span, unless it is spawned in a call of [`carry`]. Or enter one of
//!   the spawner's in it: `let span = Span::current(); spawn(move || span.in_scope(…))`. The same
//!   holds for the closure of [`blocking`](crate::blocking), which runs on another thread.
//! * Set a subscriber for a part of the program with this module's [`with_default`]. A subscriber
//!   set with `tracing::subscriber::with_default` belongs to the thread, and all of its fibres have
//!   it.
//! * Writers and layers must not block their fibre: `tracing` and its subscribers do not expect
//!   other code on the thread in the middle of a call. Writers of std and of `tracing-appender`
//!   block the thread for a moment, which is fine.
//! * If the guard of an entered span is leaked with `mem::forget`, the span is exited when its
//!   fibre ends.
//! * In a cluster with [`own_thread_locals`](crate::ClusterBuilder::own_thread_locals), a fibre is
//!   a thread to `tracing`, so the layer has nothing to do. A leaked guard leaves its span entered,
//!   as on a thread.

use crate::{
    SwitchHooks, SwitchReason, SwitchedFibre, TooLate, fibre_local, in_fibre, scoped_local,
};
use fibre_core::internal::{has_own_thread_locals, on_inherited};
use std::cell::RefCell;
use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use tracing_core::dispatcher::{self, DefaultGuard, Dispatch, WeakDispatch};
use tracing_core::span::Id;
use tracing_core::subscriber::Subscriber;
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

/// Whether the caller is a fibre that shares thread-locals with others. One that has its own keeps
/// its spans and its subscriber there, and no hook must touch those of the processor's thread.
fn shares_thread_locals() -> bool {
    in_fibre() && !has_own_thread_locals()
}

/// Makes a layer that keeps spans with the fibres that have entered them; see the
/// [module](self). Add it to the registry before all other layers. Blocks nothing.
///
/// # Errors
///
/// If a cluster had been started when this was first called: the hooks of its switches are fixed.
pub fn layer() -> Result<FibreLayer, TooLate> {
    static INSTALLED: OnceLock<Result<(), TooLate>> = OnceLock::new();
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    (*INSTALLED.get_or_init(|| crate::install_switch_hooks(Follow)))?;
    on_inherited(begin_carried, end_carried);
    Ok(FibreLayer {
        number: NUMBER.fetch_add(1, Ordering::Relaxed),
        whole: OnceLock::new(),
    })
}

/// What [`layer`] makes.
pub struct FibreLayer {
    /// Tells it from other such layers: their spans may have the same ids.
    number: u64,
    /// The subscriber that it is a part of.
    whole: OnceLock<WeakDispatch>,
}

impl<S> Layer<S> for FibreLayer
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    fn on_register_dispatch(&self, whole: &Dispatch) {
        // One that is part of two subscribers follows the first.
        self.whole.get_or_init(|| whole.downgrade());
    }

    fn on_enter(&self, id: &Id, _: Context<'_, S>) {
        // A hook that enters a span does so between two fibres.
        if !shares_thread_locals() {
            return;
        }
        let Some(whole) = self.whole.get().and_then(WeakDispatch::upgrade) else {
            return;
        };
        let entered = Entered {
            layer: self.number,
            whole,
            id: id.clone(),
            is_open: is_open::<S>,
            exit_closed: exit_closed::<S>,
        };
        FLOW.with(|flow| flow.0.borrow_mut().entered.push(entered));
    }

    fn on_exit(&self, id: &Id, _: Context<'_, S>) {
        if !shares_thread_locals() {
            return;
        }
        // The last holder of the subscriber may drop it here, which may enter spans.
        drop(FLOW.with(|flow| flow.0.borrow_mut().take(self.number, id)));
    }
}

impl fmt::Debug for FibreLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FibreLayer").finish_non_exhaustive()
    }
}

fibre_local! {
    /// What the fibre has in the thread-locals of `tracing` while it runs.
    static FLOW: Flow = Flow::default();
}

/// See [`FLOW`]. Nothing of others runs while it is borrowed, apart from the hooks, and in these no
/// layer of ours comes back to it.
#[derive(Default)]
struct Flow(RefCell<State>);

/// The content of a [`Flow`].
#[derive(Default)]
struct State {
    /// The spans that it has entered, the innermost one last.
    entered: Vec<Entered>,
    /// The subscribers of the calls of [`with_default`] that it is in, the innermost one last.
    scopes: Vec<Dispatch>,
    /// While it runs within such a call: what makes the thread's default what it was before.
    scope: Option<DefaultGuard>,
}

/// A span that a fibre has entered.
struct Entered {
    /// The layer that has noted it.
    layer: u64,
    /// The subscriber that the layer is a part of.
    whole: Dispatch,
    id: Id,
    /// [`is_open`] for what lies below the layer.
    is_open: fn(&Dispatch, &Id) -> bool,
    /// [`exit_closed`] for that.
    exit_closed: fn(&Dispatch, &Id),
}

/// Whether a span has not been closed in the part of `whole` that is of type `S`.
fn is_open<S: Subscriber + for<'span> LookupSpan<'span>>(whole: &Dispatch, id: &Id) -> bool {
    let below = whole.downcast_ref::<S>();
    below.is_none_or(|below| below.span_data(id).is_some())
}

/// Exits a span that has been closed, and that no layer could say anything about.
fn exit_closed<S: Subscriber>(whole: &Dispatch, id: &Id) {
    if let Some(below) = whole.downcast_ref::<S>() {
        below.exit(id);
    }
}

impl Entered {
    /// Exits the span on this thread, for a while. `false`: it has been closed, though it was
    /// entered; so it is exited for good.
    fn pause(&self) -> bool {
        let is_open = (self.is_open)(&self.whole, &self.id);
        if is_open {
            self.whole.exit(&self.id);
        } else {
            (self.exit_closed)(&self.whole, &self.id);
        }
        is_open
    }

    /// Enters the span again, unless it has been closed meanwhile, which this returns.
    fn resume(&self) -> bool {
        let is_open = (self.is_open)(&self.whole, &self.id);
        if is_open {
            self.whole.enter(&self.id);
        }
        is_open
    }
}

impl State {
    /// Takes out a span that is exited; the innermost one, if it has been entered several times.
    fn take(&mut self, layer: u64, id: &Id) -> Option<Entered> {
        let is_it = |entered: &Entered| entered.layer == layer && entered.id == *id;
        let at = self.entered.iter().rposition(is_it)?;
        Some(self.entered.remove(at))
    }

    /// Takes everything out of the thread.
    fn switch_out(&mut self) {
        for at in (0..self.entered.len()).rev() {
            if !self.entered[at].pause() {
                self.entered.remove(at);
            }
        }
        self.scope = None;
    }

    /// Puts everything into the thread.
    fn switch_in(&mut self) {
        self.scope = self.scopes.last().map(dispatcher::set_default);
        self.entered.retain(Entered::resume);
    }
}

impl Drop for Flow {
    /// Exits what has been leaked. In the fibre, at its end.
    fn drop(&mut self) {
        let state = self.0.get_mut();
        for entered in std::mem::take(&mut state.entered).into_iter().rev() {
            let _ = entered.pause();
        }
        state.scope = None;
    }
}

/// The hooks of all clusters.
struct Follow;

impl SwitchHooks for Follow {
    fn switch_in(&self, fibre: &SwitchedFibre<'_>) {
        FLOW.with_switched_if_any(fibre, |flow| flow.0.borrow_mut().switch_in());
    }

    fn switch_out(&self, fibre: &SwitchedFibre<'_>, _: SwitchReason) {
        FLOW.with_switched_if_any(fibre, |flow| flow.0.borrow_mut().switch_out());
    }
}

/// Calls `f` with a subscriber of its own. The calling fibre keeps it across its waits, and other
/// fibres do not get it. This is `tracing::subscriber::with_default` for fibres; on a plain thread
/// it is the same. The subscriber need not have a [`layer`] of ours, but the process must have made
/// one: otherwise this is the same as `tracing`'s own, and other fibres of the thread log to the
/// subscriber while this one waits.
///
#[cfg_attr(not(doctest), doc = include_str!("tracing/with_default.md"))]
///
/// # Panics
///
/// If `f` does.
pub fn with_default<R>(subscriber: &Dispatch, f: impl FnOnce() -> R) -> R {
    if !shares_thread_locals() {
        return dispatcher::with_default(subscriber, f);
    }
    begin_scope(subscriber.clone());
    let _scope = Scope;
    f()
}

/// A call of [`with_default`] in a fibre.
struct Scope;

impl Drop for Scope {
    fn drop(&mut self) {
        end_scope();
    }
}

/// Begins a call of [`with_default`]. Not inlined: the fibre may end it on another thread, and must
/// not use what it knows of the thread-locals of this one.
#[inline(never)]
fn begin_scope(subscriber: Dispatch) {
    FLOW.with(|flow| {
        drop(flow.0.borrow_mut().scope.take());
        let scope = dispatcher::set_default(&subscriber);
        let mut state = flow.0.borrow_mut();
        state.scopes.push(subscriber);
        state.scope = Some(scope);
    });
}

/// Ends the innermost call of [`with_default`].
#[inline(never)]
fn end_scope() {
    FLOW.with(|flow| {
        let (scope, subscriber, outer) = {
            let mut state = flow.0.borrow_mut();
            let (scope, subscriber) = (state.scope.take(), state.scopes.pop());
            (scope, subscriber, state.scopes.last().cloned())
        };
        drop((scope, subscriber));
        let scope = outer.as_ref().map(dispatcher::set_default);
        flow.0.borrow_mut().scope = scope;
    });
}

/// Calls `f`. What is started meanwhile begins in the span that the caller is in: each fibre,
/// whoever of the caller's descendants spawns it, and the closures of [`compute`](crate::compute)
/// and of [`blocking`](crate::blocking); so does an actor, while it handles a question. So one span
/// with the number of a request marks all that is logged for it. Blocks nothing.
///
/// The span is a [scoped value](crate::ScopedLocal): it stays open as long as a fibre has inherited
/// it, and a call of `carry` in another span, further in, takes its place. Without a span, only `f`
/// is called. Nothing is carried unless the process has made a [`layer`].
///
#[cfg_attr(not(doctest), doc = include_str!("tracing/carry.md"))]
///
/// # Panics
///
/// If `f` does.
pub fn carry<R>(f: impl FnOnce() -> R) -> R {
    match Carried::current() {
        Some(carried) => CARRIED.with(carried, f),
        None => f(),
    }
}

scoped_local! {
    /// The span that what is started here begins in.
    static CARRIED: Carried;
}

/// A span that is carried, and stays open meanwhile.
struct Carried {
    /// The subscriber that it is of.
    whole: Dispatch,
    id: Id,
}

impl Carried {
    /// The span that the caller is in.
    fn current() -> Option<Self> {
        dispatcher::get_default(|whole| {
            let id = whole.current_span().into_inner()?.0;
            Some(Self {
                id: whole.clone_span(&id),
                whole: whole.clone(),
            })
        })
    }

    /// Enters it, for a caller that has inherited it.
    fn enter(&self) -> Inside {
        let own = number_of(&self.whole);
        let is_same = own.is_some() && dispatcher::get_default(|now| number_of(now) == own);
        let scope = match is_same {
            true => Subscribed::Already,
            false if shares_thread_locals() => {
                begin_scope(self.whole.clone());
                Subscribed::Fibre
            }
            false => Subscribed::Thread(dispatcher::set_default(&self.whole)),
        };
        self.whole.enter(&self.id);
        Inside {
            whole: self.whole.clone(),
            id: self.id.clone(),
            scope,
        }
    }
}

impl Drop for Carried {
    fn drop(&mut self) {
        self.whole.try_close(self.id.clone());
    }
}

/// The number of our layer in a subscriber, which is in no other one.
fn number_of(whole: &Dispatch) -> Option<u64> {
    Some(whole.downcast_ref::<FibreLayer>()?.number)
}

/// A span that a caller has entered because it has inherited it.
struct Inside {
    whole: Dispatch,
    id: Id,
    scope: Subscribed,
}

/// How the caller has come by the span's subscriber.
enum Subscribed {
    /// It had it before.
    Already,
    /// As by [`with_default`].
    Fibre,
    /// As by the function of `tracing`: the caller has its thread-locals alone.
    Thread(#[allow(dead_code, reason = "it is dropped")] DefaultGuard),
}

impl Inside {
    /// Exits it.
    fn leave(self) {
        self.whole.exit(&self.id);
        if let Subscribed::Fibre = self.scope {
            end_scope();
        }
    }
}

fibre_local! {
    /// For each time that the caller has inherited something: the span that it has entered.
    static INSIDE: RefCell<Vec<Option<Inside>>> = RefCell::default();
}

/// Enters the span that the caller has inherited, if there is one.
fn begin_carried() {
    let inside = CARRIED.read(|carried| carried.map(Carried::enter));
    INSIDE.with_borrow_mut(|all| all.push(inside));
}

/// Exits it.
fn end_carried() {
    let inside = INSIDE.with_borrow_mut(Vec::pop).flatten();
    if let Some(inside) = inside {
        inside.leave();
    }
}
