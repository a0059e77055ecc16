//! What a join returns for a fibre that will never run again.

use std::error::Error;
use std::fmt;

/// The panic payload that a join returns if the fibre's cluster was stopped without waiting for the
/// fibre any longer; see [`Cluster::stop_within`](crate::Cluster::stop_within). The fibre has not
/// panicked: it will never run again, and nothing that it has is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abandoned;

impl fmt::Display for Abandoned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the fibre was left behind by its cluster, which has been stopped")
    }
}

impl Error for Abandoned {}
