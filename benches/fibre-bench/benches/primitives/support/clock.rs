//! How long loops take, by wall time.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// How long so many operations take.
pub(crate) fn time<T>(operations: u64, mut operation: impl FnMut() -> T) -> Duration {
    let began = Instant::now();
    for _ in 0..operations {
        black_box(operation());
    }
    began.elapsed()
}

/// How long so many operations take if they are done `batch` at a time: the time of whole
/// batches, in proportion.
pub(crate) fn time_batches(operations: u64, batch: u64, operation: impl FnMut()) -> Duration {
    let batches = operations.div_ceil(batch);
    in_proportion(time(batches, operation), operations, batches * batch)
}

/// What `wanted` operations would have taken, when `done` took `elapsed`.
pub(crate) fn in_proportion(elapsed: Duration, wanted: u64, done: u64) -> Duration {
    elapsed.mul_f64(wanted as f64 / done as f64)
}
