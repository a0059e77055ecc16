//! Everything that looks at a process from outside: dumps, metrics, event traces, watches.
//!
//! Programs call [`dump`](dump::dump) through the crate `fibre`, or send themselves SIGQUIT; C
//! programs call `fibre_dump`. A thread may watch for processors that do not switch and for
//! deadlocks. [`metrics`](metrics::metrics) returns what processors have done so far. Modules,
//! lowest first; each imports only from those above it in this list:
//!
//! | module | what it is |
//! |---|---|
//! | `arch` | the crate's code for one kind of CPU |
//! | `stack` | memory that may not be there, unwind tables, and walking up a stack that does not run |
//! | `descriptors` | work that opens files, even when the program has no descriptor left |
//! | `request` | the word that asks a thread for its registers |
//! | `threads` | the state of a kernel thread, as the kernel reports it |
//! | `sample` | the stack of a running thread; fibres that nobody can wake any more |
//! | `gather` | all fibres, in their state while their clusters stand still |
//! | `symbols` | which functions and lines addresses belong to |
//! | `names` | shortens names of functions to a readable length |
//! | `cycles` | cycles of fibres that wait for each other |
//! | `report` | the content of a dump: groups of fibres with equal stacks, cycles of owners |
//! | `form` | the two forms of a report: text and JSON |
//! | `dump` | the call |
//! | `output` | writing to a place that perhaps nobody reads |
//! | `notifier` | the word that a thread sleeps on until it is asked for something |
//! | `page` | the page that `fibre-top` reads, and its content |
//! | `settings` | `FIBRE_DEBUG=config`: the settings that hold |
//! | `signal` | SIGQUIT, which asks for a dump, and the fault of a stack overflow |
//! | `trace` | the event trace: its file, and SIGUSR2, which asks for it |
//! | `metrics` | what processors have done so far: a value, lines, a server with pages |
//! | `watch` | the thread that reports processors that do not switch, and deadlocks |
//! | `gdb` | the script for gdb |
//! | `begin` | what starts with the first cluster |

#![cfg_attr(not(any(loom, test)), deny(unreachable_pub, unnameable_types))]

#[cfg(not(loom))]
mod arch;
#[cfg(not(loom))]
mod begin;
#[cfg(not(loom))]
mod cycles;
#[cfg(not(loom))]
mod descriptors;
#[cfg(not(loom))]
mod dump;
#[cfg(not(loom))]
mod form;
#[cfg(not(loom))]
mod gather;
#[cfg(not(loom))]
mod gdb;
#[cfg(not(loom))]
mod metrics;
#[cfg(not(loom))]
mod names;
#[cfg(not(loom))]
mod notifier;
#[cfg(not(loom))]
mod output;
/// The page that `fibre-top` reads; for that, and for models, see `tests/loom/page.rs`.
#[doc(hidden)]
pub mod page;
#[cfg(not(loom))]
mod report;
/// The word that asks a thread for its registers; for models, see `tests/loom/request.rs`.
#[doc(hidden)]
pub mod request;
#[cfg(not(loom))]
mod sample;
#[cfg(not(loom))]
mod settings;
#[cfg(not(loom))]
mod signal;
#[cfg(not(loom))]
mod stack;
#[cfg(not(loom))]
mod symbols;
#[cfg(not(loom))]
mod threads;
#[cfg(not(loom))]
mod trace;
#[cfg(not(loom))]
mod watch;

#[cfg(not(loom))]
pub use self::{
    begin::begin_with_first_cluster,
    dump::{Format, content, content_of, dump},
    metrics::{Metrics, metrics},
    sample::stuck::{Stuck, StuckCounts, stuck},
    trace::write_trace,
};

#[cfg(all(feature = "metrics", not(loom)))]
pub use self::metrics::{add_exposition, exposition};
