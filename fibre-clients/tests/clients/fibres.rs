//! Clients on fibres.

use anyhow::Result;
use fibre_clients::way::Way;

/// How many processors fibres have, one after the other.
const PROCESSORS: [usize; 3] = [1, 2, 4];

/// Runs jobs at once on fibres with each number of processors, each job within `fibre::blocking`.
pub(crate) fn on_fibres<F>(count: usize, job: F)
where
    F: Fn(usize) -> Result<()> + Send + Sync + Clone + 'static,
{
    for processors in PROCESSORS {
        let job = job.clone();
        let way = Way::Blocking;
        let outcome = way.run_all(processors, count, move |number| way.run(|| job(number)));
        outcome.unwrap_or_else(|error| panic!("{processors} processors: {error:#}"));
    }
}
