//! Random use of everything that one can wait on: every pair of waiting, waking, giving up at a
//! deadline and being cancelled; in fibres of two clusters and in plain threads at once; with
//! 1, 2, 4 and 16 processors each; and with fibres that stay, move, or move at every turn.
//!
//! * A [`subject`] is one kind of object: what one does to it, in any manner of waiting, and what
//!   must hold in the end.
//! * A [`round`] lets actors take a number of turns at one object, while some of them are
//!   cancelled. The turns of all roles are balanced, so that nobody waits for ever unless
//!   a wake was lost; a round that stands still fails, and tells who waits for what. Whoever
//!   gives up must have a reason.
//! * A [`course`] takes a table of subjects through all numbers of processors, once, and again
//!   as long as `FIBRE_STRESS_SECONDS` allows (default: 2, for all tests together).
//!
//! All choices follow from the printed seed, which `FIBRE_SEED` takes back; interleavings do not.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod barriers;
mod channels;
mod circulating;
mod condvars;
mod course;
mod events;
mod groups;
mod ledger;
mod locks;
mod onces;
mod oneshots;
mod passing;
mod raws;
mod round;
mod rw_locks;
mod selections;
mod semaphores;
mod subject;
