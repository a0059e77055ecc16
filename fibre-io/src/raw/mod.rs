//! Descriptors by their numbers, as C programs have them: without an object that owns them, opened and closed by
//! anybody, blocking or not as their program wants.
//!
//! A number gets a slot of the table, like an object's descriptor: when a call of ours *makes* the descriptor
//! ([`made`]), or when a call first uses one that it *finds*. What was made is trusted until it is
//! [closed](close()) here. What was found may be closed by others unseen, and another descriptor have the number;
//! so the kernel is asked, each time before somebody waits, whether it is registered still, which costs a system call.
//!
//! | | |
//! |---|---|
//! | [`Call`] | the funnel: a call that does not wait, made to wait |
//! | [`wait`] | waiting for one descriptor, to be read and written by whoever likes |
//! | [`poll`] | waiting for several |
//! | [`made`], [`close`], [`renewed`] | what becomes of numbers |
//! | [`patiently`] | a call that may block its thread for as long as it likes |
//!
//! Nothing here changes how others see a descriptor, but for [`Known::HIDDEN`], which the caller answers for.
//!
//! Calls know of the same gates as objects do. So they wait only if it is known that they have to; and after a
//! stream's short read that is known without asking ([`Known::DRAINS`]). Readiness stays noted until a call of ours
//! has found that there is none. If the program reads by calls of its own, nobody notes what they find, and a
//! wait asks the kernel first (`poll(2)`): so it tells what is the case, however descriptors are used.

use crate::fs::PATIENT;

mod call;
mod failure;
mod number;
mod one;
mod several;

pub use crate::known::Known;
pub use crate::source::{Direction, Left};
pub use call::{Call, Wish};
pub use failure::Failure;
pub use number::{
    add_known, close, find, is_file, known, known_as, made, remove_known, renewed, try_again,
};
pub use one::{look, wait};
pub use several::poll;

/// Makes a call that waits for what others do, as long as that takes, on a thread of its own. Blocks the fibre, whose cancellation
/// does not end it; on a thread that is no fibre, just makes the call.
///
/// ```
/// let fibre = fibre_core::spawn(|| fibre_io::raw::patiently(|| 7));
/// assert_eq!(fibre.join().unwrap(), 7);
/// ```
///
/// # Panics
///
/// With the panic of `call`.
pub fn patiently<R: Send>(call: impl FnOnce() -> R + Send) -> R {
    PATIENT.run(call)
}
