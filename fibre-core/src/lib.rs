//! The core of fibres: what they are and where they run.
//!
//! This crate has the mechanisms: contexts, stacks, queues, processors, clusters, and the one
//! primitive of suspension, [`Wait::park`](internal::Wait::park). `fibre-sync` and `fibre-io` build
//! the objects that fibres wait for on it; this crate knows neither. Programs use the facade crate
//! `fibre`.
//!
//! Folders, lowest first; each imports only from those above it in this list, and says at its top
//! what its files are:
//!
//! | folder | what it is |
//! |---|---|
//! | `arch` | the runtime's code for one kind of CPU, except the switch |
//! | `choice` | enums with named values |
//! | `sys` | this thread's processor; forked children; signal masks; standard error |
//! | `sync` | atomics and the futex, real or loom's; a short lock; reads of others' data |
//! | `stack` | stacks, and a computation on a stack of its own |
//! | `queue` | intrusive queues |
//! | `topology` | the machine, and how much of it this process may use |
//! | `config` | every setting as a value, and the environment variables |
//! | `trace` | events that processors record, in a ring for each |
//! | `idle` | how processors without work sleep, and how work wakes them |
//! | `wait` | the wake side: the first waker wins; deadlines |
//! | `ready` | a processor's ready queue |
//! | `fibre` | the control block, its run state, fibre-local values |
//! | `frames` | what the stack of a fibre says about the code on it |
//! | `scheduler` | what a cluster's processors share; placement and stealing |
//! | `processor` | the run loop |
//! | `park` | the park side: `Wait::park`, `yield_now`, `sleep`; cancellation; fibre-locals |
//! | `spawn` | how a fibre begins and ends |
//! | `cluster` | clusters, and what stops, pauses and watches them |
//! | `blocking` | kernel threads for calls that block |
//! | `api` | the functions that start fibres |

#![cfg_attr(not(any(loom, test)), deny(unreachable_pub, unnameable_types))]

#[cfg(not(loom))]
mod api;
#[cfg(not(loom))]
mod arch;
mod blocking;
mod choice;
#[cfg(not(loom))]
mod cluster;
#[cfg(not(loom))]
mod config;
#[cfg_attr(loom, path = "fibre/model.rs")]
mod fibre;
#[cfg(not(loom))]
mod frames;
mod idle;
mod park;
#[cfg(not(loom))]
mod processor;
mod queue;
#[cfg_attr(loom, path = "ready/model.rs")]
mod ready;
#[cfg_attr(loom, path = "scheduler/model.rs")]
mod scheduler;
#[cfg(not(loom))]
mod spawn;
#[cfg(not(loom))]
mod stack;
pub mod sync;
#[cfg(not(loom))]
mod sys;
#[cfg(not(loom))]
mod topology;
#[cfg_attr(loom, path = "trace/model.rs")]
mod trace;
mod wait;

/// What the layers above are made of, and what models look into. Programs use the crate `fibre`:
/// nothing here keeps its name or its meaning from one version to the next.
pub mod internal {
    #[cfg(all(debug_assertions, not(loom)))]
    pub use crate::sync::short_lock::watch_short_locks;
    #[cfg(not(loom))]
    pub use crate::{
        api::debugger::{Header, header},
        api::embed::{EmbeddedFibre, Ending, NamePlace, Program, embedded, embedded_in},
        api::mark::rename,
        api::spawn::{caller_id, processors, sharing_processors},
        arch::{Start, enter, escape, thread_pointer},
        blocking::{blocking_defaults, blocking_lookup, blocking_metrics},
        choice::{Count, Names},
        cluster::{
            ClusterView, Drivers, FibreMemory, FibreView, FibreVisitor, Frozen, IdleWaker, Origin,
            ProcessMetrics, ProcessorState, ProcessorView, Setting, StopListener, aside,
            bookkeeping, compute_defaults, effective_settings, freeze, have_moved, inspect,
            io_config, listen_for_stop, live_fibres, metrics, observe, observe_running,
            on_computing, on_first_cluster, sleep_until_busy, start_helper, switch_off,
            with_drivers,
        },
        config::debug_flag::DebugFlag,
        config::environment::{complain, is_nonsense},
        config::observation::{MonitorAction, MonitorSetting, ReportSetting},
        config::pollers::POLLERS,
        config::settings::{switch, variable},
        config::trace_setting::TraceSetting,
        fibre::director::{Director, IdleAction},
        fibre::labels::LabelLine,
        fibre::{ControlBlock, FibreReport, Viewer},
        frames::initialisers::once_blocks_fibres,
        idle::parker::{Driver, PollCounts},
        idle::wake_batch::wake_after,
        park::cancel::{caller_is_cancelled, yield_cancellable, yield_point_cancellable},
        park::ending::{end_in_turn, end_waiting},
        park::grace::child_of_caller,
        park::local::{end_locals, forget_locals, has_locals, notice_thread_ends_by},
        park::scoped::on_inherited,
        park::stack_use::{owned_stacks, stack_bounds, stack_bounds_at},
        park::timeout::{Ended, ScopeSet},
        park::{
            Affinity, Resume, TaskWait, Wait, Waiter, WakeMode, begin_plain_calls, end_plain_calls,
            has_plain_calls, is_shielded, lower_shield, may_spin, may_spin_briefly, may_stand_in,
            outside_scopes, prefetch_next, raise_shield, unwind_if_over, waits_may_unwind,
            without_unwinding, yield_point,
        },
        processor::exit::{exit, exit_in_place},
        processor::os_thread::{cpu_time, has_addresses, limit},
        processor::{
            ProcessorLocal, Turn, WakeHints, fetch_all, spread_next_spawn, with_director,
            with_processor_local,
        },
        spawn::detached::tell_of_unseen_panic,
        spawn::ending::{end_own_thread, end_own_thread_locals, has_own_thread_locals},
        stack::{GUARD_SIZE, MIN_STACK_SIZE, on_stack_overflow, page_size},
        sync::asymmetric::Asymmetric,
        sync::segmented::SegmentedVec,
        sync::short_lock::{ShortGuard, ShortLock},
        sys::environment::environment_variable,
        sys::fork::{
            block_in_children, blocks_signals, refuse_if_forked, signals_blocked_by_program,
            with_signals_of_program,
        },
        sys::plain_thread::PlainThread,
        sys::stderr::{abort_with, warn},
        sys::syscall::syscall,
        trace::{
            TraceClock, TraceKind, TraceTrack, trace_clock, trace_names, trace_setting,
            trace_tracks,
        },
        wait::since::are_deadlocks_looked_for,
    };
    pub use crate::{
        park::arm::LockedArm,
        park::{begin_within, given_up, within},
        sync::unwind_guard::{Quiet, Unwind, drop_quietly, quietly},
        wait::waiter::Outcome,
    };
    #[cfg(loom)]
    pub use crate::{
        park::{
            Affinity, IN_SCOPE, LONG_TURNS, ROUSED, Resume, TaskWait, Turn, Wait, Waiter,
            WakeHints, WakeMode, are_deadlocks_looked_for, caller_id, lower_shield, may_spin,
            may_spin_briefly, raise_shield, unwind_if_over, waits_may_unwind, without_unwinding,
            yield_point, yield_point_cancellable,
        },
        sync::model::short_lock::{ShortGuard, ShortLock},
    };

    // For models. They are here in all builds, so that the compiler sees what nobody reaches.
    #[doc(hidden)]
    pub use crate::{
        blocking::jobs,
        fibre::{activity_word, state},
        idle::{armed, monitor_call, parker, set, shared_queues, watchers},
        ready::owner_gate,
        scheduler::{control, queue_counts},
        sync::{asymmetric, readers, short_lock},
        trace::ring,
        wait::{completion, task_wait, waiter},
    };

    /// The queues.
    #[doc(hidden)]
    pub mod queue {
        pub use crate::queue::*;
    }
}

#[cfg(loom)]
pub use sync::model;

#[cfg(loom)]
pub use self::park::{in_fibre, shield};
#[cfg(not(loom))]
pub use self::{
    api::activity::{Activity, Stopped, Work},
    api::compute::{compute, compute_within},
    api::deadline::blocking_within,
    api::label::{label, labels},
    api::mark::trace_mark,
    api::scope::{Scope, ScopedJoinHandle, scope},
    api::spawn::{Builder, id, name, processor, spawn, spawn_detached, spawn_now},
    blocking::{BlockingMetrics, BlockingPool, BlockingPoolBuilder, blocking, blocking_visit},
    cluster::{
        Cluster, ClusterBuilder, ClusterMetrics, PauseError, Paused, ProcessorMetrics, StopError,
        StuckProcessor, Waiting, migrate_to, waits,
    },
    config::policy::{Placement, Priority, Revival, StealOrder, Stealing},
    config::settings::default_processors,
    fibre::local_table::{Destructor, Key},
    fibre::switch_hooks::{SwitchHooks, SwitchedFibre, TooLate, install_switch_hooks},
    fibre::switch_reason::SwitchReason,
    park::big_stack::on_big_stack,
    park::cancel::{CancelToken, shield, sleep_within},
    park::grace::{grace_limit, graceful, is_ending},
    park::interval::{Interval, TickArm},
    park::local::LocalKey,
    park::scoped::{ScopedBindings, ScopedLocal},
    park::sleep_until,
    park::stack_use::stack_used,
    park::timeout::{TimedOut, cancellable, deadline, timeout},
    park::token_arm::CancelledArm,
    processor::in_fibre,
    queue::QueueKind,
    scheduler::counts::Counters,
    scheduler::domain::LeftFibre,
    spawn::abandoned::Abandoned,
    spawn::detached::{DetachedFailure, FailureCause, on_detached_failure},
    spawn::join::{JoinHandle, JoinOnDrop, Result},
    spawn::join_arm::{FinishedArm, JoinArm},
    spawn::join_future::JoinFuture,
    spawn::task::SpawnError,
    stack::{StackClass, StackCounts, StackError, ThreadBlockCounts, stack_statistics},
    sys::fork::{is_forked_child, spawn_thread, take_signals_of_program, unblock_signals},
    topology::{
        Cpu, CpuSet, Node, ParseCpuSetError, ParseTopologyError, Pinning, Proximity, Topology,
    },
};
pub use self::{
    choice::UnknownChoice,
    park::arm::{Arm, Entered, Left, Map},
    park::due::{DueArm, after, at},
    park::{cancellation_point, is_cancelled, sleep, yield_now},
    wait::cancelled::{Cancelled, is_cancelled_error},
    wait::limit::{Limit, WaitError},
    wait::wait_object::{WaitKind, WaitObject},
    wait::wall_clock::WallTime,
};
