//! Blocking-style sockets, pipes, files, signals and child processes for fibres.
//!
//! A call that would block the kernel thread blocks the fibre instead. All I/O goes through one
//! funnel, `funnel::Policy::run`. It tries the system call. If the call would block, the funnel
//! makes sure that the descriptor is registered with the poller's epoll instance (lazily, once,
//! edge-triggered), waits at the gate of that direction, and tries again. Outside of a fibre, the
//! same functions block the thread.
//!
//! Modules, lowest first:
//!
//! | module | what it is |
//! |---|---|
//! | `timeout` | how long a call may wait |
//! | `buffers` | buffers that connections share |
//! | `forward` | reading and writing through a value, as through a reference |
//! | `sequence_cursor` | a cursor into a count of arrivals |
//! | `config` | the settings of each cluster |
//! | `gate` | readiness of one direction, and the fibres that wait for it |
//! | `simulated` | sockets that a test kit simulates |
//! | `epoll` | one epoll instance, as the kernel has it |
//! | `descriptor` | one slot for each descriptor's number: its owner, its users, its gates |
//! | `retry` | yields and pauses between the tries of a call |
//! | `funnel` | makes a call that would block wait instead |
//! | `task_turn` | how tasks of asynchronous code wait at a gate |
//! | `poll_words` | the words that decide which processor or thread polls |
//! | `poller` | the pollers, which wait in the kernel for descriptors |
//! | `backoff` | pauses of accepting when descriptors run out |
//! | `source` | a descriptor with its slot |
//! | `transfer` | computations of every call that moves bytes; what a file's bytes come from |
//! | `readiness`, `poll` | waiting for several descriptors |
//! | `pollable` | any descriptor that a fibre can wait for |
//! | `copy` | copying inside the kernel |
//! | `net` | TCP, UDP and Unix sockets, after std's |
//! | `pipe` | pipes, after `std::io::pipe` |
//! | `ring` | reads of files that wait for the disk, when there are many |
//! | `fs` | files, after `std::fs` |
//! | `raw` | descriptors by their numbers, as C programs have them |
//! | `posix` | what the C library does beyond std |
//! | `stdio` | standard input, output and error, after `std::io` |
//! | `signal`, `process` | signals as values; child processes |

#![cfg_attr(not(any(loom, test)), deny(unreachable_pub, unnameable_types))]

#[cfg(not(loom))]
mod backoff;
#[cfg(not(loom))]
mod buffers;
#[cfg(not(loom))]
mod config;
#[cfg(not(loom))]
pub mod copy;
#[doc(hidden)]
pub mod descriptor;
#[cfg(not(loom))]
mod epoll;
#[cfg(not(loom))]
mod forward;
#[cfg(not(loom))]
pub mod fs;
#[doc(hidden)]
pub mod funnel;
#[doc(hidden)]
pub mod gate;
#[cfg(not(loom))]
pub mod net;
#[cfg(not(loom))]
pub mod pipe;
#[cfg(not(loom))]
pub mod poll;
#[doc(hidden)]
pub mod poll_words;
#[cfg(not(loom))]
pub mod pollable;
#[cfg(not(loom))]
mod poller;
#[cfg(not(loom))]
pub mod posix;
#[cfg(not(loom))]
pub mod process;
#[cfg(not(loom))]
pub mod raw;
#[cfg(not(loom))]
mod readiness;
#[cfg(not(loom))]
mod retry;
#[doc(hidden)]
pub mod ring;
pub mod sequence_cursor;
#[cfg(not(loom))]
pub mod signal;
#[cfg(not(loom))]
#[doc(hidden)]
pub mod simulated;
#[cfg(not(loom))]
mod source;
#[cfg(not(loom))]
pub mod stdio;
#[doc(hidden)]
pub mod task_turn;
mod timeout;
#[cfg(not(loom))]
mod transfer;

#[cfg(not(loom))]
pub use buffers::{BufferPool, PooledBuffer};
#[cfg(not(loom))]
pub use config::{IoChoices, Poller, UnknownPoller, io_settings};
#[cfg(not(loom))]
#[doc(hidden)]
pub use descriptor::table::stand_in;
#[cfg(not(loom))]
pub use funnel::{Direction, Left};
#[cfg(not(loom))]
pub use source::Source;
pub use timeout::{TimeLimit, Timeout};
