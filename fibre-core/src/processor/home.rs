//! Whether the fibres that a processor runs are at home there: it may keep them, and wakers on it
//! find them without a step that other threads could see.

use crate::config::settings::Settings;
use crate::sync::heavy_barrier;

/// What is so for as long as the processor lives.
pub(super) struct Home {
    /// Whether every fibre that it runs is at home here from then on (forced migration).
    pub(super) adopts: bool,
    /// Whether fibres that have started here stay.
    pub(super) keeps: bool,
    /// Whether calls of the C library may be replaced in these fibres: what such a call keeps of
    /// its thread is there when it goes on.
    pub(super) lets_stand_in: bool,
    /// Whether they stay as long as this is the only processor.
    pub(super) keeps_alone: bool,
    /// Whether waits with a limit may end at home, too: cancellers can have all threads see what
    /// they do.
    pub(super) limits: bool,
}

impl Home {
    /// What holds for processor `index` in a cluster with these settings.
    pub(super) fn new(index: usize, settings: &Settings) -> Self {
        Self {
            adopts: settings.force_migration,
            keeps: !settings.moves_started,
            lets_stand_in: !settings.moves_started || settings.own_thread_locals,
            keeps_alone: index == 0 && !settings.blocks,
            limits: heavy_barrier().is_some(),
        }
    }
}
