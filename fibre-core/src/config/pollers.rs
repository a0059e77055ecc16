//! The table of pollers.
//!
//! Pollers are a layer above. Their names are here because this crate checks all environment
//! variables; the rest of a row is here so that a new poller needs one row only. fibre-io makes its
//! enum `Poller` from this table, and calls the functions that the rows name.

use crate::choice::Names;

/// Calls the macro `$with` with all pollers, the default one first: the variant of the enum, its
/// name, the function in fibre-io's folder `poller` that makes it for a cluster, and what it is.
#[doc(hidden)]
#[macro_export]
macro_rules! pollers {
    ($with:ident) => {
        $with! {
            Processors, "processors", processors::start,
                "Each idle processor waits in an epoll instance of its own, and wakes no other one.";
            Shared, "shared", variants::shared::start,
                "The first idle processor waits in the one instance of the cluster.";
            Fibre, "fibre", variants::fibre::start,
                "A poller fibre, run by idle processors; without events, a master thread waits.";
            ThreadLoop, "thread-loop", variants::thread::looping,
                "A thread of the cluster that polls in a loop.";
            ThreadSleep, "thread-sleep", variants::thread::sleeping,
                "A thread that polls, then sleeps for a millisecond: few calls, and late events.";
            ThreadOpportunistic, "thread-opportunistic", variants::thread::opportunistic,
                "A thread that polls while a processor is idle, or after ten busy milliseconds.";
            ThreadTimeout, "thread-timeout", variants::thread::impatient,
                "A thread that polls while a processor is idle, or after one millisecond.";
        }
    };
}

/// The names in the table.
macro_rules! names {
    ($($_variant:ident, $name:literal, $_start:path, $_about:literal;)*) => {
        Names(&[$($name),*])
    };
}

/// The names of all pollers.
pub const POLLERS: Names = pollers!(names);
