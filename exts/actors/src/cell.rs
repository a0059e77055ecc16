//! An actor as the runtime has it: an activity with the actor's inbox, and the actor, as its value.
//!
//! The inbox is shared. All else is *owned* by the activation, and by the caller that has made the
//! actor active and then finds that it cannot be scheduled, as its cluster has been stopped: such
//! an actor has no fibre of its own to end on, and ends where this was found out.
//!
//! An actor ends in this order. No message is accepted any more. Timers are cancelled, messages
//! that are left are dropped, and senders that wait for room go on. The actor's `stopped` is
//! called, if it has not panicked and has a fibre; then the actor is dropped. Those that watch it
//! are told.
//!
//! # References
//!
//! References ([`ActorRef`](crate::ActorRef)) are counted in the inbox, and all of them together
//! have one handle of the activity, so that a clone is one atomic operation. The activation has a
//! handle of its own; only it can make a first reference again.

use crate::clock::{Alarm, Clock};
use crate::envelope::Envelope;
use crate::exit::ExitReason;
use crate::inbox::Inbox;
use crate::mailbox::Mailbox;
use crate::message_queue::Backlog;
use crate::next::Activation;
use crate::registry::{Member, MemberId};
use crate::system::System;
use crate::waiting::Waiting;
use crate::watchers::End;
use fibre_core::internal::{drop_quietly, end_in_turn, warn};
use fibre_core::{Activity, Cancelled, Work};
use std::any::Any;
use std::cell::UnsafeCell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};

/// The value of an actor's activity.
pub(crate) struct Cell<M> {
    /// What others share with the actor.
    pub(crate) inbox: Inbox<Envelope<M>>,
    /// The owner's; `None` once the actor has ended.
    owned: UnsafeCell<Option<Box<Owned<M>>>>,
}

// SAFETY: the inbox is made for sharing; the rest is touched by its owner only: there is one at a
// time, on any thread.
unsafe impl<M: Send> Sync for Cell<M> {}

/// What belongs to the activation.
struct Owned<M> {
    /// The actor itself.
    actor: Box<dyn Behaviour<M>>,
    /// The messages that it has taken and not handled.
    backlog: Backlog<Envelope<M>>,
    /// Its timers.
    alarms: Alarms,
    /// What it shares with its like.
    system: Arc<System>,
    /// Its place among those that are stopped together.
    member_id: Option<MemberId>,
}

/// What an actor does, whatever its type is.
pub(crate) trait Behaviour<M: Send + 'static>: Send {
    /// Handles messages for a while. On the actor's fibre.
    fn activate(&mut self, stage: Stage<'_, M>) -> After;
    /// Says that no message will come any more. On the actor's fibre.
    fn stop(&mut self);
    /// Takes a new actor in the place of one that has panicked, if there is to be one. On the
    /// actor's fibre, which it may block.
    fn renew(&mut self) -> bool;
}

/// What an activation works with.
pub(crate) struct Stage<'a, M: Send + 'static> {
    pub(crate) activity: &'a Activity<Cell<M>>,
    pub(crate) backlog: &'a mut Backlog<Envelope<M>>,
    pub(crate) alarms: &'a mut Alarms,
    pub(crate) system: &'a Arc<System>,
    /// The messages that it has taken, if they are handled by priority.
    pub(crate) waiting: Option<&'a mut Waiting<Envelope<M>>>,
}

/// What follows an activation.
pub(crate) enum After {
    /// Nothing: the actor is idle.
    Rest,
    /// Another activation, when it is the actor's turn.
    Again,
    /// The end of the actor.
    End(ExitReason),
}

/// The timers of one actor, as far as they are pending.
#[derive(Default)]
pub(crate) struct Alarms(Vec<Weak<Alarm>>);

impl Alarms {
    /// Adds a timer. Those that are gone are forgotten, before the list would have to grow.
    pub(crate) fn add(&mut self, alarm: &Arc<Alarm>) {
        if self.0.len() == self.0.capacity() {
            let is_pending = |alarm: &Weak<Alarm>| alarm.upgrade().is_some_and(|a| !a.is_gone());
            self.0.retain(is_pending);
            // So that they are not looked through again soon.
            self.0.reserve(self.0.len() + 1);
        }
        self.0.push(Arc::downgrade(alarm));
    }

    /// Cancels all of them.
    fn cancel(&mut self, clock: &Clock) {
        for alarm in self.0.drain(..).filter_map(|alarm| alarm.upgrade()) {
            clock.cancel(&alarm);
        }
    }
}

impl<M: Send + 'static> Cell<M> {
    /// The cell of a new actor, which is active, and has one reference.
    pub(crate) fn new(
        mailbox: Mailbox,
        actor: Box<dyn Behaviour<M>>,
        system: &Arc<System>,
    ) -> Self {
        let mut inbox = Inbox::new(mailbox);
        inbox.is_left_alone = system.registry.is_some() && !system.owns_cluster;
        let owned = Owned {
            actor,
            backlog: Backlog::new(),
            alarms: Alarms::default(),
            system: Arc::clone(system),
            member_id: None,
        };
        Self {
            inbox,
            owned: UnsafeCell::new(Some(Box::new(owned))),
        }
    }

    /// Notes the place of a new actor among those that are stopped together.
    ///
    /// # Safety
    ///
    /// The actor has not been scheduled.
    pub(crate) unsafe fn set_member_id(&self, member_id: MemberId) {
        // SAFETY: a new actor is active, so its spawner owns it until it schedules it.
        if let Some(owned) = unsafe { &mut *self.owned.get() } {
            owned.member_id = Some(member_id);
        }
    }

    /// Whether the actor may be left behind while the caller goes on. If that happens with the
    /// whole cluster, its fibres are cancelled before.
    #[inline]
    pub(crate) fn may_be_left_by_caller(this: &Activity<Self>) -> bool {
        this.inbox.is_left_alone || !this.is_callers()
    }

    /// Schedules the actor, if the caller has to. An actor of a cluster that has been stopped
    /// ends here and now.
    #[inline]
    pub(crate) fn wake(this: &Activity<Self>, activation: Activation) {
        if let Some(message) = Self::follow(this, activation) {
            // It may have the last reference to another actor.
            end_in_turn(move || drop(message));
        }
    }

    /// [`wake`](Self::wake) for a sender. If the actor ends here, its oldest message comes back:
    /// the sender's own, as the actor was idle before, unless that has made room for others by now.
    #[inline]
    pub(crate) fn follow(this: &Activity<Self>, activation: Activation) -> Option<M> {
        if activation == Activation::Underway || this.schedule().is_ok() {
            return None;
        }
        Self::end_here(this)
    }

    /// Ends an actor that cannot be scheduled. The caller has made it active. Returns the oldest
    /// message that it had.
    #[cold]
    pub(crate) fn end_here(this: &Activity<Self>) -> Option<M> {
        let reason = this.inbox.begin_end(ExitReason::ClusterStopped);
        // SAFETY: the caller has made the actor active and could not schedule it: so there is no
        // activation, and nobody else makes it active.
        let owned = unsafe { Self::disown(this) }?;
        let mut left = Backlog::new();
        this.inbox.empty(&mut left);
        let oldest = left.pop();
        let this = this.clone();
        // The actor, or a notice of its end, may have the last reference to another one.
        end_in_turn(move || {
            left.clear();
            Self::end(&this, *owned, reason);
        });
        oldest.map(Envelope::into_message)
    }

    /// What belongs to the activation, for good.
    ///
    /// # Safety
    ///
    /// The caller owns the actor.
    unsafe fn disown(this: &Activity<Self>) -> Option<Box<Owned<M>>> {
        // SAFETY: passed on.
        unsafe { (*this.owned.get()).take() }
    }

    /// Takes a new actor in the place of one that has panicked. A panic meanwhile is the last one.
    #[cold]
    fn renew(this: &Activity<Self>, actor: &mut dyn Behaviour<M>) -> bool {
        let renewed = catch_unwind(AssertUnwindSafe(|| actor.renew()));
        renewed.unwrap_or_else(|payload| {
            report(this, payload);
            false
        })
    }

    /// Ends the actor on its own fibre.
    ///
    /// # Safety
    ///
    /// The caller is a run that owns the actor.
    unsafe fn end_run(this: &Activity<Self>, reason: ExitReason, stop: Stop) {
        // SAFETY: passed on.
        let Some(mut owned) = (unsafe { Self::disown(this) }) else {
            return;
        };
        owned.alarms.cancel(&owned.system.clock);
        this.inbox.empty(&mut owned.backlog);
        owned.backlog.clear();
        if stop == Stop::Call {
            let stopped = catch_unwind(AssertUnwindSafe(|| owned.actor.stop()));
            stopped.unwrap_or_else(|payload| report(this, payload));
        }
        Self::end(this, *owned, reason);
    }

    /// Shows others an actor as ended that has been left in the middle of a run, or before it.
    /// Messages that are left are dropped; what belongs to the activation stays.
    fn end_without_run(&self) {
        let inbox = &self.inbox;
        if inbox.ended().is_none() {
            let reason = inbox.begin_end(ExitReason::ClusterStopped);
            let mut left = Backlog::new();
            inbox.empty(&mut left);
            left.clear();
            let end = End {
                reason,
                is_left_behind: true,
            };
            inbox.finish(end).tell(end);
        }
    }

    /// The rest of the end. Messages that are left are dropped.
    fn end(this: &Activity<Self>, mut owned: Owned<M>, reason: ExitReason) {
        owned.alarms.cancel(&owned.system.clock);
        owned.backlog.clear();
        let Owned {
            actor,
            system,
            member_id,
            ..
        } = owned;
        let dropped = catch_unwind(AssertUnwindSafe(|| drop(actor)));
        dropped.unwrap_or_else(|payload| report(this, payload));
        let end = End {
            reason,
            is_left_behind: false,
        };
        this.inbox.finish(end).tell(end);
        if let (Some(registry), Some(member_id)) = (&system.registry, member_id) {
            registry.leave(member_id);
        }
    }
}

impl<M: Send + 'static> Work for Cell<M> {
    fn run(this: &Activity<Self>) {
        // SAFETY: runs do not overlap, and nobody else owns the actor while it can be scheduled.
        let Some(owned) = (unsafe { &mut *this.owned.get() }) else {
            return;
        };
        let Owned {
            actor,
            backlog,
            alarms,
            system,
            ..
        } = &mut **owned;
        let stage = Stage {
            activity: this,
            backlog,
            alarms,
            system,
            waiting: None,
        };
        let begin_end = |reason| this.inbox.begin_end(reason);
        let (reason, stop) = match catch_unwind(AssertUnwindSafe(|| actor.activate(stage))) {
            Ok(After::Rest) => return,
            Ok(After::Again) if this.schedule().is_ok() => return,
            Ok(After::Again) => (begin_end(ExitReason::ClusterStopped), Stop::Call),
            Ok(After::End(reason)) => (reason, Stop::Call),
            Err(payload) => {
                let is_unwound = payload.is::<Cancelled>();
                report(this, payload);
                let renewed = !is_unwound && Self::renew(this, &mut **actor);
                let reason = match is_unwound || renewed {
                    true => ExitReason::ClusterStopped,
                    false => ExitReason::Panicked,
                };
                match renewed && this.schedule().is_ok() {
                    true => return,
                    // The new one has handled nothing, and is told nothing.
                    false => (begin_end(reason), Stop::Leave),
                }
            }
        };
        // SAFETY: this run owns the actor; it is active, so nobody else schedules it.
        unsafe { Self::end_run(this, reason, stop) };
    }

    fn abandoned(&self) {
        self.end_without_run();
    }
}

/// What becomes of [`Actor::stopped`](crate::Actor::stopped) when an actor ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// It is called.
    Call,
    /// It is not: a method has been unwound, and has left the actor in some state.
    Leave,
}

/// Tells the user of a panic, and drops what it carries. A method that was unwound when its cluster
/// stopped has not panicked.
fn report<M: Send + 'static>(activity: &Activity<Cell<M>>, payload: Box<dyn Any + Send>) {
    if payload.is::<Cancelled>() {
        return;
    }
    let words = payload.downcast_ref::<String>().map(String::as_str);
    let words = words.or_else(|| payload.downcast_ref::<&str>().copied());
    let (before, words) = words.map_or(("", ""), |words| (": ", words));
    let id = activity.id();
    match activity.name() {
        Some(name) => warn(format_args!(
            "actor {id} ({name:?}) has panicked{before}{words}"
        )),
        None => warn(format_args!("actor {id} has panicked{before}{words}")),
    }
    drop_quietly(payload);
}

/// An actor as a member of its registry.
pub(crate) struct Enrolled<M: Send + 'static>(pub(crate) Activity<Cell<M>>);

impl<M: Send + 'static> Member for Enrolled<M> {
    fn close(&self) {
        let activation = self.0.inbox.close(ExitReason::ClusterStopped);
        Cell::wake(&self.0, activation);
    }

    fn kill(&self) {
        let activation = self.0.inbox.kill(ExitReason::ClusterStopped);
        self.0.cancel();
        Cell::wake(&self.0, activation);
    }

    fn abandon(&self) {
        self.0.end_without_run();
    }

    fn id(&self) -> u64 {
        self.0.id()
    }

    fn name(&self) -> Option<String> {
        self.0.name().map(str::to_owned)
    }
}

impl<M> fmt::Debug for Cell<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cell")
            .field("inbox", &self.inbox)
            .finish_non_exhaustive()
    }
}
