//! What the running fibre, or a hook, is in the middle of.

use std::cell::Cell;

/// What the running fibre, or a hook, is in.
#[derive(Default)]
pub(super) struct CallState {
    /// Whether the running fibre is about to wait, and wakers may reach it already. Kept in builds
    /// with debug assertions only.
    pub(super) publishing: Cell<bool>,
    /// How many calls of `Processor::here` the running fibre is in. Kept in builds with debug
    /// assertions only.
    pub(super) looks: Cell<u32>,
    /// Whether the processor calls a switch hook.
    pub(super) in_hook: Cell<bool>,
}
