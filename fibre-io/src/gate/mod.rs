//! Readiness of one direction of a descriptor, and the fibres that wait for it.
//!
//! * `word`: the one word of a gate;
//! * `single`: waiting at one gate;
//! * `several`: waiting at several gates at once.

pub mod several;
pub mod single;
pub mod word;
