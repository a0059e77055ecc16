//! What a process says on its page: JSON. Unknown parts of it are skipped, and missing ones have
//! their defaults. `fibre-inspect` writes it (`snapshot`).

use serde::{Deserialize, Serialize};

/// What a process says at some time.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Snapshot {
    /// The process, as it knows itself.
    pub(crate) process: u64,
    /// When this was written, by a clock of the process' own.
    pub(crate) at_us: u64,
    /// The age of its first cluster.
    pub(crate) uptime_ms: u64,
    /// Fibres that have been cancelled.
    pub(crate) cancelled: u64,
    /// The stacks of fibres.
    pub(crate) stacks: u64,
    /// Stacks that no cluster has at hand.
    pub(crate) stacks_free: u64,
    /// Thread blocks of fibres with thread-locals of their own.
    pub(crate) thread_blocks: u64,
    /// Thread blocks for fibres to come.
    pub(crate) thread_blocks_free: u64,
    /// Thread blocks that have been made, and that have been ended.
    pub(crate) thread_blocks_born: u64,
    pub(crate) thread_blocks_ended: u64,
    /// Calls that wait, or go on, on threads of their own.
    pub(crate) blocking_pending: u64,
    /// These threads.
    pub(crate) blocking_threads: u64,
    pub(crate) clusters: Vec<Cluster>,
    /// How old the look is.
    pub(crate) look_age_ms: Option<u64>,
    /// What fibres did when they were last looked at.
    pub(crate) look: Option<Look>,
}

/// A cluster.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Cluster {
    pub(crate) name: String,
    pub(crate) number: u64,
    /// Whether its fibres have thread-locals of their own.
    pub(crate) own_thread_locals: bool,
    /// Fibres that live.
    pub(crate) fibres: u64,
    /// Fibres that have not begun to run.
    pub(crate) unstarted: u64,
    /// All that have been spawned.
    pub(crate) spawned: u64,
    /// Fibres that run, or could.
    pub(crate) runnable: Option<u64>,
    /// Fibres that wait.
    pub(crate) blocked: Option<u64>,
    /// Processors that are not shown.
    pub(crate) omitted: u64,
    pub(crate) processors: Vec<Processor>,
}

/// A processor, and what it has counted.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Processor {
    pub(crate) index: u64,
    pub(crate) thread: i64,
    pub(crate) spare: bool,
    /// Whether it has something to run.
    pub(crate) busy: bool,
    pub(crate) timers: u64,
    /// Fibres queued there; unknown where a fibre keeps it.
    pub(crate) queued: Option<u64>,
    /// The CPU time of its thread.
    pub(crate) cpu_us: Option<u64>,
    pub(crate) switches: u64,
    pub(crate) started: u64,
    pub(crate) ended: u64,
    pub(crate) steals: u64,
    pub(crate) steals_tried: u64,
    pub(crate) parks: u64,
    pub(crate) wakes: u64,
    pub(crate) wakes_in_vain: u64,
    pub(crate) polls: u64,
    pub(crate) empty_polls: u64,
    pub(crate) events: u64,
    pub(crate) timers_fired: u64,
    /// Thread blocks that fibres have begun with, and those of them that had been there before.
    pub(crate) blocks_taken: u64,
    pub(crate) blocks_renewed: u64,
    /// What others did for it while it did not switch: fibres that they took, timers that they
    /// fired, polls.
    pub(crate) rescued_fibres: u64,
    pub(crate) rescued_timers: u64,
    pub(crate) rescue_polls: u64,
}

/// What fibres did at a look.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Look {
    /// How long it took.
    pub(crate) took_us: u64,
    /// Whether functions have no names yet: the process is about to read them.
    pub(crate) unnamed: bool,
    /// Groups that are not shown.
    pub(crate) omitted: u64,
    /// Fibres that wait for each other.
    pub(crate) circles: Vec<Vec<u64>>,
    pub(crate) groups: Vec<Group>,
}

/// Fibres with equal stacks.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Group {
    pub(crate) cluster: String,
    /// `runs`, `behind`, `waits` or `ready`.
    pub(crate) state: String,
    pub(crate) count: u64,
    pub(crate) waits_for: Option<String>,
    /// The one that has waited longest, as far as that is noted.
    pub(crate) fibre: Option<u64>,
    /// Its name.
    pub(crate) name: Option<String>,
    /// Its processor.
    pub(crate) processor: Option<u64>,
    /// How long it has waited.
    pub(crate) oldest_ms: Option<u64>,
    /// Where in the program.
    pub(crate) at: Option<String>,
    /// The function that was spawned.
    pub(crate) spawned: Option<String>,
}
