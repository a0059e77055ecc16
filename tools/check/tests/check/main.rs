//! What `fibre-check` says of objects, and what the mapping of names leaves of them.

#[path = "check.rs"]
mod suite_check;
#[path = "mapped.rs"]
mod suite_mapped;
