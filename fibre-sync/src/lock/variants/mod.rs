//! The locks beside the default one, for study: a file for each.
//!
//! * `settled`: the default one, but its unlock never switches to another fibre;
//! * `barging`: blocks, and frees;
//! * `spin_then_block`: tries for a moment, blocks, and frees;
//! * `baton`: blocks, and hands over;
//! * `exchange`: blocks, and hands over the processor as well.
//!
//! A new one is a file with its `policy!`, and its lines here; CONTRIBUTING.md lists the tests, the
//! benchmark and the pages that name each lock. [`Spinning`](super::Spinning) is not
//! among them, as it has no list, and shares its spin with the others.

mod barging;
mod baton;
mod exchange;
mod settled;
mod spin_then_block;

pub use barging::Barging;
pub use baton::Baton;
pub use exchange::Exchange;
pub use settled::Settled;
pub use spin_then_block::SpinThenBlock;
