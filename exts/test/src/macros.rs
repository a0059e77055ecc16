//! What the attribute [`test`](macro@crate::test) makes calls of.

use std::fmt::Debug;

/// What a test may return.
#[diagnostic::on_unimplemented(message = "a test returns nothing, or a `Result<(), E>`")]
pub trait Ends {
    /// Fails the run if the test has failed.
    fn end(self);
}

impl Ends for () {
    fn end(self) {}
}

impl<E: Debug> Ends for Result<(), E> {
    fn end(self) {
        if let Err(error) = self {
            panic!("the test has returned an error: {error:?}");
        }
    }
}
