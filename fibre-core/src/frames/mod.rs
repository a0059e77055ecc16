//! What the stack of a fibre says about the code that runs on it.
//!
//! * `initialisers`: in debug builds, a warning about initialisers of std's in which a fibre waits;
//! * `panic_hook`: whether a fibre waits in the panic hook;
//! * `unwinding`: whether a panic could come as far as a frame;
//! * `walk`: from frame to frame;
//! * `symbols`: the program's table of symbols.

pub(crate) mod initialisers;
pub(crate) mod panic_hook;
mod symbols;
pub(crate) mod unwinding;
mod walk;
