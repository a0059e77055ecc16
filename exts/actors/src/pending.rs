//! Answers that are waited for later.

use crate::actor_ref::ActorRef;
use crate::errors::AskError;
use crate::reply::{Asked, Question, Reply, question};
use fibre_core::Limit;
use fibre_core::internal::begin_within;
use std::fmt;
use std::time::Duration;

/// An answer that will come: what [`ActorRef::request`] returns. Several actors work at once while
/// one fibre waits for them in turn. Dropped, it gives the answer up, which is dropped then.
///
/// The actor lives at least as long.
///
/// ```
/// use fibre_actors::{Actor, AskError, Context, Reply};
///
/// struct Square;
/// impl Actor for Square {
///     type Message = (u64, Reply<u64>);
///     fn handle(&mut self, (number, reply): Self::Message, _: &mut Context<'_, Self>) {
///         reply.send(number * number);
///     }
/// }
///
/// let squares: Vec<_> = (0..4).map(|_| fibre_actors::spawn(Square)).collect();
/// let pending = squares.iter().zip(1..);
/// let pending = pending.map(|(square, number)| square.request(|reply| (number, reply)));
/// let pending = pending.collect::<Result<Vec<_>, _>>()?;
/// let answers: Result<Vec<_>, _> = pending.into_iter().map(|answer| answer.wait()).collect();
/// assert_eq!(answers?, [1, 4, 9, 16]);
/// # Ok::<(), AskError>(())
/// ```
#[must_use = "dropped, it gives the answer up"]
pub struct PendingReply<R> {
    question: Question<R>,
    asked: Box<dyn Asked>,
}

impl<M: Send + 'static> ActorRef<M> {
    /// Asks without waiting for the answer: sends the message that `make` makes, and returns what
    /// the answer is taken from. Blocks as [`send`](Self::send): where the mailbox is full and lets
    /// senders wait. The caller's scoped values are bound as with [`ask`](Self::ask).
    ///
    /// # Errors
    ///
    /// [`AskError`]: the actor has stopped, its mailbox refuses the message, or the calling fibre
    /// is cancelled.
    pub fn request<R: Send + 'static>(
        &self,
        make: impl FnOnce(Reply<R>) -> M,
    ) -> Result<PendingReply<R>, AskError> {
        let limit = begin_within(Limit::Cancellation).map_err(|_| AskError::Cancelled)?;
        let (question, reply) = question();
        self.put_question(make(reply), limit)?;
        Ok(PendingReply {
            question,
            asked: Box::new(self.clone()),
        })
    }
}

impl<R: Send + 'static> PendingReply<R> {
    /// Waits for the answer. Blocks the fibre, or the thread if the caller is not a fibre.
    ///
    /// # Errors
    ///
    /// [`AskError`]: the actor has stopped or drops the [`Reply`], the calling fibre is cancelled,
    /// or the actor waits for itself.
    pub fn wait(self) -> Result<R, AskError> {
        self.wait_limited(Limit::Cancellation)
    }

    /// Like [`wait`](Self::wait), but gives up after `timeout`.
    ///
    /// # Errors
    ///
    /// As [`wait`](Self::wait), and if the answer did not come in time.
    pub fn wait_timeout(self, timeout: Duration) -> Result<R, AskError> {
        self.wait_limited(Limit::after(timeout))
    }

    /// Like [`wait`](Self::wait), but gives up when the [`Limit`] comes. A deadline holds for
    /// several in turn.
    ///
    /// # Errors
    ///
    /// As [`wait`](Self::wait), and if the answer did not come in time.
    pub fn wait_within(self, limit: impl Into<Limit>) -> Result<R, AskError> {
        self.wait_limited(limit.into())
    }

    /// Whether it is known by now how the question ends, so that a wait does not block.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.question.is_settled()
    }

    /// The form that all share.
    fn wait_limited(self, limit: Limit) -> Result<R, AskError> {
        if !self.is_settled() {
            if self.asked.is_caller() {
                return Err(AskError::Itself);
            }
            begin_within(limit).map_err(|_| AskError::Cancelled)?;
        }
        let asked = self.asked;
        self.question.answer(limit, &*asked)
    }
}

impl<R> fmt::Debug for PendingReply<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingReply")
            .field("is_settled", &self.question.is_settled())
            .finish_non_exhaustive()
    }
}
