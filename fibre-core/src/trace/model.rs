//! The parts of the event trace that models look into: what `mod.rs` is in models.

pub mod ring;
