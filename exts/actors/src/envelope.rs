//! A message on its way, with the scoped values of a sender that waits for the answer.
//!
//! The actor handles a question on behalf of the asker, so it sees what is bound for that one. Any
//! other message is sent on nobody's behalf: its sender may be long done, and messages that an
//! actor sends itself would pass the values on for ever. So those that carry values are rare, and
//! lie in an allocation of their own; most envelopes are as large as their message.

use fibre_core::ScopedBindings;

/// A message, perhaps with bindings.
pub(crate) enum Envelope<M> {
    /// One without bindings.
    Plain(M),
    /// A question, with what is bound for the asker.
    Bound(Box<(M, ScopedBindings)>),
}

impl<M> Envelope<M> {
    /// A question of the caller.
    pub(crate) fn question(message: M) -> Self {
        let bindings = ScopedBindings::current();
        match bindings.is_none() {
            true => Self::Plain(message),
            false => Self::Bound(Box::new((message, bindings))),
        }
    }

    /// The message.
    pub(crate) fn into_message(self) -> M {
        match self {
            Self::Plain(message) => message,
            Self::Bound(bound) => bound.0,
        }
    }

    /// The message, as it is.
    pub(crate) fn message(&self) -> &M {
        match self {
            Self::Plain(message) => message,
            Self::Bound(bound) => &bound.0,
        }
    }

    /// Calls `handle` with the message, and with the bindings in effect.
    #[inline]
    pub(crate) fn open(self, handle: impl FnOnce(M)) {
        match self {
            Self::Plain(message) => handle(message),
            Self::Bound(bound) => open_bound(*bound, handle),
        }
    }
}

/// [`Envelope::open`] of one with bindings.
#[cold]
#[inline(never)]
fn open_bound<M>((message, bindings): (M, ScopedBindings), handle: impl FnOnce(M)) {
    bindings.with(|| handle(message));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_as_large_as_a_message_with_room_for_a_tag() {
        assert_eq!(size_of::<Envelope<String>>(), size_of::<String>());
        assert_eq!(size_of::<Envelope<(u64, bool)>>(), size_of::<(u64, bool)>());
        assert_eq!(size_of::<Envelope<()>>(), size_of::<usize>());
    }
}
