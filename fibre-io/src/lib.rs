//! Blocking-style sockets, pipes, files, signals and child processes for fibres.
//!
//! A call that would block the kernel thread blocks the fibre instead. All I/O goes
//! through one funnel, [`Source::io`]: try the system call; if it would block,
//! make sure the descriptor is registered with the poller's epoll instance
//! (lazily, once, edge-triggered), wait at the gate of that direction, try again.
//! Called on a thread that is no fibre, the same functions block the thread.
//!
//! Modules, lowest first:
//!
//! | module | what it is |
//! |---|---|
//! | `patience` | how long a call may wait |
//! | `gate_word`, `gate` | readiness of one direction, and who waits for it |
//! | `gates` | waiting for several of them |
//! | `epoll` | one epoll instance, as the kernel has it |
//! | `ownership`, `users`, `known` | who has a descriptor's number, who uses it, what is known of it |
//! | `table` | one slot per descriptor, found by its number |
//! | `choices` | what is chosen per cluster |
//! | `duty`, `shift`, `calls` | who polls: the words of three pollers |
//! | `poller` | who waits in the kernel for descriptors |
//! | `source` | a descriptor with its slot; the funnel |
//! | `backoff` | what accepting does when descriptors run out |
//! | `transfer` | what every call that moves bytes has to work out |
//! | `readiness`, `poll` | waiting for several descriptors |
//! | `pollable` | any descriptor that can be waited for |
//! | `raw` | descriptors by their numbers, as C programs have them |
//! | `copy` | from one to another inside the kernel |
//! | `net` | TCP, UDP and Unix sockets, after std's |
//! | `pipe` | pipes, after `std::io::pipe` |
//! | `fs` | files, after `std::fs` |
//! | `seen` | how much one has seen of what comes again and again |
//! | `stdio` | standard input, output and error, after `std::io` |
//! | `signal`, `process` | signals as values; child processes |

#[cfg(not(loom))]
mod backoff;
#[cfg(not(loom))]
mod buffers;
pub mod calls;
#[cfg(not(loom))]
mod choices;
#[cfg(not(loom))]
pub mod copy;
pub mod duty;
#[cfg(not(loom))]
mod epoll;
#[cfg(not(loom))]
pub mod fs;
#[cfg(not(loom))]
mod gate;
#[cfg(loom)]
pub mod gate;
pub mod gate_word;
#[cfg(not(loom))]
mod gates;
#[cfg(loom)]
pub mod gates;
#[cfg(not(loom))]
mod known;
#[cfg(not(loom))]
pub mod net;
pub mod ownership;
mod patience;
#[cfg(not(loom))]
pub mod pipe;
#[cfg(not(loom))]
pub mod poll;
#[cfg(not(loom))]
pub mod pollable;
#[cfg(not(loom))]
mod poller;
#[cfg(not(loom))]
pub mod process;
#[cfg(not(loom))]
pub mod raw;
#[cfg(not(loom))]
mod readiness;
#[cfg(not(loom))]
mod retry;
pub mod seen;
pub mod shift;
#[cfg(not(loom))]
pub mod signal;
#[cfg(not(loom))]
mod source;
#[cfg(not(loom))]
pub mod stdio;
#[cfg(not(loom))]
mod table;
#[cfg(not(loom))]
mod transfer;
pub mod users;

#[cfg(not(loom))]
pub use buffers::{BufferPool, PooledBuffer};
#[cfg(not(loom))]
pub use choices::{IoChoices, Poller, UnknownPoller};
#[cfg(not(loom))]
pub use gate_word::Snapshot;
pub use patience::{Patience, TimeLimit};
#[cfg(not(loom))]
pub use source::{Direction, Left, Source};
