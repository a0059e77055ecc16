//! The functions that users call to begin fibres.
//!
//! * `spawn`: `spawn`, and the builder of a fibre;
//! * `scope`: fibres that borrow;
//! * `activity`: fibres that are run again and again;
//! * `embed`: fibres in memory of the caller's, for the C library.

pub(crate) mod activity;
pub(crate) mod embed;
pub(crate) mod scope;
pub(crate) mod spawn;
