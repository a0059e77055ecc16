//! What the programs of the benchmark harness share.
//!
//! The harness itself (`main.rs`) measures other programs: web servers
//! ([`serving`], [`http`]), the load on them ([`load`]) and one program for each
//! runtime ([`peer`]). Everything they have in common lies here, so that a
//! difference between two of them is a difference between their runtimes.
//! [`measure`] holds the clocks all of them read. [`queueing`] has what theory
//! says of locks that many fibres share, and the program that it speaks of.

#![deny(unreachable_pub, unnameable_types)]

pub mod actors;
pub mod events;
pub mod http;
pub mod load;
pub mod peer;
pub mod queueing;
pub mod random;
pub mod serving;
pub mod tasks;

pub use fibre_measure as measure;
