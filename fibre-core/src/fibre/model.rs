//! The parts of a fibre that models look into: what `mod.rs` is in models.

pub mod activity_word;
pub mod state;
