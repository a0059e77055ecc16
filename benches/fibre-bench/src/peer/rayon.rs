//! rayon: work that divides itself, on kernel threads that steal from each other.

use ::rayon::{ThreadPoolBuilder, join};

use super::protocol::Workload;
use super::tasks::{ToldFib, repeat_fib};
use super::workloads::unit;
use crate::measure::Sample;
use crate::tasks::fib::{Fib, plain};

/// What this peer is measured with.
pub fn workloads() -> Vec<Workload> {
    vec![
        Workload::new("fib", fib),
        Workload::new("work", unit::plain),
    ]
}

/// Runs `fib` in a pool.
fn fib(told: ToldFib) -> anyhow::Result<Sample> {
    let pool = ThreadPoolBuilder::new()
        .num_threads(told.processors)
        .build()?;
    repeat_fib(&told, |fib| Ok(pool.install(|| compute(fib))))
}

/// The number.
fn compute(fib: Fib) -> u64 {
    if fib.is_fine() {
        return plain(fib.n);
    }
    let (one, other) = fib.halves();
    let (a, b) = join(|| compute(one), || compute(other));
    a + b
}
