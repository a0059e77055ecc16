//! What a processor keeps for the next activity: a *runner*, see `activation`.

use crate::stack::Nameplate;
use crate::stack::context::Context;
use std::cell::Cell;

/// What a processor keeps for the next activity.
#[derive(Default)]
pub(super) struct Runner {
    /// A stack of the usual class, and the computation on it that waits for an activity.
    pub waiting: Cell<Option<Context>>,
    /// The nameplate of the stack that such a computation is about to begin on.
    pub nameplate: Cell<Option<Nameplate>>,
}
