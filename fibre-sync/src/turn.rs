//! Lets models block on a lock that is a bit of some word.
//!
//! Such a lock spins, and the schedules of a spin multiply those of a model until it never ends. So
//! a caller that wants the bit takes a turn first. Outside of models a turn is nothing. In models
//! it is a lock of loom, so a caller at the bit always finds it free. Then the turn provides the
//! exclusion. It does not make writes under the bit visible to readers without the turn. Models of
//! the bit itself do without turns, with a variant called `faults::turn::NOT_TAKEN`. The models'
//! turns are in `model/turn.rs`.

/// The turns of one word, outside of models.
#[derive(Debug)]
pub(crate) struct Turn;

/// A turn that a caller has taken.
#[derive(Debug)]
pub(crate) struct ModelLock;

impl Turn {
    /// The turns of a word.
    pub(crate) const fn new() -> Self {
        Self
    }

    /// Takes a turn, at once.
    #[inline(always)]
    pub(crate) fn take(&self) -> ModelLock {
        ModelLock
    }
}
