//! A task that waits for its permissions: the closure, and what becomes of it.
//!
//! It is one allocation, shared by the lines that it is in, the handle, and the fibre that it
//! becomes. It has no stack and no fibre while it waits; the caller that gives back what it was
//! waiting for spawns it.
//!
//! # How it ends up
//!
//! The *parts*, wants and closure, are taken out under their lock, once: by the fibre when it
//! begins to run, by a cancellation that has found the request still in its lines, or by whoever
//! finds that the fibre will never begin. The last is a matter between the caller that spawns it
//! and the fibre's closure, which may be dropped unrun at any time after: the later of the two
//! gives the permissions back, so that they are given back outside of a spawn that fails, and by a
//! loop instead of a recursion.

use crate::acquire::is_granted_at_once;
use crate::entry::{Lines, enter, follow, withdraw};
use crate::errors::TaskError;
use crate::ticket::{Granted, Ticket, Waiting};
use crate::wants::{Permitted, Wants};
use fibre_core::Cancelled;
use fibre_core::internal::{ShortLock, drop_quietly};
use fibre_core::sync::{AtomicU8, Ordering};
use fibre_sync::Event;
use std::io;
use std::marker::PhantomData;
use std::panic::resume_unwind;
use std::sync::Arc;

/// Where tasks are spawned.
pub(crate) trait Launcher<'s>: Send + Sync + 's {
    /// The right to a fibre's result.
    type Handle<R: Send + 's>: Send + 's;

    /// Spawns a fibre.
    fn launch<R, F>(&self, closure: F) -> io::Result<Self::Handle<R>>
    where
        R: Send + 's,
        F: FnOnce() -> R + Send + 's;

    /// Cancels a fibre.
    fn cancel<R: Send + 's>(handle: &Self::Handle<R>);

    /// Notes that a task will never run.
    fn note_refusal(&self) {}
}

/// A request as those see it that have its handle.
pub(crate) trait Pending<H>: Send + Sync {
    /// Where its fibre appears.
    fn slot(&self) -> &Slot<H>;

    /// See [`Withdraw`].
    fn cancel(self: Arc<Self>);
}

/// A request as those see it that end what still waits.
pub(crate) trait Withdraw: Send + Sync {
    /// Takes the request out of its lines, if it is still in them.
    fn withdraw(self: Arc<Self>, why: TaskError);
}

/// Where the handle of a fibre appears when that has been spawned.
pub(crate) struct Slot<H> {
    /// Set when it is there, or never will be.
    pub(crate) settled: Event,
    state: ShortLock<State<H>>,
}

/// What is in a slot.
struct State<H> {
    /// `None`: neither has happened, or it has been taken.
    outcome: Option<Result<H, TaskError>>,
    /// Whether the fibre is to be cancelled as soon as it is there.
    is_cancelled: bool,
}

impl<H> Slot<H> {
    /// An empty one.
    fn new() -> Self {
        Self {
            settled: Event::new(),
            state: ShortLock::new(State {
                outcome: None,
                is_cancelled: false,
            }),
        }
    }

    /// Fills it.
    fn settle(&self, outcome: Result<H, TaskError>, cancel: impl FnOnce(&H)) {
        {
            let mut state = self.state.lock();
            if let (Ok(handle), true) = (&outcome, state.is_cancelled) {
                cancel(handle);
            }
            state.outcome = Some(outcome);
        }
        self.settled.set();
    }

    /// What is in it, once it is settled.
    pub(crate) fn take(&self) -> Option<Result<H, TaskError>> {
        self.state.lock().outcome.take()
    }

    /// Looks at what is in it.
    pub(crate) fn look<R>(&self, look: impl FnOnce(Option<&Result<H, TaskError>>) -> R) -> R {
        look(self.state.lock().outcome.as_ref())
    }
}

/// What has been said about the fibre so far; see the module text.
mod launch {
    /// Its spawner has not come back.
    pub(super) const UNDERWAY: u8 = 0;
    /// It has been spawned.
    pub(super) const DONE: u8 = 1;
    /// It will never begin.
    pub(super) const DROPPED: u8 = 2;
}

/// A task that waits for its permissions.
pub(crate) struct Request<'s, L: Launcher<'s>, W, F, R: Send + 's> {
    ticket: Ticket,
    launcher: L,
    /// What the task wants, and what it does.
    parts: ShortLock<Option<(W, F)>>,
    slot: Slot<L::Handle<R>>,
    /// A constant of [`launch`].
    launch: AtomicU8,
    _scope: PhantomData<&'s ()>,
}

/// What came of a request.
pub(crate) enum Made<H, P: ?Sized> {
    /// A fibre, at once.
    Started(io::Result<H>),
    /// A request that waits.
    Waiting(Arc<P>),
}

/// Spawns a task, now if all that it wants is there.
pub(crate) fn make<'s, L, W, F, R>(
    launcher: L,
    wants: W,
    closure: F,
) -> Made<L::Handle<R>, Request<'s, L, W, F, R>>
where
    L: Launcher<'s>,
    W: Wants<'s>,
    F: FnOnce(W::Guards) -> R + Send + 's,
    R: Send + 's,
{
    if is_granted_at_once(&wants) {
        let guards = wants.grant(Permitted::assume());
        let started = launcher.launch(move || closure(guards));
        if started.is_err() {
            launcher.note_refusal();
        }
        return Made::Started(started);
    }
    let request = Arc::new(Request {
        ticket: Ticket::new(),
        launcher,
        parts: ShortLock::new(Some((wants, closure))),
        slot: Slot::new(),
        launch: AtomicU8::new(launch::UNDERWAY),
        _scope: PhantomData,
    });
    let waiting: Arc<dyn Waiting<'s> + 's> = request.clone();
    if request.with_lines(|lines| enter(lines, &waiting)) {
        follow(Granted::from_elem(waiting, 1));
    }
    Made::Waiting(request)
}

/// Spawns a task that asks for its permissions again and again, each time at the end of its
/// processor's queue, until it finds all of them free.
pub(crate) fn make_asking<'s, L, W, F, R>(
    launcher: &L,
    wants: W,
    closure: F,
) -> io::Result<L::Handle<R>>
where
    L: Launcher<'s>,
    W: Wants<'s>,
    F: FnOnce(W::Guards) -> R + Send + 's,
    R: Send + 's,
{
    launcher.launch(move || {
        while !is_granted_at_once(&wants) {
            if fibre_core::is_cancelled() {
                // Not while it unwinds: a destructor that panics would end the process.
                drop_quietly((wants, closure));
                resume_unwind(Box::new(Cancelled));
            }
            fibre_core::yield_now();
        }
        closure(wants.grant(Permitted::assume()))
    })
}

impl<'s, L, W, F, R> Request<'s, L, W, F, R>
where
    L: Launcher<'s>,
    W: Wants<'s>,
    F: FnOnce(W::Guards) -> R + Send + 's,
    R: Send + 's,
{
    /// Calls `act` with the lines that the task has to enter; `false` if its parts have been taken.
    fn with_lines(&self, act: impl FnOnce(&mut Lines<'_, 's>) -> bool) -> bool {
        let parts = self.parts.lock();
        let Some((wants, _)) = &*parts else {
            return false;
        };
        let mut lines = Lines::new();
        wants.lines(&mut lines);
        act(&mut lines)
    }

    /// Takes the parts.
    fn take(&self) -> Option<(W, F)> {
        self.parts.lock().take()
    }

    /// Gives the permissions back, unused.
    fn give_up(&self, granted: &mut Granted<'s>) {
        self.launcher.note_refusal();
        if let Some((wants, closure)) = self.take() {
            {
                let mut lines = Lines::new();
                wants.lines(&mut lines);
                for (line, permission) in lines {
                    line.give_back(permission, granted);
                }
            }
            // Others wait for what follows, whatever the closure's end does.
            drop_quietly((wants, closure));
        }
    }

    /// Fills the slot.
    fn settle(&self, outcome: Result<L::Handle<R>, TaskError>) {
        self.slot.settle(outcome, |handle| L::cancel(handle));
    }

    /// Takes the request out of its lines, if it is still in them.
    fn leave(self: Arc<Self>, why: TaskError) {
        let waiting: Arc<dyn Waiting<'s> + 's> = self.clone();
        if self.with_lines(|lines| withdraw(lines, &waiting)) {
            drop_quietly(self.take());
            self.settle(Err(why));
        }
    }
}

impl<'s, L, W, F, R> Waiting<'s> for Request<'s, L, W, F, R>
where
    L: Launcher<'s>,
    W: Wants<'s>,
    F: FnOnce(W::Guards) -> R + Send + 's,
    R: Send + 's,
{
    fn ticket(&self) -> &Ticket {
        &self.ticket
    }

    fn start(self: Arc<Self>, granted: &mut Granted<'s>) {
        let run = Run(Some(self.clone()));
        match self.launcher.launch(move || run.run()) {
            Ok(handle) => {
                self.settle(Ok(handle));
                let before = self.launch.swap(launch::DONE, Ordering::AcqRel);
                if before == launch::DROPPED {
                    self.give_up(granted);
                }
            }
            Err(error) => {
                self.give_up(granted);
                self.settle(Err(TaskError::Refused(error)));
            }
        }
    }
}

impl<'s, L, W, F, R> Pending<L::Handle<R>> for Request<'s, L, W, F, R>
where
    L: Launcher<'s>,
    W: Wants<'s>,
    F: FnOnce(W::Guards) -> R + Send + 's,
    R: Send + 's,
{
    fn slot(&self) -> &Slot<L::Handle<R>> {
        &self.slot
    }

    fn cancel(self: Arc<Self>) {
        {
            let mut state = self.slot.state.lock();
            state.is_cancelled = true;
            if let Some(Ok(handle)) = &state.outcome {
                L::cancel(handle);
                return;
            }
        }
        self.leave(TaskError::Cancelled);
    }
}

impl<'s, L, W, F, R> Withdraw for Request<'s, L, W, F, R>
where
    L: Launcher<'s>,
    W: Wants<'s>,
    F: FnOnce(W::Guards) -> R + Send + 's,
    R: Send + 's,
{
    fn withdraw(self: Arc<Self>, why: TaskError) {
        self.leave(why);
    }
}

/// What a fibre that has been spawned for a request runs.
struct Run<'s, L, W, F, R>(Option<Arc<Request<'s, L, W, F, R>>>)
where
    L: Launcher<'s>,
    W: Wants<'s>,
    F: FnOnce(W::Guards) -> R + Send + 's,
    R: Send + 's;

impl<'s, L, W, F, R> Run<'s, L, W, F, R>
where
    L: Launcher<'s>,
    W: Wants<'s>,
    F: FnOnce(W::Guards) -> R + Send + 's,
    R: Send + 's,
{
    /// Runs the task, with its permissions.
    fn run(mut self) -> R {
        let parts = self.0.take().and_then(|request| request.take());
        let Some((wants, closure)) = parts else {
            unreachable!("only a fibre that never begins loses its task");
        };
        closure(wants.grant(Permitted::assume()))
    }
}

impl<'s, L, W, F, R> Drop for Run<'s, L, W, F, R>
where
    L: Launcher<'s>,
    W: Wants<'s>,
    F: FnOnce(W::Guards) -> R + Send + 's,
    R: Send + 's,
{
    fn drop(&mut self) {
        let Some(request) = self.0.take() else {
            return;
        };
        let before = request.launch.swap(launch::DROPPED, Ordering::AcqRel);
        if before == launch::DONE {
            let mut granted = Granted::new();
            request.give_up(&mut granted);
            follow(granted);
        }
    }
}
