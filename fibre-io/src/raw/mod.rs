//! Descriptors by their numbers, as C programs have them: no object owns them, any code opens and
//! closes them, and their program decides whether they block.
//!
//! A number gets a slot of the table, like an object's descriptor, when a call of this runtime
//! *makes* the descriptor ([`made`]), or when a call first uses one that it *finds*. A descriptor
//! that was made is trusted until it is [closed](close()) here. Other code may close a found one
//! unseen, and another descriptor may get the number. So before each wait the call asks the kernel
//! whether it is still registered, which costs a system call.
//!
//! | | |
//! |---|---|
//! | [`Call`] | the funnel: makes a non-blocking call wait |
//! | [`wait`] | waiting for one descriptor, to be read and written by whoever likes |
//! | [`poll`] | waiting for several |
//! | [`made`], [`close`], [`renewed`] | making and closing numbers |
//! | [`patiently`] | a call that may block its thread for as long as it likes |
//!
//! Nothing here changes how other code sees a descriptor, except for [`Known::HIDDEN`]; the caller
//! is responsible for that.
//!
//! Calls use the same gates as objects do. So they wait only if the gate knows that they must, and
//! after a stream's short read it knows that without asking ([`Known::DRAINS`]). Readiness stays
//! recorded until a call of this runtime finds none. If the program reads with calls of its own,
//! their outcome is not recorded, and a wait asks the kernel first (`poll(2)`). So a wait reports
//! the present state, however descriptors are used.
//!
//! Files:
//!
//! * `number`: a number and its slot;
//! * `call`: the funnel: makes a non-blocking call wait;
//! * `one`: waiting for one descriptor;
//! * `several`: waiting for several, even if some are closed meanwhile;
//! * `failure`: why a call has failed.

use crate::fs::PATIENT;

mod call;
mod failure;
mod number;
mod one;
mod several;

pub use crate::descriptor::flags::Known;
pub use crate::descriptor::table::NUMBERS;
pub use crate::funnel::{Direction, Left};
pub use crate::poll::shut_down::is_shut_down;
pub use call::{Call, Wish};
pub use failure::Failure;
pub use number::{
    add_known, close, find, is_file, known, known_as, made, remove_known, renewed, try_again,
};
pub use one::{look, wait};
pub use several::poll;

/// Makes a call that may wait for other programs for as long as it takes, on a thread of its own.
/// Blocks the fibre; cancellation does not end it. Outside a fibre, just makes the call.
///
/// ```
/// let fibre = fibre::spawn(|| fibre::io::raw::patiently(|| 7));
/// assert_eq!(fibre.join().unwrap(), 7);
/// ```
///
/// # Panics
///
/// With the panic of `call`.
pub fn patiently<R: Send>(call: impl FnOnce() -> R + Send) -> R {
    PATIENT.run(call)
}
