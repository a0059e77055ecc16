//! The lanes: one file per task, each a fixed list of steps.
//!
//! Titles read `lane: subject`. A lane never passes over a step in silence: what it cannot run is
//! an error, or a note in the summary where the thing to run does not exist yet.

pub(crate) mod arm;
pub(crate) mod audit;
pub(crate) mod bench;
pub(crate) mod browser;
pub(crate) mod c;
pub(crate) mod capi;
pub(crate) mod check;
pub(crate) mod ci;
pub(crate) mod clients;
pub(crate) mod doc;
pub(crate) mod features;
pub(crate) mod gdb;
pub(crate) mod guide;
pub(crate) mod header;
pub(crate) mod hello;
pub(crate) mod instructions;
pub(crate) mod kit;
pub(crate) mod links;
pub(crate) mod loom;
pub(crate) mod minimal;
pub(crate) mod mutants;
pub(crate) mod package;
pub(crate) mod part;
pub(crate) mod policies;
pub(crate) mod pollers;
pub(crate) mod ports;
pub(crate) mod publish;
pub(crate) mod sanitize;
pub(crate) mod semver;
pub(crate) mod stress;
pub(crate) mod test;
pub(crate) mod threads;
pub(crate) mod types;
