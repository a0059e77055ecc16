//! How criterion is set up, and how members come into its groups.

use super::workers::Workers;
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion};
use std::time::Duration;

/// The members that are compared with each other.
pub(crate) type Group<'a> = BenchmarkGroup<'a, WallTime>;

/// Criterion with times that let all of the benchmarks end in minutes; its own options
/// (`--measurement-time`, `--sample-size`, …) go before.
pub(crate) fn criterion() -> Criterion {
    Criterion::default()
        .without_plots()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .configure_from_args()
}

/// Whether this is a measurement, and not a look at whether everything runs.
pub(super) fn measuring() -> bool {
    let given = |flag: &str| std::env::args().any(|argument| argument == flag);
    given("--bench") && !given("--test")
}

/// Adds a member that consists of one loop in one worker. `body` does so many operations
/// and says how long they took.
pub(crate) fn add(
    group: &mut Group<'_>,
    id: BenchmarkId,
    workers: &Workers,
    body: impl Fn(u64) -> Duration + Copy + Send + 'static,
) {
    group.bench_function(id, |bencher| {
        bencher.iter_custom(|operations| workers.run(move || body(operations)));
    });
}

/// The id of a member without a parameter (""), or with one.
pub(crate) fn member(name: &str, parameter: &str) -> BenchmarkId {
    match parameter {
        "" => BenchmarkId::from_parameter(name),
        _ => BenchmarkId::new(name, parameter),
    }
}
