//! What the stack of a fibre says about the code that runs on it, and what the program's symbols
//! say about its thread-locals.
//!
//! * `initialisers`: in debug builds, warns of fibres that wait in initialisers of std's;
//! * `mixups`: in debug builds, warns of thread-locals that fibres have left to each other;
//! * `walk`: from frame to frame;
//! * `symbols`: the program's symbol table.

pub(crate) mod initialisers;
pub(crate) mod mixups;
mod symbols;
mod walk;
