//! The words that the runtime knows its fibres by, for those who look for references to fibres.
//!
//! A fibre list names all started fibres, and a processor the one that it has run last. A queue may
//! still name a fibre that has been taken out, and a heap of deadlines an entry. There are lists of
//! the memory of fibres that have ended. Nobody wakes a fibre by these words, though a cluster that
//! is stopped cancels fibres by some of them.

use super::register;
use crate::scheduler::control::ProcessorPhase;
use std::ops::Range;
use std::time::Duration;

/// What one cluster has noted of its fibres.
#[derive(Debug, Default)]
pub struct FibreMemory {
    /// The addresses of words that name fibres, which nobody wakes by them.
    pub words: Vec<usize>,
    /// Addresses on the stacks of processors that stand still: what is below has only what is left
    /// of fibres that have run.
    pub frames: Vec<usize>,
    /// Memory that is not in use.
    pub unused: Vec<Range<usize>>,
    /// The kernel's numbers of the threads of processors that stand still.
    pub still: Vec<i32>,
}

/// What all clusters have noted of their fibres. `None`: something was locked for so long. Blocks
/// the thread, which is no fibre's.
#[must_use]
pub fn bookkeeping(limit: Duration) -> Option<FibreMemory> {
    let mut found = FibreMemory::default();
    for running in register::try_all(limit)? {
        let domain = &running.domain;
        let fibre_lists = domain.fibre_lists.own.try_lock_for(limit)?;
        let moving = domain.control.not_at(ProcessorPhase::Still);
        for (processor, fibre_list) in fibre_lists.iter() {
            if moving.contains(processor) {
                continue;
            }
            found.words.extend(fibre_list.words());
            // SAFETY: it stands still.
            if let Some((frame, signals)) = unsafe { fibre_list.unused_memory() } {
                found.frames.push(frame);
                found.unused.push(signals);
            }
            found.words.extend(fibre_list.block_words());
            found.words.extend(domain.queue(*processor).stale_words());
            found
                .words
                .extend(domain.timers(*processor).stale_words(limit)?);
            found.still.extend(domain.stats(*processor).thread());
        }
        if let Some(shared) = &domain.fibre_lists.shared {
            found.words.extend(shared.lock().words());
        }
    }
    Some(found)
}
