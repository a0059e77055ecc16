//! What a processor keeps of ended fibres, so that new ones need no lock and no system call.

use super::activity_stack::ActivityStack;
use crate::config::settings::Settings;
use crate::fibre::block_cache::BlockCache;
use crate::stack::{Images, StackCache, class_of};
use std::time::Instant;

/// Stacks and memory. For the processor's own thread only.
pub(super) struct Memory {
    /// The class of the stacks of fibres that ask for no other one.
    pub(super) usual_class: usize,
    /// Stacks of ended fibres.
    pub(super) stacks: StackCache,
    /// Whether stacks of activities may be used again as they were left.
    pub(super) keeps_runners: bool,
    /// What is kept for the next activity.
    pub(super) activity_stack: ActivityStack,
    /// What thread-locals are in a new thread.
    pub(super) images: Images,
    /// Memory of ended fibres.
    pub(super) blocks: BlockCache,
}

impl Memory {
    /// The memory of a processor that begins, in a cluster with these settings.
    pub(super) fn new(settings: &Settings, epoch: Instant) -> Self {
        Self {
            usual_class: class_of(settings.stack_size),
            stacks: StackCache::new(settings.wipe_stacks, epoch),
            keeps_runners: !settings.wipe_stacks && !settings.own_thread_locals,
            activity_stack: ActivityStack::default(),
            images: Images::default(),
            blocks: BlockCache::new(),
        }
    }
}
