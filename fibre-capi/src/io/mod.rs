//! Input and output on descriptors' numbers.
//!
//! A call that would block its kernel thread blocks its fibre, whether its descriptor is blocking or not is the
//! program's affair: `O_NONBLOCK` is never changed behind its back, with one exception (listeners, see `hidden`). How that is done
//! for each kind of descriptor is told in `read`; what becomes of numbers, in `fibre_io::raw`. Signals end no call of a
//! fibre (`EINTR`).
//!
//! On a plain thread each call is the system's own, signals included.

mod child;
mod entries;
mod entry;
mod event_set;
mod file;
mod hidden;
mod library;
mod names;
mod numbers;
mod plain;
mod poll;
mod program;
mod queue;
mod read;
mod receive;
mod rest;
mod select;
mod send;
mod signals;
mod socket;
mod storage;
mod system;
mod terminal;
mod terms;
mod vector;
mod write;
