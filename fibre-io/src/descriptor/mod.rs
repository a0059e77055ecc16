//! Descriptors by their numbers.
//!
//! * `owner`: the number's present owner, by generation;
//! * `use_count`: how many calls use the number;
//! * `duplicates`: whether a registration may outlive the descriptor;
//! * `flags`: what is known of the descriptor;
//! * `table`: one slot for each number.

#[cfg(not(loom))]
pub(crate) mod duplicates;
#[cfg(not(loom))]
pub mod flags;
pub mod owner;
#[cfg(not(loom))]
pub mod table;
pub mod use_count;
