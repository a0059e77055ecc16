//! What a processor keeps for the next activity: an *activity stack*, see `activation`.

use crate::stack::OwnerWord;
use crate::stack::context::Context;
use std::cell::Cell;

/// What a processor keeps for the next activity.
#[derive(Default)]
pub(super) struct ActivityStack {
    /// A stack of the usual class, and the computation on it that waits for an activity.
    pub waiting: Cell<Option<Context>>,
    /// The owner word of the stack that such a computation is about to begin on.
    pub owner_word: Cell<Option<OwnerWord>>,
}
