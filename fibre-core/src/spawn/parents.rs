//! Which fibre has spawned which, for dumps, if `FIBRE_PARENTS` asks for it.
//!
//! A block has no room for one more word, and to look who spawns would cost each spawn more than
//! the rest of what it does with the block. So the number lies with the attributes that few fibres
//! have, which takes an allocation, and a spawn pays for no look of its own: it asks whether spawns
//! are noted at all, as it does for the event trace.

use crate::config::debug_flag::DebugFlag;
use crate::fibre::ControlBlock;
use crate::processor::with_running;
use crate::trace;

/// Whether parents are noted.
static SWITCH: DebugFlag = DebugFlag::new("FIBRE_PARENTS");

/// Asks the environment whether parents are to be noted. Before the first processor begins.
pub(crate) fn ask() {
    if SWITCH.is_on() {
        trace::note_spawns();
    }
}

/// Notes that the caller has spawned a fibre, which is new.
pub(crate) fn note(child: &ControlBlock) {
    if SWITCH.is_known_to_be_on()
        && let Some(parent) = with_running(ControlBlock::id)
    {
        child.attributes.set_parent(parent);
    }
}
