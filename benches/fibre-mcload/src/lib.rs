//! A load generator for Memcached on fibres: one fibre for each connection, in blocking style.
//!
//! [`Plan`] says what is asked for, and [`Plan::run`] does it: it stores all keys, asks and stores
//! with as many connections and requests under way as was asked for, checks every byte of every
//! answer, and says in a [`Report`] how many there were, how long they took, and what they cost the
//! server. [`Plan::idle`] measures what connections cost that do nothing.
//!
//! Modules, lowest first: [`random`], [`distribution`], [`keys`], [`versions`] and [`values`] (what
//! is stored), [`protocol`] (how that is said), [`storm`] (clients that misbehave), [`plan`],
//! [`tally`] and `clock` (what is counted, when), `work` (what is due when), `shared` (what
//! connections share), `digest` (judging answers), `client` (a connection), [`server`] (its
//! process), [`report`], `run` and `idle`.

#![deny(unreachable_pub, unnameable_types)]

mod client;
mod clock;
mod digest;
pub mod distribution;
mod failure;
pub mod idle;
pub mod keys;
pub mod plan;
pub mod protocol;
pub mod random;
pub mod report;
mod run;
pub mod server;
mod shared;
pub mod storm;
pub mod tally;
pub mod values;
pub mod versions;
mod work;

pub use plan::Plan;
pub use report::Report;
