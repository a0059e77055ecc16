//! Programs over tasks, as the paper on Eve measures them: [`fib`], and servers: one echoes, and
//! one counts ([`served`]).
//!
//! The paper prints neither the size of its `fib` nor how its client is made. `fib` has a grain
//! here: below that it is computed without tasks. The client of the servers is one for all: fibres
//! in a cluster of their own, in the server's process.

pub mod fib;
pub mod served;
