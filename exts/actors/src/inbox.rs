//! What others share with an actor: its messages, and whether it has an activation.
//!
//! An actor is *active* from the moment somebody schedules it until an activation finds nothing to
//! do. Whoever gives an idle actor something to do makes it active under the lock, and then
//! schedules it; others leave that alone. So an actor has one activation at a time, and a sender
//! pays for scheduling only if the actor was idle.
//!
//! ```text
//!               close()                take(): empty
//!   Open ─────────────────► Closed ───────────────────┐
//!    │ │ kill()               │ kill()                ▼            finish()
//!    │ └──────────► Killed ◄──┘                    Ending ───────────────────► Ended
//!    │                └────────────── take() ─────────▲
//!    └─────────────── take(): nothing can come ───────┘
//! ```
//!
//! * **Open**: messages are accepted.
//! * **Closed**: no more messages are accepted; those that are there are handled.
//! * **Killed**: nor are these handled.
//! * **Ending**: the last activation drops what is left, and the actor.
//! * **Ended**: those that watch the actor have been told.
//!
//! *Nothing can come* if the last reference is gone, the mailbox is empty, and no timer is pending.
//! Whatever makes that true of an idle actor schedules it, so that it ends on a fibre of its own.
//!
//! Invariants:
//!
//! 1. Between the locks that set it and clear it, `active` belongs to one caller at a time: the one
//!    that set it, until that has scheduled the actor; then the activation.
//! 2. An activation clears it only under the lock that it held when it found nothing to do.
//! 3. Messages are put in while the inbox is open only. So once it has been closed, what an
//!    activation has taken is all.
//! 4. Under the lock no message is dropped, no memory is allocated or freed, and nobody is resumed.
//!
//! # Memory ordering
//!
//! The lock orders everything but the count of references. The drop of a reference releases, and
//! acquires what others have done, as the last one gives the memory up. An activation that reads
//! zero acquires, so the end comes after all that was done by references. An activation that reads
//! an older value under the lock has the lock before the caller that drops the last reference, and
//! that one then finds the actor idle.

use crate::errors::SendError;
use crate::exit::ExitReason;
use crate::faults;
use crate::mailbox::Mailbox;
use crate::message_queue::{Backlog, MessageQueue, Room};
use crate::next::{Activation, Lack, Mark, Next, Offered};
use crate::ring::{Put, Ring, Shown};
use crate::watchers::{End, WatchKey, WatchRoom, Watcher, Watchers};
use fibre_core::internal::{Outcome, ShortGuard, ShortLock, drop_quietly};
use fibre_core::sync::{AtomicU32, Framed, Ordering, planted};
use fibre_core::{Limit, WaitKind, WaitObject};
use fibre_sync::{Claimed, ListWait, Place, WaitList};
use std::collections::VecDeque;
use std::fmt;
use std::mem;

/// The messages of one actor, and whether it is active.
pub struct Inbox<M> {
    state: ShortLock<State<M>>,
    /// How many references to the actor there are.
    references: AtomicU32,
    /// Whether the actor may be left behind while its cluster goes on.
    pub(crate) is_left_alone: bool,
}

/// What the lock protects.
struct State<M> {
    store: Store<M>,
    /// The watchers, which are told about the end.
    watchers: Watchers,
    /// How often an activation has come for messages. See [`Mark`].
    takes: u64,
    /// How many timers are pending that will bring messages.
    timers: u32,
    phase: Phase,
    /// Whether there is an activation, or is about to be.
    active: bool,
    /// Whether the actor was left behind in the middle of a run, or before it.
    is_left_behind: bool,
}

/// The messages.
enum Store<M> {
    Unbounded(MessageQueue<M>),
    Bounded(Box<Ring<M>>),
}

/// How far the actor has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Open,
    Closed(ExitReason),
    Killed(ExitReason),
    Ending,
    Ended(ExitReason),
}

fibre_core::end_of_frame!(Inbox<M>: state, references; for M);

impl<M> Inbox<M> {
    /// The inbox of a new actor, which is active, and has one reference.
    #[must_use]
    pub fn new(mailbox: Mailbox) -> Self {
        let store = match mailbox {
            Mailbox::Unbounded => Store::Unbounded(MessageQueue::new()),
            Mailbox::Bounded {
                capacity,
                when_full,
            } => Store::Bounded(Box::new(Ring::new(capacity, when_full))),
        };
        Self {
            state: ShortLock::new(State {
                store,
                watchers: Watchers::default(),
                takes: 0,
                timers: 0,
                phase: Phase::Open,
                active: true,
                is_left_behind: false,
            }),
            references: AtomicU32::new(1),
            is_left_alone: false,
        }
    }

    /// Sends a message. Blocks the fibre, or the thread, while there is no room, if the mailbox
    /// lets its senders wait, and there is a `timeout`.
    ///
    /// # Errors
    ///
    /// [`SendError`].
    #[inline]
    pub fn send(
        &self,
        message: M,
        timeout: impl FnOnce() -> Option<Limit>,
    ) -> Result<Activation, SendError<M>> {
        match self.offer(message, false) {
            Offered::Accepted(activation, _) => Ok(activation),
            Offered::Stopped(message) => Err(SendError::Stopped(message)),
            Offered::Full(message) => Err(SendError::Full(message)),
            Offered::NoRoom(message) => match timeout() {
                None => Err(SendError::Full(message)),
                Some(limit) => self.wait_for_room(message, limit),
            },
        }
    }

    /// Sends a message that has no sender to wait or to be told: it comes in beyond the bound. If
    /// the actor accepts none, it is dropped. The mark is for [`has_handled`](Self::has_handled).
    /// Blocks nothing.
    pub fn deliver(&self, message: M) -> (Activation, Mark) {
        match self.offer(message, true) {
            Offered::Accepted(activation, mark) => (activation, mark),
            Offered::NoRoom(message) | Offered::Full(message) | Offered::Stopped(message) => {
                drop_quietly(message);
                (Activation::Underway, Mark::NONE)
            }
        }
    }

    /// Whether the actor has handled the message with this mark, or has dropped it.
    #[must_use]
    pub fn has_handled(&self, mark: Mark) -> bool {
        mark.is_reached(self.state.lock().takes)
    }

    /// Puts a message in, if there is room.
    #[inline]
    fn offer(&self, message: M, beyond: bool) -> Offered<M> {
        loop {
            let state = self.state.lock();
            if !state.accepts() {
                drop(state);
                return Offered::Stopped(message);
            }
            match state.lack() {
                None => return Self::put(state, message, beyond),
                Some(lack) => {
                    drop(state);
                    self.bring(lack);
                }
            }
        }
    }

    /// Puts a message in. There is memory for it.
    #[inline]
    fn put(mut state: ShortGuard<'_, State<M>>, message: M, beyond: bool) -> Offered<M> {
        let dropped = match &mut state.store {
            Store::Unbounded(message_queue) => {
                message_queue.put(message);
                None
            }
            Store::Bounded(ring) => match ring.put(message, beyond) {
                Put::In => None,
                Put::Instead(dropped) | Put::Dropped(dropped) => Some(dropped),
                Put::NoRoom(message) => return Offered::NoRoom(message),
                Put::Refused(message) => return Offered::Full(message),
            },
        };
        let mark = state.mark_of_newest();
        let activation = state.activate();
        drop(state);
        if let Some(dropped) = dropped {
            drop_quietly(dropped);
        }
        Offered::Accepted(activation, mark)
    }

    /// Makes what an offer lacks, without the lock.
    #[cold]
    fn bring(&self, lack: Lack) {
        match lack {
            Lack::Room(messages) => {
                let room = Room::new(messages);
                let mut state = self.state.lock();
                let superfluous = match &mut state.store {
                    Store::Unbounded(message_queue) => message_queue.bring(room),
                    Store::Bounded(_) => Some(room),
                };
                drop(state);
                drop(superfluous);
            }
            Lack::Memory(messages) => {
                let memory = VecDeque::with_capacity(messages);
                let mut state = self.state.lock();
                let superfluous = match &mut state.store {
                    Store::Bounded(ring) => ring.bring(memory),
                    Store::Unbounded(_) => memory,
                };
                drop(state);
                drop(superfluous);
            }
        }
    }

    /// Sends a message when there is room. Blocks the fibre, or the thread.
    #[cold]
    fn wait_for_room(&self, message: M, limit: Limit) -> Result<Activation, SendError<M>> {
        let shown = Framed::new(Shown::new(message));
        loop {
            let mut accepted = None;
            let outcome = self.wait_showing(&shown, limit, &mut accepted);
            if let Some(activation) = accepted {
                return Ok(activation);
            }
            if planted(faults::inbox::GIVING_UP_LOSES_THE_MESSAGE) {
                shown.take();
            }
            let Some(message) = shown.take() else {
                // The actor has it. Whoever makes room is an activation.
                return Ok(Activation::Underway);
            };
            return Err(match outcome {
                Outcome::TimedOut => SendError::TimedOut(message),
                Outcome::Cancelled => SendError::Cancelled(message),
                Outcome::Woken(_) => SendError::Stopped(message),
                Outcome::NotParked if !self.accepts() => SendError::Stopped(message),
                Outcome::NotParked => {
                    // There is room, and no memory for it.
                    self.bring_what_lacks();
                    shown.put(message);
                    continue;
                }
            });
        }
    }

    /// Waits among the senders that show their messages, unless there is room by now.
    fn wait_showing(
        &self,
        shown: &Shown<M>,
        limit: Limit,
        accepted: &mut Option<Activation>,
    ) -> Outcome {
        let enter = |state: &mut State<M>| {
            if !state.accepts() || state.lack().is_some() {
                return false;
            }
            let (Store::Bounded(ring), Some(message)) = (&mut state.store, shown.take()) else {
                unreachable!("a sender without a message waits, or one for room that has no bound")
            };
            match ring.put(message, false) {
                Put::In => *accepted = Some(state.activate()),
                Put::NoRoom(message) => {
                    shown.put(message);
                    return true;
                }
                Put::Instead(_) | Put::Dropped(_) | Put::Refused(_) => {
                    unreachable!("only mailboxes that block have senders that wait")
                }
            }
            false
        };
        let wait = ListWait::new(WaitObject::new(WaitKind::Channel, self), limit)
            .at(Place::LastShowing((&raw const *shown).cast()));
        // SAFETY: the list stays in its box for as long as the inbox; and each waker that claims a
        // sender resumes it.
        unsafe { wait.in_list(&self.state, waiting, enter) }
    }

    /// Makes what the next offer lacks, if it lacks anything.
    fn bring_what_lacks(&self) {
        let lack = self.state.lock().lack();
        if let Some(lack) = lack {
            self.bring(lack);
        }
    }

    /// What an activation does next, which has handled its backlog. If there are messages, they are
    /// in the backlog when this returns.
    #[inline]
    pub fn take(&self, backlog: &mut Backlog<M>) -> Next {
        let mut state = self.state.lock();
        state.takes += 1;
        if let Phase::Killed(reason) = state.phase {
            state.phase = Phase::Ending;
            return Next::End(reason);
        }
        match &mut state.store {
            Store::Unbounded(message_queue) if !message_queue.is_empty() => {
                let taken = message_queue.take(backlog.give_buffer());
                drop(state);
                backlog.fill(taken);
                return Next::Handle;
            }
            Store::Bounded(ring) => {
                if let Some((message, sender)) = ring.take() {
                    drop(state);
                    if let Some(sender) = sender {
                        sender.resume();
                    }
                    backlog.fill_one(message);
                    return Next::Handle;
                }
            }
            Store::Unbounded(_) => {}
        }
        self.rest(state, backlog)
    }

    /// Takes what has come to a mailbox without a bound, for an activation that keeps messages
    /// elsewhere, and has an empty backlog. No [`Mark`] is reached by this.
    pub fn take_more(&self, backlog: &mut Backlog<M>) {
        let mut state = self.state.lock();
        if let Store::Unbounded(message_queue) = &mut state.store
            && !message_queue.is_empty()
        {
            let taken = message_queue.take(backlog.give_buffer());
            drop(state);
            backlog.fill(taken);
        }
    }

    /// The part of [`take`](Self::take) for an empty mailbox.
    #[inline]
    fn rest<'a>(&'a self, mut state: ShortGuard<'a, State<M>>, backlog: &mut Backlog<M>) -> Next {
        let next = match state.phase {
            Phase::Open if self.nothing_can_come(&state) => Next::End(ExitReason::Stopped),
            Phase::Closed(reason) => Next::End(reason),
            _ => Next::Rest,
        };
        if next != Next::Rest {
            state.phase = Phase::Ending;
            return next;
        }
        if planted(faults::inbox::RESTS_WITHOUT_THE_LOCK) {
            drop(state);
            state = self.state.lock();
        }
        state.active = false;
        // All has been handled, also what was [taken early](Self::take_more).
        state.takes += 1;
        let superfluous = match &mut state.store {
            Store::Unbounded(message_queue) => message_queue.keep_one(backlog.give_buffer()),
            Store::Bounded(_) => Vec::new(),
        };
        drop(state);
        drop(superfluous);
        Next::Rest
    }

    /// Whether nobody can send a message any more. Under the lock, with an empty mailbox.
    fn nothing_can_come(&self, state: &State<M>) -> bool {
        let timed = state.timers > 0 && !planted(faults::inbox::FORGETS_TIMERS);
        !timed && self.references.load(Ordering::Acquire) == 0
    }

    /// Adds a reference, and returns how many there were.
    #[inline]
    pub fn add_reference(&self) -> u32 {
        self.references.fetch_add(1, Ordering::Relaxed)
    }

    /// Takes a reference away. If it was the last one, says so, and whether the caller has to
    /// schedule the actor, which has nothing to wait for then.
    #[inline]
    pub fn drop_reference(&self) -> Option<Activation> {
        let last = self.references.fetch_sub(1, Ordering::AcqRel) == 1;
        last.then(|| self.something_has_gone())
    }

    /// Makes an idle actor look whether anything can come.
    fn something_has_gone(&self) -> Activation {
        if planted(faults::inbox::LAST_REFERENCE_SCHEDULES_NOBODY) {
            return Activation::Underway;
        }
        let mut state = self.state.lock();
        let may_end = matches!(state.phase, Phase::Open) && state.timers == 0;
        match may_end {
            true => state.activate(),
            false => Activation::Underway,
        }
    }

    /// Makes an idle actor of a stopped cluster find that out.
    pub fn poke(&self) -> Activation {
        let mut state = self.state.lock();
        match state.phase {
            Phase::Ending | Phase::Ended(_) => Activation::Underway,
            Phase::Open | Phase::Closed(_) | Phase::Killed(_) => state.activate(),
        }
    }

    /// Notes a timer that is pending from now on.
    pub fn timer_set(&self) {
        self.state.lock().timers += 1;
    }

    /// Notes that a timer is pending no more.
    pub fn timer_gone(&self) -> Activation {
        let mut state = self.state.lock();
        state.timers -= 1;
        let may_end = matches!(state.phase, Phase::Open) && state.timers == 0;
        // A hint: the activation looks again.
        match may_end && self.references.load(Ordering::Relaxed) == 0 {
            true => state.activate(),
            false => Activation::Underway,
        }
    }

    /// Accepts no more messages, and has the actor end when it has handled those that are there.
    pub fn close(&self, reason: ExitReason) -> Activation {
        let state = self.state.lock();
        match state.phase {
            Phase::Open => Self::shut(state, Phase::Closed(reason)),
            _ => Activation::Underway,
        }
    }

    /// Accepts no more messages, and has the actor end without handling those that are there.
    pub fn kill(&self, reason: ExitReason) -> Activation {
        let state = self.state.lock();
        match state.phase {
            Phase::Open => Self::shut(state, Phase::Killed(reason)),
            // Whoever has closed it has said why.
            Phase::Closed(first) => Self::shut(state, Phase::Killed(first)),
            _ => Activation::Underway,
        }
    }

    /// Changes to a phase that accepts no messages.
    fn shut(mut state: ShortGuard<'_, State<M>>, phase: Phase) -> Activation {
        state.phase = phase;
        let refused = state.refuse_waiting();
        let activation = state.activate();
        drop(state);
        refused.resume();
        activation
    }

    /// Begins the end, by the activation, or by a caller that has made the actor active and cannot
    /// schedule it. Returns the reason to give: this one, unless there is another one already.
    pub fn begin_end(&self, reason: ExitReason) -> ExitReason {
        let mut state = self.state.lock();
        let given = match state.phase {
            Phase::Closed(given) | Phase::Killed(given) => Some(given),
            // It was abandoned, and others have been told.
            Phase::Ended(given) => return given,
            _ => None,
        };
        state.phase = Phase::Ending;
        match reason {
            ExitReason::Panicked => reason,
            _ => given.unwrap_or(reason),
        }
    }

    /// Takes the messages out that are left in the end, and sends the waiting senders away.
    pub fn empty(&self, backlog: &mut Backlog<M>) {
        backlog.clear();
        let mut state = self.state.lock();
        let refused = state.refuse_waiting();
        match &mut state.store {
            Store::Unbounded(message_queue) => {
                let taken = message_queue.take(Vec::new());
                drop(state);
                backlog.fill(taken);
            }
            Store::Bounded(ring) => {
                let left = ring.take_all();
                drop(state);
                backlog.fill_from(left);
            }
        }
        refused.resume();
    }

    /// Ends the actor. Returns those that are to be told.
    pub fn finish(&self, end: End) -> Watchers {
        let mut state = self.state.lock();
        state.phase = Phase::Ended(end.reason);
        state.is_left_behind = end.is_left_behind;
        mem::take(&mut state.watchers)
    }

    /// Has somebody told about the end; at once, and there is no key, if the actor has ended. By
    /// the key the watcher can be [let go](Self::unwatch).
    pub fn watch(&self, notice: impl FnOnce(End) + Send + 'static) -> Option<WatchKey> {
        let mut watcher = Watcher::new(notice);
        let mut room = WatchRoom::none();
        loop {
            let mut state = self.state.lock();
            if let Phase::Ended(reason) = state.phase {
                let is_left_behind = state.is_left_behind;
                drop(state);
                watcher.tell(End {
                    reason,
                    is_left_behind,
                });
                return None;
            }
            let added = state.watchers.add(watcher, &mut room);
            drop(state);
            match added {
                Ok(key) => return Some(key),
                Err((again, places)) => {
                    watcher = again;
                    room.make(places);
                }
            }
        }
    }

    /// Lets a watcher go, if it has not been told.
    pub fn unwatch(&self, key: WatchKey) {
        let mut state = self.state.lock();
        let gone = state.watchers.remove(key);
        drop(state);
        drop(gone);
    }

    /// How many watchers there are.
    #[cfg(test)]
    pub(crate) fn watchers(&self) -> usize {
        self.state.lock().watchers.count()
    }

    /// Whether messages are accepted.
    #[must_use]
    pub fn accepts(&self) -> bool {
        self.state.lock().accepts()
    }

    /// Why the actor has ended, if it has.
    #[must_use]
    pub fn ended(&self) -> Option<ExitReason> {
        match self.state.lock().phase {
            Phase::Ended(reason) => Some(reason),
            _ => None,
        }
    }

    /// How many messages wait in a bounded mailbox, and how many it has dropped.
    #[must_use]
    pub fn counts(&self) -> Option<(usize, u64)> {
        match &self.state.lock().store {
            Store::Unbounded(_) => None,
            Store::Bounded(ring) => Some((ring.len(), ring.dropped())),
        }
    }
}

/// The list of waiting senders.
fn waiting<M>(state: &mut State<M>) -> &mut WaitList {
    match &mut state.store {
        Store::Bounded(ring) => &mut ring.waiting,
        Store::Unbounded(_) => unreachable!("nobody waits for room that has no bound"),
    }
}

impl<M> State<M> {
    /// Whether messages are accepted.
    #[inline]
    fn accepts(&self) -> bool {
        self.phase == Phase::Open
            || self.phase == Phase::Ending && planted(faults::inbox::ACCEPTS_AT_THE_END)
    }

    /// Makes the actor active.
    #[inline]
    fn activate(&mut self) -> Activation {
        if self.active && !planted(faults::inbox::SCHEDULES_AN_ACTIVE_ACTOR) {
            return Activation::Underway;
        }
        self.active = true;
        Activation::Needed
    }

    /// The mark of the message that has just been put in.
    #[inline]
    fn mark_of_newest(&self) -> Mark {
        let last_take = match &self.store {
            // One take gives out all there is.
            Store::Unbounded(_) => 1,
            Store::Bounded(ring) => ring.len() as u64,
        };
        let handled = u64::from(!planted(faults::inbox::TAKEN_COUNTS_AS_HANDLED));
        Mark::after(self.takes + last_take + handled)
    }

    /// What the next offer lacks.
    #[inline]
    fn lack(&self) -> Option<Lack> {
        match &self.store {
            Store::Unbounded(message_queue) => message_queue.lacks_room().map(Lack::Room),
            Store::Bounded(ring) => ring.lacks_memory().map(Lack::Memory),
        }
    }

    /// Claims the senders that wait for room.
    fn refuse_waiting(&mut self) -> Claimed {
        match &mut self.store {
            Store::Bounded(ring) if !planted(faults::inbox::CLOSING_FORGETS_SENDERS) => {
                ring.refuse_waiting()
            }
            _ => Claimed::none(),
        }
    }
}

impl<M> fmt::Debug for Inbox<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.lock();
        f.debug_struct("Inbox")
            .field("phase", &state.phase)
            .field("active", &state.active)
            .field("timers", &state.timers)
            .finish_non_exhaustive()
    }
}
