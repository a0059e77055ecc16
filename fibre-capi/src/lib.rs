//! The C library: what `libfibre-rt.so`, `libfibre-rt.a` and `fibre.h` are made of.
//!
//! Each C function is a line or two over a call of the crates below: `pthread_X` is `fibre_X`,
//! `sem_X` is `fibre_sem_X`, and a call `x` of the C library is `fibre_x`, with the signatures,
//! return values and error numbers of POSIX. Objects are no larger than those of the system's C
//! library, and all zeros is their initial state, so a program keeps declaring these.
//!
//! Modules, lowest first; each imports only from those above it in this list:
//!
//! | module | what it is |
//! |---|---|
//! | `arch` | what C fibres ask of the CPU by instruction |
//! | `errno` | the error number of the calling fibre |
//! | `self_signal` | signals that a fibre sends to itself |
//! | `reserve` | memory for when there is none |
//! | `init` | the cluster that C programs run in, made when first needed |
//! | `environment` | what a thread has that a fibre may have of its own |
//! | `record` | handles, and what lies behind them |
//! | `memory` | what a program points to, asked for before it is touched |
//! | `exit` | ending a fibre from deep inside |
//! | `boundary` | what each call does on its way in and out: keeps errno, lets no panic into C |
//! | `delivery` | signals that a fibre lets in, and no thread does |
//! | `main_thread` | what the first fibre wants of the thread that the process began with |
//! | `cancel`, `key`, `sigmask`, `signal`, `bsd_signal` | what programs call: cancelling, values by key, signal masks, signals and forks; masks as they were before POSIX |
//! | `cluster`, `attr` | clusters, and what new fibres are to be like |
//! | `sync`, `time` | objects that fibres wait on; clocks and sleeping |
//! | `dump` | what all fibres do, for whoever looks for a fault |
//! | `metrics` | what the processors have done so far |
//! | `trace` | what they did, event by event |
//! | `label` | what a fibre says of itself |
//! | `float`, `locale` | floating-point environments and locales of fibres |
//! | `attr_stack` | fibres that run on memory of the program's |
//! | `thread`, `join`, `attributes_of` | creating fibres, waiting for their ends, knowing of them |
//! | `io` | input and output on descriptors' numbers |
//! | `main_fibre` | `main` as the first fibre |
//!
//! # What is unsafe about it
//!
//! C promises what Rust would check. Every function requires of its caller what POSIX does:
//! pointers are valid and aligned, objects are initialised, stay where they are and outlive the
//! calls on them. What POSIX leaves undefined and can be noticed cheaply (handles of fibres that
//! are gone, destroyed objects) is answered by an error number.
//!
//! Fibres of these programs move between kernel threads once they have started, so nothing here may
//! keep what belongs to a kernel thread across a call that may block.

#![cfg_attr(not(test), deny(unreachable_pub, unnameable_types))]
#![allow(
    non_camel_case_types,
    reason = "these are the names that C programs use"
)]
#![allow(
    clippy::missing_safety_doc,
    reason = "the same for all functions; see above"
)]
#![allow(
    clippy::not_unsafe_ptr_arg_deref,
    reason = "who may call what is said in C; see above"
)]

mod arch;
pub mod attr;
pub mod attr_stack;
pub mod attributes_of;
pub mod boundary;
pub mod bsd_signal;
pub mod cancel;
pub mod cluster;
pub mod delivery;
pub mod dump;
pub mod environment;
pub mod errno;
pub mod exit;
pub mod float;
pub mod init;
pub mod io;
pub mod join;
pub mod key;
pub mod label;
pub mod locale;
pub mod main_fibre;
pub mod main_thread;
pub mod memory;
pub mod metrics;
pub mod record;
pub mod reserve;
pub mod self_signal;
pub mod sigmask;
pub mod signal;
pub mod sync;
pub mod thread;
pub mod time;
pub mod trace;
