//! References to actors: sending, asking, watching, stopping.

use crate::cell::Cell;
use crate::envelope::Envelope;
use crate::errors::{AskError, SendError};
use crate::exit::{Exit, ExitReason};
use crate::inbox::Inbox;
use crate::reply::{Asked, Reply, question};
use crate::watchers::{End, WatchKey};
use fibre_core::internal::{abort_with, begin_within, drop_quietly, end_waiting};
use fibre_core::{Activity, Limit, WaitError};
use fibre_sync::Event;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::mem::{ManuallyDrop, forget};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

/// How many references an actor may have: as many again may be made meanwhile by others.
const MOST_REFERENCES: u32 = u32::MAX / 2;

/// A reference to an actor, for fibres and threads to send it messages by. Clones refer to the same
/// actor; a reference is as large as a pointer.
///
/// While there is a reference, the actor lives until it is stopped. When the last one is dropped,
/// the actor handles what is in its mailbox and ends, unless one of its timers is pending. So
/// actors that refer to each other in a cycle live until one of them is stopped.
///
/// ```
/// use fibre_actors::{Actor, Context};
///
/// struct Printer;
/// impl Actor for Printer {
///     type Message = String;
///     fn handle(&mut self, line: String, _: &mut Context<'_, Self>) {
///         println!("{line}");
///     }
/// }
///
/// let printer = fibre_actors::spawn(Printer);
/// printer.send("one".to_owned())?;
/// let same = printer.clone();
/// same.send("two".to_owned())?;
/// assert_eq!(printer, same);
/// printer.stop();
/// printer.wait();
/// # Ok::<(), fibre_actors::SendError<String>>(())
/// ```
pub struct ActorRef<M: Send + 'static> {
    /// All references of an actor share one handle; each has a copy of it.
    activity: ManuallyDrop<Activity<Cell<M>>>,
}

// Said, and not derived: a message may have references to actors with messages of its own type.
// SAFETY: it gives access to an inbox, which is made for sharing, and sends messages elsewhere.
unsafe impl<M: Send + 'static> Send for ActorRef<M> {}
// SAFETY: the same holds for shared references.
unsafe impl<M: Send + 'static> Sync for ActorRef<M> {}

impl<M: Send + 'static> ActorRef<M> {
    /// The first reference to a new actor. The inbox counts it already.
    pub(crate) fn first(activity: Activity<Cell<M>>) -> Self {
        Self {
            activity: ManuallyDrop::new(activity),
        }
    }

    /// Another reference to an actor that the caller has a handle of.
    pub(crate) fn of(activity: &Activity<Cell<M>>) -> Self {
        match activity.inbox.add_reference() {
            0 => forget(activity.clone()),
            1..MOST_REFERENCES => {}
            // References that are forgotten must not wrap the count.
            _ => abort_with(format_args!("an actor has too many references")),
        }
        Self {
            // SAFETY: the copy is never dropped as such; while there are references, one handle
            // belongs to them.
            activity: ManuallyDrop::new(unsafe { ptr::read(activity) }),
        }
    }

    /// Sends a message. If the mailbox is full and [lets senders wait](crate::Overflow::Block),
    /// this blocks the fibre, or the thread if the caller is not a fibre; else it blocks nothing.
    ///
    /// Messages of one sender are handled in the order it has sent them.
    ///
    /// # Errors
    ///
    /// [`SendError`], with the message, if the actor has stopped, if the mailbox refuses it, and if
    /// the calling fibre is cancelled while it waits.
    #[inline]
    pub fn send(&self, message: M) -> Result<(), SendError<M>> {
        self.send_limited(Envelope::Plain(message), Some(Limit::Cancellation))
    }

    /// Sends a message if there is room. Blocks nothing.
    ///
    /// # Errors
    ///
    /// [`SendError`], with the message.
    #[inline]
    pub fn try_send(&self, message: M) -> Result<(), SendError<M>> {
        self.send_limited(Envelope::Plain(message), None)
    }

    /// Like [`send`](Self::send), but gives up after `timeout`. A timeout of zero tries once.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send), and if there was no room in time.
    pub fn send_timeout(&self, message: M, timeout: Duration) -> Result<(), SendError<M>> {
        self.send_limited(Envelope::Plain(message), Some(Limit::after(timeout)))
    }

    /// Like [`send`](Self::send), but gives up when the [`Limit`] comes.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send), and if there was no room in time.
    pub fn send_within(&self, message: M, limit: impl Into<Limit>) -> Result<(), SendError<M>> {
        match begin_within(limit) {
            Ok(limit) => self.send_limited(Envelope::Plain(message), Some(limit)),
            Err(_) => Err(SendError::Cancelled(message)),
        }
    }

    /// The form that all share.
    #[inline]
    fn send_limited(
        &self,
        envelope: Envelope<M>,
        limit: Option<Limit>,
    ) -> Result<(), SendError<M>> {
        // An actor that waits for room in its own mailbox would wait for itself.
        let timeout = || limit.filter(|_| !self.is_caller());
        let sent = self.inbox().send(envelope, timeout);
        let activation = sent.map_err(|error| error.map(Envelope::into_message))?;
        match Cell::follow(&self.activity, activation) {
            Some(message) => Err(SendError::Stopped(message)),
            None => Ok(()),
        }
    }

    /// Asks the actor, and waits for the answer: blocks the fibre, or the thread if the caller is
    /// not a fibre. `make` puts the right to answer into a message. An actor that asks handles no
    /// messages meanwhile; other actors run on.
    ///
    /// While the actor handles the message, the caller's [scoped values](fibre_core::ScopedLocal)
    /// are bound for it. A message that is [sent](Self::send) brings none.
    ///
    /// Two actors that ask each other at the same time wait for ever: have one of them send, or use
    /// [`ask_timeout`](Self::ask_timeout).
    ///
    /// An actor may be left behind by a [stop within limits](crate::Actors::stop_within), with the
    /// [`Reply`] on its stack. Then the question ends with [`AskError::Stopped`], even if the actor
    /// has passed the right to answer on; if the caller is left behind, too, it never goes on.
    ///
    /// # Errors
    ///
    /// [`AskError`]: the actor has stopped or drops the [`Reply`], its mailbox refuses the message,
    /// the calling fibre is cancelled, or the actor asks itself.
    #[inline]
    pub fn ask<R: Send + 'static>(&self, make: impl FnOnce(Reply<R>) -> M) -> Result<R, AskError> {
        self.ask_limited(make, Limit::Cancellation)
    }

    /// Like [`ask`](Self::ask), but gives up after `timeout`, which includes the message's wait for
    /// room.
    ///
    /// ```
    /// use fibre_actors::{Actor, AskError, Context, Reply};
    /// use std::time::Duration;
    ///
    /// struct Slow(Vec<Reply<()>>);
    /// impl Actor for Slow {
    ///     type Message = Reply<()>;
    ///     fn handle(&mut self, reply: Reply<()>, _: &mut Context<'_, Self>) {
    ///         self.0.push(reply); // for later
    ///     }
    /// }
    ///
    /// let slow = fibre_actors::spawn(Slow(Vec::new()));
    /// let answer = slow.ask_timeout(Duration::from_millis(1), |reply| reply);
    /// assert_eq!(answer, Err(AskError::TimedOut));
    /// ```
    ///
    /// # Errors
    ///
    /// As [`ask`](Self::ask), and if the answer did not come in time.
    pub fn ask_timeout<R: Send + 'static>(
        &self,
        timeout: Duration,
        make: impl FnOnce(Reply<R>) -> M,
    ) -> Result<R, AskError> {
        self.ask_limited(make, Limit::after(timeout))
    }

    /// Like [`ask`](Self::ask), but gives up when the [`Limit`] comes.
    ///
    /// # Errors
    ///
    /// As [`ask`](Self::ask), and if the answer did not come in time.
    pub fn ask_within<R: Send + 'static>(
        &self,
        limit: impl Into<Limit>,
        make: impl FnOnce(Reply<R>) -> M,
    ) -> Result<R, AskError> {
        self.ask_limited(make, limit.into())
    }

    /// The form that all share.
    fn ask_limited<R: Send + 'static>(
        &self,
        make: impl FnOnce(Reply<R>) -> M,
        limit: Limit,
    ) -> Result<R, AskError> {
        if self.is_caller() {
            return Err(AskError::Itself);
        }
        let limit = begin_within(limit).map_err(|_| AskError::Cancelled)?;
        let (question, reply) = question();
        self.put_question(make(reply), limit)?;
        question.answer(limit, self)
    }

    /// Sends a message and lets its sender wait for an answer.
    #[inline]
    pub(crate) fn put_question(&self, message: M, limit: Limit) -> Result<(), AskError> {
        let question = Envelope::question(message);
        self.send_limited(question, Some(limit)).map_err(|error| {
            let why = AskError::from(&error);
            drop_quietly(error);
            why
        })
    }

    /// Ends a new actor that could not be scheduled.
    pub(crate) fn end_here(&self) {
        drop_quietly(Cell::end_here(&self.activity));
    }

    /// Sends a message that has no sender to wait or to be told. Blocks nothing.
    pub(crate) fn deliver(&self, message: M) {
        let (activation, _) = self.inbox().deliver(Envelope::Plain(message));
        Cell::wake(&self.activity, activation);
    }

    /// Ends the actor when it has handled the messages that are in its mailbox now. From now on it
    /// accepts none. Blocks nothing; does nothing if the actor has ended.
    pub fn stop(&self) {
        let activation = self.inbox().close(ExitReason::Stopped);
        Cell::wake(&self.activity, activation);
    }

    /// Ends the actor when it has handled the message that it is at; the others are dropped. The
    /// waits in its methods that can be [cancelled](fibre_core::CancelToken) end at once, an
    /// [`ask`](Self::ask) for example. Blocks nothing; does nothing if the actor has ended.
    pub fn kill(&self) {
        let activation = self.inbox().kill(ExitReason::Stopped);
        self.activity.cancel();
        Cell::wake(&self.activity, activation);
    }

    /// Whether the actor accepts messages. It may stop at any moment.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.end_with_cluster();
        self.inbox().accepts()
    }

    /// Ends an actor that nobody has told of the end of its cluster.
    fn end_with_cluster(&self) {
        if self.activity.is_stopped() {
            Cell::wake(&self.activity, self.inbox().poke());
        }
    }

    /// The number of the actor, which no other actor or fibre of this process has or had.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.activity.id()
    }

    /// The name that the actor was [given](crate::Builder::name).
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.activity.name()
    }

    /// How many messages wait in the mailbox at this moment, if that has a bound.
    #[must_use]
    pub fn queued(&self) -> Option<usize> {
        self.inbox().counts().map(|(queued, _)| queued)
    }

    /// How many messages the mailbox has dropped because it was full.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.inbox().counts().map_or(0, |(_, dropped)| dropped)
    }

    /// Sends `observer` a message when this actor has ended, or at once if it has. `make` makes the
    /// message of the notice, on this actor's fibre. Blocks nothing.
    ///
    /// The notice refers to the observer, which so lives until it comes.
    ///
    /// ```
    /// use fibre_actors::{Actor, Context, Exit, ExitReason};
    ///
    /// struct Worker;
    /// impl Actor for Worker {
    ///     type Message = ();
    ///     fn handle(&mut self, (): (), _: &mut Context<'_, Self>) {}
    /// }
    ///
    /// struct Observer(fibre::channel::Sender<ExitReason>);
    /// impl Actor for Observer {
    ///     type Message = Exit;
    ///     fn handle(&mut self, exit: Exit, _: &mut Context<'_, Self>) {
    ///         self.0.send(exit.reason).unwrap();
    ///     }
    /// }
    ///
    /// let (sender, receiver) = fibre::channel::unbounded();
    /// let worker = fibre_actors::spawn(Worker);
    /// worker.monitor(&fibre_actors::spawn(Observer(sender)), |exit| exit);
    /// worker.stop();
    /// assert_eq!(receiver.recv(), Ok(ExitReason::Stopped));
    /// ```
    pub fn monitor<N: Send + 'static>(
        &self,
        observer: &ActorRef<N>,
        make: impl FnOnce(Exit) -> N + Send + 'static,
    ) {
        self.end_with_cluster();
        let observer = observer.clone();
        let (id, name) = (self.id(), self.name().map(str::to_owned));
        let _ = self.inbox().watch(move |End { reason, .. }| {
            let make = || make(Exit { id, name, reason });
            match catch_unwind(AssertUnwindSafe(make)) {
                Ok(message) => observer.deliver(message),
                Err(payload) => drop_quietly(payload),
            }
        });
    }

    /// Waits until the actor has ended, and returns the reason. Blocks the fibre, or the thread if
    /// the caller is not a fibre. It does not stop the actor.
    ///
    /// An actor of an [`Actors`](crate::Actors) is told of the end of these, and of its cluster's.
    /// Another one, in a cluster that is stopped while it is idle, ends when somebody sends it a
    /// message, watches it or begins to wait for it; nobody tells those that wait by then. One that
    /// its cluster leaves behind, as it was stopped within limits, is seen to end.
    ///
    /// # Panics
    ///
    /// If the actor waits for its own end.
    pub fn wait(&self) -> ExitReason {
        loop {
            if let Ok(reason) = self.wait_limited(Limit::None) {
                return reason;
            }
        }
    }

    /// Like [`wait`](Self::wait), but gives up after `timeout`, or when the fibre is cancelled.
    ///
    /// # Panics
    ///
    /// If the actor waits for its own end.
    #[must_use = "`None` means that the actor has not ended"]
    pub fn wait_timeout(&self, timeout: Duration) -> Option<ExitReason> {
        self.wait_limited(Limit::after(timeout)).ok()
    }

    /// Like [`wait`](Self::wait), but gives up when the [`Limit`] comes.
    ///
    /// # Errors
    ///
    /// [`WaitError`]; then the actor has not ended.
    ///
    /// # Panics
    ///
    /// If the actor waits for its own end.
    pub fn wait_within(&self, limit: impl Into<Limit>) -> Result<ExitReason, WaitError> {
        self.wait_limited(begin_within(limit)?)
    }

    /// The form that all share.
    fn wait_limited(&self, limit: Limit) -> Result<ExitReason, WaitError> {
        assert!(!self.is_caller(), "an actor waits for its own end");
        self.end_with_cluster();
        end_waiting();
        let ended = Arc::new(Event::new());
        let told = Arc::clone(&ended);
        let key = self.inbox().watch(move |_| told.set());
        let unwatches = Unwatches(self, key);
        let waited = ended.wait_within(limit);
        if waited.is_ok() {
            forget(unwatches);
        }
        match (self.inbox().ended(), waited) {
            (Some(reason), _) => Ok(reason),
            (None, Err(why)) => Err(why),
            (None, Ok(())) => unreachable!("an actor that has not ended has told so"),
        }
    }

    /// Whether the caller is this actor.
    #[inline]
    pub(crate) fn is_caller(&self) -> bool {
        fibre_core::id() == Some(self.id())
    }

    /// Whether the actor may be left behind while the caller goes on.
    #[inline]
    pub(crate) fn may_be_left_by_caller(&self) -> bool {
        Cell::may_be_left_by_caller(&self.activity)
    }

    /// What the actor shares with others.
    #[inline]
    fn inbox(&self) -> &Inbox<Envelope<M>> {
        &self.activity.inbox
    }
}

impl<M: Send + 'static> Asked for ActorRef<M> {
    fn is_alive(&self) -> bool {
        Self::is_alive(self)
    }

    fn is_caller(&self) -> bool {
        Self::is_caller(self)
    }

    #[inline]
    fn may_be_left_by_caller(&self) -> bool {
        Self::may_be_left_by_caller(self)
    }

    fn watch(&self, notice: Box<dyn FnOnce(End) + Send>) -> Option<WatchKey> {
        self.inbox().watch(notice)
    }

    fn unwatch(&self, key: WatchKey) {
        self.inbox().unwatch(key);
    }
}

impl<M: Send + 'static> Clone for ActorRef<M> {
    #[inline]
    fn clone(&self) -> Self {
        Self::of(&self.activity)
    }
}

impl<M: Send + 'static> Drop for ActorRef<M> {
    #[inline]
    fn drop(&mut self) {
        if let Some(activation) = self.inbox().drop_reference() {
            Cell::wake(&self.activity, activation);
            // SAFETY: the references' handle, with the last of them.
            unsafe { ManuallyDrop::drop(&mut self.activity) };
        }
    }
}

impl<M: Send + 'static> PartialEq for ActorRef<M> {
    fn eq(&self, other: &Self) -> bool {
        self.id() == other.id()
    }
}

impl<M: Send + 'static> Eq for ActorRef<M> {}

impl<M: Send + 'static> Hash for ActorRef<M> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id().hash(state);
    }
}

impl<M: Send + 'static> fmt::Debug for ActorRef<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ActorRef")
            .field("id", &self.id())
            .field("name", &self.name())
            .field("is_alive", &self.is_alive())
            .finish_non_exhaustive()
    }
}

/// Lets a watcher of an actor go when a wait fails, or is unwound by a time-out around it.
struct Unwatches<'a, M: Send + 'static>(&'a ActorRef<M>, Option<WatchKey>);

impl<M: Send + 'static> Drop for Unwatches<'_, M> {
    fn drop(&mut self) {
        if let Some(key) = self.1 {
            self.0.inbox().unwatch(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Actor, Context};
    use fibre_core::timeout;
    use std::time::Duration;

    /// Does nothing.
    struct Idle;

    impl Actor for Idle {
        type Message = ();

        fn handle(&mut self, (): (), _: &mut Context<'_, Self>) {}
    }

    /// A wait that a time-out unwinds leaves no watcher behind, as one that fails does not.
    #[test]
    fn a_wait_that_is_unwound_leaves_nothing_behind() {
        let idle = crate::spawn(Idle);
        let before = idle.inbox().watchers();
        for _ in 0..3 {
            let short = Duration::from_millis(2);
            assert!(timeout(short, || idle.wait()).is_err());
            assert_eq!(idle.wait_timeout(short), None);
        }
        assert_eq!(idle.inbox().watchers(), before);
        idle.stop();
        idle.wait();
    }
}
