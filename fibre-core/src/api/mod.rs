//! The functions that users call to begin fibres.
//!
//! * `mark`: what the program says for the event trace;
//! * `spawn`: `spawn`, and the builder of a fibre;
//! * `deadline`: what takes a fibre of the runtime's own, to end a wait at a moment;
//! * `compute`: what computes for long, on the cluster for that;
//! * `scope`: fibres that borrow;
//! * `activity`: fibres that are run again and again;
//! * `label`: what a fibre says of itself;
//! * `debugger`: where everything lies, for debuggers, which read memory only;
//! * `embed`: fibres in memory of the caller's, for the C library.

pub(crate) mod activity;
pub(crate) mod compute;
pub(crate) mod deadline;
pub(crate) mod debugger;
pub(crate) mod embed;
pub(crate) mod label;
pub(crate) mod mark;
pub(crate) mod scope;
pub(crate) mod spawn;
