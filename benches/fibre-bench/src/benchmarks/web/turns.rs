//! Repetitions of all servers, which take turns.

use crate::plan::{self, Run};
use crate::servers::ServerProgram;
use fibre_measure::Series;

/// A server and what was read, a series for each kind of reading.
pub(super) struct Row<const N: usize> {
    pub(super) server: String,
    pub(super) readings: [Series; N],
}

/// Measures each of these servers that is wanted so many times. A server that fails is a
/// fault and gets no further turn; one that cannot do its duty (`None`) has no
/// row.
pub(super) fn take<const N: usize>(
    run: &mut Run,
    (what, servers): (&str, &[ServerProgram]),
    repetitions: usize,
    measure: impl Fn(&Run, &ServerProgram) -> anyhow::Result<Option<[f64; N]>>,
) -> Vec<Row<N>> {
    let wanted = servers.iter().filter(|server| run.plan.wants(&server.name));
    let mut rows: Vec<(ServerProgram, Row<N>)> = wanted
        .map(|server| (server.clone(), Row::new(server)))
        .collect();
    let bar = plan::progress(repetitions * rows.len());
    for _ in 0..repetitions {
        rows.retain_mut(|(server, row)| {
            bar.set_message(format!("{what}: {}", server.name));
            bar.inc(1);
            match measure(run, server) {
                Ok(Some(readings)) => row.push(readings),
                Ok(None) => return false,
                Err(error) => {
                    run.report
                        .fault(format!("{what}, {}: {error:#}", server.name));
                    return false;
                }
            }
            true
        });
    }
    bar.finish_and_clear();
    rows.into_iter().map(|(_, row)| row).collect()
}

impl<const N: usize> Row<N> {
    /// A row without readings.
    fn new(server: &ServerProgram) -> Self {
        Self {
            server: server.name.clone(),
            readings: std::array::from_fn(|_| Series::default()),
        }
    }

    /// Adds a repetition.
    fn push(&mut self, readings: [f64; N]) {
        for (series, reading) in self.readings.iter_mut().zip(readings) {
            series.push(reading);
        }
    }
}
