//! Clients on fibres.

use std::sync::Once;

use anyhow::Result;
use fibre_clients::way::Way;

/// How many processors fibres have, one after the other.
const PROCESSORS: [usize; 3] = [1, 2, 4];

/// Installs fibre-libc, once.
pub(crate) fn install() {
    static ONCE: Once = Once::new();
    // SAFETY: no fibre of these tests holds what belongs to its kernel thread over a call that
    // blocks.
    ONCE.call_once(|| unsafe { fibre_libc::install() });
}

/// Runs jobs at once on fibres with each number of processors: as they are, by fibre-libc, and each
/// job within `fibre::blocking`.
pub(crate) fn on_fibres<F>(count: usize, job: F)
where
    F: Fn(usize) -> Result<()> + Send + Sync + Clone + 'static,
{
    install();
    let ways = [Way::Names, Way::Blocking];
    for (processors, way) in PROCESSORS
        .iter()
        .flat_map(|count| ways.map(|way| (*count, way)))
    {
        let job = job.clone();
        let outcome = way.run_all(processors, count, move |number| way.run(|| job(number)));
        outcome
            .unwrap_or_else(|error| panic!("{processors} processors, {}: {error:#}", way.title()));
    }
}
