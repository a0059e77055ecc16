//! What a fibre is and where it runs.
//!
//! This crate has the mechanisms: contexts, stacks, queues, processors, clusters, and
//! the one primitive of suspension, [`park_until`]. What fibres wait *for* is
//! made of it in `fibre-sync` and `fibre-io`; this crate knows neither. Programs
//! use the facade crate `fibre`.
//!
//! Modules, lowest first; each imports only from those above it in this list:
//!
//! | module | what it is |
//! |---|---|
//! | `sync`, `short_lock`, `report`, `quiet` | atomics, real or loom's; a lock; words on standard error; destructors that panic |
//! | `model`, `memory_model`, `park_model`, `short_lock_model` | for models only |
//! | `context`, `stack` | a computation on a stack of its own |
//! | `queue` | intrusive queues |
//! | `awaited`, `wall_clock`, `waiter`, `completion` | the wake side: what one waits for, deadlines of the clock that people set; the first waker wins |
//! | `cancelled`, `cancellable`, `cancel_group`, `buckets`, `local_table` | what calls fail with, how fibres are cancelled and who together; tables that grow; values by key |
//! | `visits` | looking at what may be taken away |
//! | `parker`, `idle`, `watch` | how processors sleep, who does, and who looks after the others |
//! | `orders` | what a cluster's handles ask of its processors |
//! | `signal_mask`, `fork` | the signals that a thread blocks; what becomes of all this in a forked child, and in programs that are started |
//! | `policy` | the scheduler's choices, as values |
//! | `settings`, `switch`, `wait_times`, `limit` | every choice as a value, and the environment variables |
//! | `commons` | the queues that all processors of a cluster take from |
//! | `current`, `deferred`, `ready` | this thread's processor; wake-ups that are put off; a processor's ready queue |
//! | `fibre` | the control block, its run state, memory of ended fibres |
//! | `timer`, `topology` | deadlines; the machine, and how many processors |
//! | `domain` | what a cluster's processors share |
//! | `placement`, `steal` | where new fibres go; whom an idle processor helps |
//! | `processor`, `own_thread` | the run loop; threads that the runtime starts |
//! | `park`, `cancel`, `local` | the park side: `park_until`, `yield_now`, `sleep`; cancellation; fibre-locals |
//! | `interval` | ticks without drift |
//! | `children`, `join`, `spawn`, `cluster`, `scope`, `builder`, `embed`, `big_stack`, `disk` | what users call |

#[cfg(loom)]
mod memory_model;
#[cfg(loom)]
pub mod model;
pub mod sync;

#[cfg_attr(loom, allow(dead_code, reason = "nobody is seen to wait in a model"))]
mod awaited;
mod cancelled;

#[cfg(loom)]
pub mod commons;
#[cfg(not(loom))]
mod commons;
#[cfg(loom)]
pub mod completion;
#[cfg(not(loom))]
mod completion;
#[cfg(not(loom))]
mod context;
#[cfg(loom)]
pub mod idle;
#[cfg(not(loom))]
mod idle;
#[cfg(loom)]
pub mod orders;
#[cfg(not(loom))]
mod orders;
#[cfg(loom)]
pub mod parker;
#[cfg(not(loom))]
mod parker;
#[cfg(loom)]
pub mod queue;
#[cfg(not(loom))]
mod queue;
#[cfg(loom)]
pub mod short_lock;
#[cfg(not(loom))]
mod short_lock;
#[cfg(not(loom))]
mod stack;
#[cfg(loom)]
pub mod visits;
#[cfg(not(loom))]
mod visits;
#[cfg(not(loom))]
mod wait_times;
#[cfg(loom)]
pub mod waiter;
#[cfg(not(loom))]
mod waiter;
mod wall_clock;
#[cfg(loom)]
pub mod watch;
#[cfg(not(loom))]
mod watch;

#[cfg(loom)]
#[path = "fibre/state.rs"]
pub mod state;

#[cfg(loom)]
#[path = "disk/jobs.rs"]
pub mod jobs;

#[cfg(loom)]
mod park_model;
#[cfg(loom)]
mod short_lock_model;

#[cfg(not(loom))]
mod big_stack;
#[cfg(not(loom))]
mod buckets;
#[cfg(not(loom))]
mod builder;
#[cfg(not(loom))]
mod cancel;
#[cfg(not(loom))]
mod cancel_group;
#[cfg(not(loom))]
mod cancellable;
#[cfg(not(loom))]
mod children;
#[cfg(not(loom))]
mod cluster;
#[cfg(not(loom))]
mod current;
#[cfg(not(loom))]
mod deferred;
#[cfg(not(loom))]
mod disk;
#[cfg(not(loom))]
mod domain;
#[cfg(not(loom))]
mod embed;
#[cfg(not(loom))]
mod fibre;
#[cfg(not(loom))]
mod fork;
#[cfg(not(loom))]
mod interval;
#[cfg(not(loom))]
mod join;
#[cfg(not(loom))]
mod limit;
#[cfg(not(loom))]
mod local;
#[cfg(not(loom))]
mod local_table;
#[cfg(not(loom))]
mod own_thread;
#[cfg(not(loom))]
mod park;
#[cfg(not(loom))]
mod placement;
#[cfg(not(loom))]
mod policy;
#[cfg(not(loom))]
mod processor;
#[cfg(not(loom))]
mod quiet;
#[cfg(not(loom))]
mod ready;
#[cfg(not(loom))]
mod report;
#[cfg(not(loom))]
mod scope;
#[cfg(not(loom))]
mod settings;
#[cfg(not(loom))]
mod signal_mask;
#[cfg(not(loom))]
mod spawn;
#[cfg(not(loom))]
mod stack_use;
#[cfg(not(loom))]
mod steal;
#[cfg(not(loom))]
mod switch;
#[cfg(not(loom))]
mod timer;
#[cfg(not(loom))]
mod topology;

pub use self::{
    awaited::{Awaited, WaitKind},
    cancelled::Cancelled,
};
#[cfg(not(loom))]
pub use self::{
    big_stack::on_big_stack,
    buckets::Buckets,
    builder::{Builder, caller_id, id, name, processor, processors, spawn, spawn_now},
    cancel::{
        CancelToken, cancellation_point, is_cancelled, shield, sleep_cancellable, sleep_within,
        yield_cancellable, yield_point_cancellable,
    },
    cluster::{
        Bell, Cluster, ClusterBuilder, Frozen, Halts, PauseError, Paused, StopError,
        StuckProcessor, Waiting, choices_above, freeze, live_fibres, migrate_to, start_helper,
        waits, with_halts,
    },
    deferred::wake_after,
    disk::{BlockingPool, BlockingPoolBuilder, blocking, blocking_visit},
    domain::LeftFibre,
    embed::{EmbeddedFibre, Ending, Program, embedded},
    fork::{
        block_in_children, blocks_signals, is_forked_child, refuse_if_forked,
        signals_blocked_by_program, unblock_signals, with_signals_of_program,
    },
    interval::Interval,
    join::{JoinHandle, JoinOnDrop, Result},
    local::{LocalKey, end_locals, forget_locals, has_locals, notice_thread_ends_by},
    local_table::{Destructor, Key},
    park::{
        Resume, Waiter, foresee, lower_shield, may_spin, may_spin_briefly, others_rest, park,
        park_among, park_until, raise_shield, resume_first, resume_in_place, sleep, sleep_until,
        waits_at_rest, waits_here, yield_now, yield_point,
    },
    parker::Halt,
    policy::{Placement, Priority, StealOrder, Stealing, UnknownPolicy},
    processor::{Pocket, Traces, fetch_all, in_fibre, with_pocket},
    queue::{QueueKind, UnknownQueueKind},
    report::{die, say},
    scope::{Scope, ScopedJoinHandle, scope},
    settings::{switch, variable},
    short_lock::{ShortGuard, ShortLock},
    spawn::{Abandoned, SpawnError},
    stack::{GUARD_SIZE, MIN_STACK_SIZE, StackClass, StackError, stack_statistics},
    stack_use::{stack_bounds, stack_used},
    switch::Switch,
    topology::{
        Cpu, CpuSet, Node, ParseCpuSetError, ParseTopologyError, Pinning, Proximity, Topology,
        default_processors,
    },
    visits::Visits,
    waiter::{Limit, Outcome},
    wall_clock::WallTime,
};
#[cfg(loom)]
pub use self::{
    park_model::{
        Resume, Traces, Waiter, caller_id, cancellation_point, in_fibre, is_cancelled,
        lower_shield, may_spin, may_spin_briefly, others_rest, park, park_among, park_until,
        raise_shield, resume_first, resume_in_place, shield, sleep, waits_at_rest, waits_here,
        yield_now, yield_point, yield_point_cancellable,
    },
    short_lock_model::{ShortGuard, ShortLock},
    waiter::{Limit, Outcome},
    wall_clock::WallTime,
};
