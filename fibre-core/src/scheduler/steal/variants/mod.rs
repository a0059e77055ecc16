//! The orders beside the default one, for study: a file for each.
//!
//! * `ring`: the next processor by number;
//! * `random`: any processor;
//! * `nearest`: the nearest one;
//! * `hierarchical`: any one with work in ever larger parts of the machine;
//! * `never`: none.
//!
//! A new one is a file here, its `mod` line, and a row of `config/steal_orders.rs`: all lists of
//! orders are made of that.

pub(super) mod hierarchical;
pub(super) mod nearest;
pub(super) mod never;
pub(super) mod random;
pub(super) mod ring;
