//! Counting instructions: what the gate against slow growth is made of.
//!
//! Time cannot tell a change of two per cent from noise; the number of instructions can. A *path*
//! is one thing done over and over by a program of fibre-bench: a yield, a spawn, a read.
//! Its *count* is what one operation executes, in all and by function, and the *kept* count is what
//! it was when the file was last written. Why it is done in this way: docs/decisions/0007.
//!
//! * [`counts`]: a count, and what has changed between two.
//! * [`profile`]: from what valgrind writes to a count.
//! * [`counter`]: runs a path under valgrind.
//! * [`setting`]: what counts depend on besides our sources.
//! * [`kept`]: the file.
//! * [`verdict`]: what is allowed, and what is said when it is exceeded.

pub(crate) mod counter;
pub(crate) mod counts;
pub(crate) mod kept;
pub(crate) mod profile;
pub(crate) mod setting;
pub(crate) mod verdict;
