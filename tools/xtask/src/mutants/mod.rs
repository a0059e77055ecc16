//! Mistakes in protocol code, made one at a time, and whether the tests see them: what the lane
//! `mutants` is made of.
//!
//! * [`mutant`]: one mistake, and how all of a file are woven into it.
//! * [`find`]: what could be wrong in a file; [`listed`]: what cargo-mutants would change there.
//! * [`subjects`]: the files, and the tests that should see a mistake in each.
//! * [`scratch`]: a copy of the workspace with the mutants, and the test programs built of it.
//! * [`programs`]: the mutants that each test reaches.
//! * [`trial`]: runs the tests of a mutant.
//! * [`results`]: what came of it, kept from run to run by [`keys`]; [`page`]: the same for people.

pub(crate) mod find;
pub(crate) mod keys;
pub(crate) mod listed;
pub(crate) mod mutant;
pub(crate) mod page;
pub(crate) mod programs;
pub(crate) mod results;
pub(crate) mod scratch;
pub(crate) mod subjects;
pub(crate) mod trial;
