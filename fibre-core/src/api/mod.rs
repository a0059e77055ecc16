//! The functions that start fibres.
//!
//! * `mark`: what the program says for the event trace;
//! * `spawn`: `spawn`, and the builder of a fibre;
//! * `deadline`: fibres of the runtime's own, which end a wait at a moment;
//! * `compute`: long computations, on the compute cluster;
//! * `scope`: fibres that borrow;
//! * `activity`: fibres that are run again and again;
//! * `label`: what a fibre says of itself;
//! * `debugger`: where everything lies, for debuggers, which read memory only;
//! * `embed`: fibres in the caller's memory, for the C library.

pub(crate) mod activity;
pub(crate) mod compute;
pub(crate) mod deadline;
pub(crate) mod debugger;
pub(crate) mod embed;
pub(crate) mod label;
pub(crate) mod mark;
pub(crate) mod scope;
pub(crate) mod spawn;
