//! Selections: waiting for one of several things.
//!
//! The macro [`select!`](crate::select) takes arms of any kind: each is an [`Arm`], which states
//! their contract. [`any()`] is for a number of arms that is known only at run time.
//!
//! Files:
//!
//! * `case`: an arm in a selection, with its outcome;
//! * `order`: which arm is tried first;
//! * `choose`: how a selection tries its arms, waits, and learns which one it was;
//! * `list_arm`: arms of objects that are a wait list under a short lock;
//! * `watchers`: arms for objects of other crates;
//! * `any`: as many arms as there are;
//! * `macros`: `select!`, written like a `match`.

mod any;
mod case;
mod choose;
mod list_arm;
mod macros;
mod order;
mod watchers;

pub use any::{any, any_timeout, any_within, try_any};
pub use fibre_core::{Arm, Entered, Left, Map};
pub use watchers::{WatchArm, Watchers};

pub(crate) use choose::{choose_among, choose_within};
pub(crate) use list_arm::{ListArm, Listed, list_arm};

/// The parts of the macro [`select!`](crate::select).
#[doc(hidden)]
pub mod parts {
    pub use super::case::{Candidate, Case};
    pub use super::choose::{Chosen, Standing, choose};
    pub use super::macros::{SelectLimit, within};
    pub use super::order::{Order, ask_directors};
    pub use fibre_core::Limit;
}
