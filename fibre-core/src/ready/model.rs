//! The parts of ready queues that models look into: what `mod.rs` is in models.

pub mod owner_gate;
