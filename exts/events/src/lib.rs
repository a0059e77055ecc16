//! Coloured events on fibres: handlers of one colour run one after the other, different colours run
//! on all processors, and any handler may block.
//!
//! A callback program needs no change while all its callbacks have one colour; it names colours for
//! callbacks that may run at the same time. Idle processors steal whole colours from busy ones, and
//! by default only those that are worth it. A handler is a closure that runs on the stack of its
//! processor's worker, so an event costs no fibre. A handler that blocks keeps its colour and that
//! stack, and the processor goes on with other colours.
//!
//! ```
//! use fibre_events::{Colour, Events};
//! use std::sync::Arc;
//! use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
//!
//! let events = Events::builder().processors(2).build()?;
//! let sums = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
//! for number in 0..100 {
//!     let sums = Arc::clone(&sums);
//!     let side = number % 2;
//!     events.post(Colour::of(&("side", side)), move || {
//!         // No other event of this colour runs meanwhile.
//!         let sum = &sums[side];
//!         sum.store(sum.load(Relaxed) + number as u64, Relaxed);
//!     });
//! }
//! events.stop();
//! assert_eq!(events.run().ran, 100);
//! assert_eq!([2450, 2500], [sums[0].load(Relaxed), sums[1].load(Relaxed)]);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # Where to find what
//!
//! | to | use |
//! |---|---|
//! | choose processors, a policy, a table of colours | [`Events::builder`], [`EventsBuilder`], [`Policy`], [`Colours`] |
//! | run something under a colour | [`Events::post`], [`Events::call`], [`Colour`] |
//! | say how long handlers take, and how reluctantly to steal them | [`Handler`] |
//! | handle descriptors, signals, children, names and connections | [`Events::on_readable`] and its neighbours |
//! | run something later | [`Events::after`], [`Events::at`], [`Events::every`], [`Timer`] |
//! | let others have a handler's colour while it waits | [`Events::release`] |
//! | run, stop, and see what happened | [`Events::run`], [`Events::stop`], [`Report`] |
//! | use the names of libasync | [`libasync`] |
//!
//! # What is promised
//!
//! * No two events of a colour run at the same time, whatever processor they are on.
//! * Events of one colour run in the order of their posts. But under [`Policy::Libasync`], events
//!   of descriptors, timers and signals run after posted ones.
//! * Each accepted event runs once, or is dropped: by [`Events::stop_now`], or with a cluster that
//!   was stopped within limits. The report counts both.
//! * Events stop with the cluster that they live in.
//! * Colours are exact: two keys are one colour only if they are equal.
//! * A processor without work sleeps.
//!
//! If a handler panics, it ends; its colour, and all others, go on. The panic hook reports it, the
//! report counts it, and [`EventsBuilder::on_panic`] gets the payload.
//!
//! # What blocks what
//!
//! | call | from a handler or another fibre | from another thread |
//! |---|---|---|
//! | a `call`, until the event has run; a `release`, until the colour is free | the fibre | the thread |
//! | a `run` | the fibre (none of the events' own) | the thread |
//! | a `post`; calls that register, cancel or take back; a `start`, a `stop` | nothing | nothing |
//!
//! # Modules
//!
//! Lowest first; each imports only from those above it in this list, or beside it:
//!
//! | module | what it is |
//! |---|---|
//! | `faults` | the names of faults that models plant |
//! | `colour`, `slab`, `victims`, `idlers` | colours; places in chains; the victims of thieves, and the processors that posts wake |
//! | `policy` | policies by name, and the rules of queues |
//! | `slot` | a colour that is alive |
//! | `by_colour`, `by_event` | a processor's queue after Mely, and after libasync-smp |
//! | `core_queue` | either of them, with what both need |
//! | `scheduler` | all colours and queues: posts, runs, thefts |
//! | `handler` | handlers, and the events that they make |
//! | `lead` | which fibre of a processor takes events |
//! | `runtime` | what all processors share |
//! | `worker` | fibres that take events and run them |
//! | `watch` | callbacks that are called again and again |
//! | `watchers`, `descriptors` | signals and jobs; which descriptors are ready |
//! | `clock`, `report` | timers; counts |
//! | `events`, `builder` | what programs hold, and its settings |
//! | `libasync` | the names of libasync |

#![cfg_attr(not(any(loom, test)), deny(unreachable_pub, unnameable_types))]
// Unit tests know the threads of the system, so a build of them for models is empty.
#![cfg(not(all(test, loom)))]

#[cfg(not(loom))]
mod builder;
mod by_colour;
mod by_event;
#[cfg(not(loom))]
mod clock;
mod colour;
mod core_queue;
#[cfg(not(loom))]
mod descriptors;
#[cfg(not(loom))]
mod events;
#[doc(hidden)]
pub mod faults;
#[cfg(not(loom))]
mod handler;
mod idlers;
#[cfg(not(loom))]
mod lead;
#[cfg(not(loom))]
pub mod libasync;
mod policy;
#[cfg(not(loom))]
mod report;
#[cfg(not(loom))]
mod runtime;
mod scheduler;
mod slab;
mod slot;
mod victims;
#[cfg(not(loom))]
mod watch;
#[cfg(not(loom))]
mod watchers;
#[cfg(not(loom))]
mod worker;

/// For models and traces. It is here in all builds, so that the compiler sees unreachable code.
#[doc(hidden)]
pub mod internal {
    pub use crate::policy::Rules;
    pub use crate::scheduler::{Calls, Run, Scheduler, Stolen};
    pub use crate::slot::{Load, SCALE};
}

#[cfg(not(loom))]
pub use self::{
    builder::EventsBuilder,
    clock::Timer,
    events::{Events, NotRun},
    handler::{Event, Handler},
    report::Report,
    watch::Callback,
};
pub use self::{
    colour::{Colour, Colours},
    policy::Policy,
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
