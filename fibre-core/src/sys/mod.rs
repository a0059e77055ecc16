//! What lies below fibres: kernel threads, the process, and messages on standard error.
//!
//! * `platform`: a sentence where the runtime does not run;
//! * `current`: the only thread-locals; which processor this thread is;
//! * `numbers`: numbers of fibres and threads, none of which is given twice;
//! * `signal_mask`: the signals that a thread blocks;
//! * `fork`: the runtime is dead in a forked child, and says so;
//! * `stderr`: one line on standard error;
//! * `unwind_guard`: destructors that panic while a panic unwinds.

pub mod current;
pub mod fork;
pub mod numbers;
mod platform;
pub mod signal_mask;
pub mod stderr;
pub mod unwind_guard;
