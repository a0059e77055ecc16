//! What a processor keeps of ended fibres, so that new ones need no lock and no system call.

use super::activity_stack::ActivityStack;
use crate::config::settings::Settings;
use crate::fibre::block_cache::BlockCache;
use crate::stack::{StackCache, class_of};
use std::time::Instant;

/// Stacks and memory. For the processor's own thread only.
pub(super) struct Memory {
    /// The class of the stacks of fibres that ask for no other one.
    pub(super) usual_class: usize,
    /// Stacks of ended fibres.
    pub(super) stacks: StackCache,
    /// What is kept for the next activity.
    pub(super) activity_stack: ActivityStack,
    /// Memory of ended fibres.
    pub(super) blocks: BlockCache,
}

impl Memory {
    /// The memory of a processor that begins, in a cluster with these settings.
    pub(super) fn new(settings: &Settings, epoch: Instant) -> Self {
        Self {
            usual_class: class_of(settings.stack_size),
            stacks: StackCache::new(settings.wipe_stacks, epoch),
            activity_stack: ActivityStack::default(),
            blocks: BlockCache::new(),
        }
    }
}
