//! Input and output on descriptors' numbers.
//!
//! A call that would block its kernel thread blocks its fibre. Whether its descriptor is blocking
//! or not is the program's affair: `O_NONBLOCK` is never changed behind its back, with one
//! exception: listeners, see [`fibre_io::posix::nonblock_emulation`]. [`fibre_io::posix::read`]
//! tells how that is done for each kind of descriptor; `fibre_io::raw`, what becomes of numbers.
//! Signals end no call of a fibre (`EINTR`).
//!
//! On a plain thread each call is the system's own, signals included.
//!
//! Files:
//!
//! * `entry`: how calls come in and go out;
//! * `library`: functions of the C library that block, on a thread of a pool;
//! * `numbers`: closing, duplicating, pipes, flags;
//! * `read`, `write`: reading and writing bytes;
//! * `socket`: making, connecting and accepting sockets;
//! * `receive`: receiving from sockets;
//! * `send`: sending to sockets;
//! * `poll`: `poll` and [`fibre_fd_wait`](poll::fibre_fd_wait);
//! * `select`: `select` and `pselect`;
//! * `event_set`: `epoll_wait` and its kin;
//! * `signals`: `sigwait` and its kin;
//! * `child`: waiting for child processes;
//! * `program`: starting programs;
//! * `file`: what opens files, and what blocks for long;
//! * `storage`: room, the way to the disk, copies inside the kernel, locks of parts;
//! * `queue`: queues and sets of semaphores of System V and POSIX; asynchronous operations;
//! * `terminal`: waiting until a terminal has taken what was written;
//! * `names`: names of hosts;
//! * `databases`: databases of users, groups and services.

pub mod child;
pub mod databases;
pub mod entry;
pub mod event_set;
pub mod file;
pub mod library;
pub mod names;
pub mod numbers;
pub mod poll;
pub mod program;
pub mod queue;
pub mod read;
pub mod receive;
pub mod select;
pub mod send;
pub mod signals;
pub mod socket;
pub mod storage;
pub mod terminal;
pub mod write;
