//! Why a message was not sent, and why there is no answer.

use std::error::Error;
use std::fmt;

/// Why a message was not sent. The message comes back.
///
/// ```
/// use fibre_actors::{Actor, Context, SendError};
///
/// struct Idle;
/// impl Actor for Idle {
///     type Message = u32;
///     fn handle(&mut self, _: u32, _: &mut Context<'_, Self>) {}
/// }
///
/// let actor = fibre_actors::spawn(Idle);
/// actor.stop();
/// assert_eq!(actor.send(7), Err(SendError::Stopped(7)));
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum SendError<M> {
    /// The actor has stopped, or is about to.
    Stopped(M),
    /// The mailbox is full, and does not let senders wait; or the sender is the actor itself, which
    /// would wait for itself.
    Full(M),
    /// There was no room in time.
    TimedOut(M),
    /// The calling fibre was cancelled before there was room.
    Cancelled(M),
}

impl<M> SendError<M> {
    /// The message that was not sent.
    #[must_use]
    pub fn into_message(self) -> M {
        match self {
            Self::Stopped(message)
            | Self::Full(message)
            | Self::TimedOut(message)
            | Self::Cancelled(message) => message,
        }
    }

    /// The same reason with another message.
    #[cfg(not(loom))]
    pub(crate) fn map<N>(self, f: impl FnOnce(M) -> N) -> SendError<N> {
        match self {
            Self::Stopped(message) => SendError::Stopped(f(message)),
            Self::Full(message) => SendError::Full(f(message)),
            Self::TimedOut(message) => SendError::TimedOut(f(message)),
            Self::Cancelled(message) => SendError::Cancelled(f(message)),
        }
    }

    /// The reason in words.
    fn words(&self) -> &'static str {
        match self {
            Self::Stopped(_) => "the actor has stopped",
            Self::Full(_) => "the mailbox is full",
            Self::TimedOut(_) => "the mailbox was full for too long",
            Self::Cancelled(_) => "the sender was cancelled while the mailbox was full",
        }
    }
}

impl<M> fmt::Debug for SendError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Stopped(_) => "Stopped",
            Self::Full(_) => "Full",
            Self::TimedOut(_) => "TimedOut",
            Self::Cancelled(_) => "Cancelled",
        };
        write!(f, "{name}(..)")
    }
}

impl<M> fmt::Display for SendError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}

impl<M> Error for SendError<M> {}

/// Why an [`ask`](crate::ActorRef::ask) has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AskError {
    /// The actor had stopped, or has stopped before it answered.
    Stopped,
    /// The actor has dropped its [`Reply`](crate::Reply), and lives. An actor that panics drops the
    /// reply that it has, and stops a moment later: an asker sees either of the two.
    NoReply,
    /// The mailbox is full, and does not let senders wait.
    Full,
    /// The answer did not come in time. It may still come, and is dropped then.
    TimedOut,
    /// The calling fibre was cancelled. The answer may still come, and is dropped then.
    Cancelled,
    /// The actor asks itself, and would wait for ever.
    Itself,
}

impl<M> From<&SendError<M>> for AskError {
    fn from(error: &SendError<M>) -> Self {
        match error {
            SendError::Stopped(_) => Self::Stopped,
            SendError::Full(_) => Self::Full,
            SendError::TimedOut(_) => Self::TimedOut,
            SendError::Cancelled(_) => Self::Cancelled,
        }
    }
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stopped => "the actor has stopped",
            Self::NoReply => "the actor did not reply",
            Self::Full => "the mailbox is full",
            Self::TimedOut => "the reply did not come in time",
            Self::Cancelled => "the asker was cancelled",
            Self::Itself => "the actor asks itself",
        })
    }
}

impl Error for AskError {}
