//! What the stack of a fibre says about the code that runs on it.
//!
//! * `initialisers`: in debug builds, a warning about fibres that wait in initialisers of std's;
//! * `walk`: from frame to frame;
//! * `symbols`: the program's table of symbols.

pub(crate) mod initialisers;
mod symbols;
mod walk;
