//! Shields: while one is raised, its fibre notices neither cancellation nor limit scopes.

use crate::processor::with_running;
use crate::sys::counted::counted;
use crate::sys::current;

/// While it lives, its fibre notices no cancellation.
#[derive(Debug)]
pub(crate) struct Shield(());

impl Shield {
    /// Raises a shield.
    pub(crate) fn raise() -> Self {
        change_shields(1);
        Self(())
    }
}

impl Drop for Shield {
    fn drop(&mut self) {
        change_shields(-1);
    }
}

/// Shields the calling fibre: it notices no cancellation until [`lower_shield`] has been called as
/// often. For callers that have no scope to say it with: see [`shield`](crate::shield).
pub fn raise_shield() {
    change_shields(1);
}

/// Undoes one [`raise_shield`] of the same fibre.
pub fn lower_shield() {
    change_shields(-1);
}

/// Whether the calling fibre or thread is in a shield.
#[must_use]
pub fn is_shielded() -> bool {
    shields() > 0
}

/// How many shields the calling fibre or thread has raised.
pub(super) fn shields() -> u32 {
    with_running(|fibre| fibre.shields.get()).unwrap_or_else(current::shields)
}

/// Adds to the number of shields of the calling fibre or thread.
fn change_shields(by: i32) {
    let changed = with_running(|fibre| {
        let shields = &fibre.shields;
        shields.set(counted(shields.get(), by, "shields"));
    });
    if changed.is_none() {
        current::change_shields(by);
    }
}
