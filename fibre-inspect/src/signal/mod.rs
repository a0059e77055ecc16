//! Signals that ask for something, and the fault that ends the process.
//!
//! * `call`: a signal that a thread of the process answers;
//! * `overflow`: the fault of a fibre that has used up its stack;
//! * `quit`: SIGQUIT, and the thread that answers it, and the readers of the process's page.

pub(crate) mod call;
pub(crate) mod overflow;
pub(crate) mod quit;
