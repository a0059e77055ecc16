//! The answer to one question: a slot that the asker waits for, and its handle, which the actor
//! has.
//!
//! The slot outlives both, as the asker may give up before the actor answers. The actor fills the
//! slot once, or drops its handle; either resumes the asker, after the lock has been given back.
//! An actor that is left behind may do neither, for ever. So an asker that may go on after such an
//! end watches the actor while it waits. An asker of the same cluster is cancelled with it, and
//! does without.

use crate::errors::AskError;
use crate::watchers::{End, WatchKey};
use fibre_core::Limit;
use fibre_core::internal::{Outcome, ShortLock, drop_quietly};
use fibre_core::{WaitKind, WaitObject};
use fibre_sync::{ListWait, WaitList};
use std::fmt;
use std::mem;
use std::sync::Arc;

/// What the asker and the actor share.
struct Slot<R> {
    state: ShortLock<State<R>>,
}

/// What the lock protects.
struct State<R> {
    answer: Answer<R>,
    /// The asker, once it waits.
    asker: WaitList,
}

/// How far the question has come.
enum Answer<R> {
    /// There is no answer yet.
    Open,
    /// This is the answer.
    Given(R),
    /// There will be no answer.
    Refused,
    /// Nobody wants the answer.
    Unwanted,
}

/// The right to answer one [`ask`](crate::ActorRef::ask). It may be kept and used later, or passed
/// on. Dropped without an answer, it tells the asker so.
///
/// ```
/// use fibre_actors::{Actor, Context, Reply};
///
/// enum Sum {
///     Add(u64),
///     Get(Reply<u64>),
/// }
///
/// struct Adder(u64);
/// impl Actor for Adder {
///     type Message = Sum;
///     fn handle(&mut self, message: Sum, _: &mut Context<'_, Self>) {
///         match message {
///             Sum::Add(number) => self.0 += number,
///             Sum::Get(reply) => reply.send(self.0),
///         }
///     }
/// }
///
/// let adder = fibre_actors::spawn(Adder(0));
/// for number in 1..=10 {
///     adder.send(Sum::Add(number))?;
/// }
/// assert_eq!(adder.ask(Sum::Get), Ok(55));
/// # Ok::<(), fibre_actors::SendError<Sum>>(())
/// ```
#[must_use = "dropped, it tells the asker that there is no answer"]
pub struct Reply<R> {
    /// `None` once it was used.
    slot: Option<Arc<Slot<R>>>,
}

/// The other end of a [`Reply`].
pub(crate) struct Question<R> {
    /// `None` once it was waited for.
    slot: Option<Arc<Slot<R>>>,
}

/// An actor that was asked, whatever its messages are.
pub(crate) trait Asked: Send + Sync {
    /// Whether it has not ended.
    fn is_alive(&self) -> bool;
    /// Whether the calling fibre is this actor's.
    fn is_caller(&self) -> bool;
    /// Whether it may be left behind while the caller goes on.
    fn may_be_left_by_caller(&self) -> bool;
    /// Has somebody told about its end, at once if it has ended.
    fn watch(&self, notice: Box<dyn FnOnce(End) + Send>) -> Option<WatchKey>;
    /// Lets a watcher go.
    fn unwatch(&self, key: WatchKey);
}

/// The wait of an asker, who is told if the actor is left behind.
struct Watch<'a>(&'a dyn Asked, WatchKey);

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        self.0.unwatch(self.1);
    }
}

/// A question, and the right to answer it.
pub(crate) fn question<R>() -> (Question<R>, Reply<R>) {
    let slot = Arc::new(Slot {
        state: ShortLock::new(State {
            answer: Answer::Open,
            asker: WaitList::new(),
        }),
    });
    let reply = Reply {
        slot: Some(Arc::clone(&slot)),
    };
    (Question { slot: Some(slot) }, reply)
}

impl<R> Reply<R> {
    /// Answers. Blocks nothing. If the asker has given up, the answer is dropped.
    pub fn send(mut self, answer: R) {
        if let Some(slot) = self.slot.take() {
            slot.settle(Answer::Given(answer));
        }
    }

    /// Whether the asker has given up, so that nobody would read an answer.
    #[must_use]
    pub fn is_unwanted(&self) -> bool {
        let answer = |slot: &Arc<Slot<R>>| matches!(slot.state.lock().answer, Answer::Unwanted);
        self.slot.as_ref().is_some_and(answer)
    }
}

impl<R> Drop for Reply<R> {
    fn drop(&mut self) {
        if let Some(slot) = self.slot.take() {
            slot.settle(Answer::Refused);
        }
    }
}

impl<R> fmt::Debug for Reply<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply")
            .field("is_unwanted", &self.is_unwanted())
            .finish_non_exhaustive()
    }
}

impl<R> Slot<R> {
    /// Says that there is no answer, unless there is one by now, or nobody wants to know.
    fn refuse(&self) {
        let mut state = self.state.lock();
        if matches!(state.answer, Answer::Open) {
            state.answer = Answer::Refused;
            let asker = state.asker.claim_first(0);
            drop(state);
            if let Some(asker) = asker {
                asker.resume();
            }
        }
    }

    /// Answers, or says that there is no answer, unless nobody wants to know.
    fn settle(&self, answer: Answer<R>) {
        let mut state = self.state.lock();
        if matches!(state.answer, Answer::Unwanted) {
            drop(state);
            // Whatever its destructor does, it is not the answerer's fault.
            return drop_quietly(answer);
        }
        state.answer = answer;
        let asker = state.asker.claim_first(0);
        drop(state);
        if let Some(asker) = asker {
            asker.resume();
        }
    }
}

impl<R> Question<R> {
    /// Whether nothing more will happen to the answer.
    pub(crate) fn is_settled(&self) -> bool {
        let is_open = |slot: &Arc<Slot<R>>| matches!(slot.state.lock().answer, Answer::Open);
        !self.slot.as_ref().is_some_and(is_open)
    }

    /// Waits for the answer of this actor. Blocks the fibre, or the thread.
    #[inline]
    pub(crate) fn answer(mut self, limit: Limit, asked: &dyn Asked) -> Result<R, AskError>
    where
        R: Send + 'static,
    {
        let Some(slot) = self.slot.take() else {
            return Err(AskError::NoReply);
        };
        let watch = match asked.may_be_left_by_caller() {
            true => watch(&slot, asked),
            false => None,
        };
        let wait = ListWait::new(WaitObject::new(WaitKind::Channel, &*slot), limit);
        let is_open = |state: &mut State<R>| matches!(state.answer, Answer::Open);
        fn asker<R>(state: &mut State<R>) -> &mut WaitList {
            &mut state.asker
        }
        // SAFETY: the list stays in the slot, which we keep; the claimed asker is resumed.
        let outcome = unsafe { wait.in_list(&slot.state, asker, is_open) };
        drop(watch);
        let answer = mem::replace(&mut slot.state.lock().answer, Answer::Unwanted);
        match (answer, outcome) {
            (Answer::Given(answer), _) => Ok(answer),
            (_, Outcome::TimedOut) => Err(AskError::TimedOut),
            (_, Outcome::Cancelled) => Err(AskError::Cancelled),
            _ if asked.is_alive() => Err(AskError::NoReply),
            _ => Err(AskError::Stopped),
        }
    }
}

/// Tells the asker if the actor is left behind.
#[cold]
fn watch<'a, R: Send + 'static>(slot: &Arc<Slot<R>>, asked: &'a dyn Asked) -> Option<Watch<'a>> {
    let slot = Arc::clone(slot);
    let key = asked.watch(Box::new(move |end| {
        if end.is_left_behind {
            slot.refuse();
        }
    }));
    key.map(|key| Watch(asked, key))
}

impl<R> Drop for Question<R> {
    fn drop(&mut self) {
        if let Some(slot) = &self.slot {
            let answer = mem::replace(&mut slot.state.lock().answer, Answer::Unwanted);
            // The asker may be unwinding.
            drop_quietly(answer);
        }
    }
}
