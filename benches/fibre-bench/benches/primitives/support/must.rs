//! Errors within loops, which have nobody to return them to.

use std::fmt::Debug;

/// The value; an error ends the benchmark with its text.
#[track_caller]
pub(crate) fn must<T, E: Debug>(result: Result<T, E>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("the benchmark fails: {error:?}"),
    }
}
