//! POSIX calls on descriptors' numbers, and the mechanisms behind those without a counterpart in
//! std: for the C library, and for `fibre-libc`.
//!
//! The bodies of blocking calls ([`mod@read`], [`mod@write`], [`mod@poll`] and so on) return
//! results, and run in fibres only. Each library says when they switch ([`switching`]) and how they
//! follow a program's pointers ([`memory`]).
//!
//! * `signal_set`: sets of signals as words, and a thread's mask;
//! * `interrupt`: ending a system call of another thread;
//! * `worker`: threads that make calls in a fibre's place;
//! * `held`: locks of the system that such threads hold for fibres;
//! * `nonblock_emulation`: listeners that are non-blocking without the program's knowledge;
//! * `temporary_fd`: descriptors that a call has for as long as it waits;
//! * `boundary`: where a program's call enters and returns;
//! * `memory`: memory that a program passes;
//! * `syscall`: a system call as the program has made it;
//! * `switching`: when a library's calls let other fibres run;
//! * `vector`: buffers of a call, perhaps with some bytes done;
//! * `flags`: what a call's flags and amounts say;
//! * `rest_errors`: errors that a call leaves to the next one when it has done a part of its work;
//! * `quick`: calls on files that are quick, and so made in place;
//! * `read`, `write`, `receive`, `send`: bytes and messages;
//! * `transfer`: from one descriptor to another;
//! * `poll`, `select`: waiting for several descriptors;
//! * `socket`: making, connecting and accepting sockets;
//! * `numbers`: closing, duplicating, flags;
//! * `child`: waiting for child processes;
//! * `time`: times of clocks;
//! * `attributes`: objects of the C library's that are made by attributes.

pub mod attributes;
pub mod boundary;
pub mod child;
pub mod flags;
pub mod held;
pub mod interrupt;
pub mod memory;
pub mod nonblock_emulation;
pub mod numbers;
pub mod poll;
pub mod quick;
pub mod read;
pub mod receive;
pub mod rest_errors;
pub mod select;
pub mod send;
pub mod signal_set;
pub mod socket;
pub mod switching;
pub mod syscall;
pub mod temporary_fd;
pub mod time;
pub mod transfer;
pub mod vector;
pub mod worker;
pub mod write;
