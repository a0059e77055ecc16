//! Running C programs with the system's threads and with ours: what the lane `c` is made of.
//!
//! Each file below `fibre-capi/tests` is a *program* that shows one clause of POSIX. It is compiled
//! once for each *library*, the system's and ours by way of `fibre_pthread.h`, and run in each
//! *setting*: with the system's, and with ours on several numbers of processors.
//!
//! * [`program`]: what a file says of itself.
//! * [`trial`]: compiles and runs a program, and tells how that ended.
//! * [`queue`]: does all of them, several at a time.
//! * [`mutants`]: shows that a program can fail.
//! * [`table`]: the results, as a page.

pub(crate) mod mutants;
pub(crate) mod program;
pub(crate) mod queue;
pub(crate) mod table;
pub(crate) mod trial;
