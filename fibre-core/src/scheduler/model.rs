//! The parts of what processors share that models look into: what `mod.rs` is in models.

pub mod control;
pub mod queue_counts;
