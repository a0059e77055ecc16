//! Input and output on descriptors' numbers.
//!
//! A call that would block its kernel thread blocks its fibre. Whether its descriptor is blocking
//! or not is the program's affair: `O_NONBLOCK` is never changed behind its back, with one
//! exception: listeners, see [`fibre_io::posix::nonblock_emulation`]. `read` tells how that is
//! done for each kind of descriptor; `fibre_io::raw`, what becomes of numbers. Signals end no call
//! of a fibre (`EINTR`).
//!
//! On a plain thread each call is the system's own, signals included.
//!
//! Files:
//!
//! * `entry`: how calls come in and go out;
//! * `flags`: what flags, amounts and times of a call say;
//! * `vector`: buffers of a call, of which some bytes may be done;
//! * `rest_errors`: errors that a call leaves to the next one when it has done a part of its work;
//! * `syscall`: a system call as the program has made it;
//! * `library`: functions of the C library that block, on a thread of a pool;
//! * `numbers`: closing, duplicating, pipes, flags;
//! * `write`: writing bytes;
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

mod child;
mod databases;
mod entry;
mod event_set;
mod file;
mod flags;
mod library;
mod names;
mod numbers;
mod poll;
mod program;
mod queue;
mod read;
mod receive;
mod rest_errors;
mod select;
mod send;
mod signals;
mod socket;
mod storage;
mod syscall;
mod terminal;
mod vector;
mod write;
