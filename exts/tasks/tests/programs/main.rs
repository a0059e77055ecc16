//! Programs over tasks: the examples, as they run, and such that do not compile.

mod compile_fail;
mod examples;
