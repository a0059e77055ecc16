//! The five curves: what theory says of each number of threads, and what was measured.

use fibre_bench::queueing::simulation::{Loops, Simulation};
use fibre_bench::queueing::virtual_cores::Setting;
use fibre_bench::queueing::{Program, mva, probabilistic};
use fibre_measure::Series;

use crate::plan;

/// Iterations of each simulation. The standard deviation of its result is then below 0.2 %.
const SIMULATED: usize = 400_000;

/// What theory says of one number of threads: utilisation, in cores.
#[derive(Debug, Clone, Copy)]
pub(super) struct Theory {
    pub(super) threads: usize,
    /// The utilisation by the probabilistic model.
    pub(super) probabilistic: f64,
    /// The utilisation by mean value analysis.
    pub(super) mva: f64,
    /// The utilisation by a simulation of loops with exponentially distributed lengths.
    pub(super) exponential: f64,
    /// The utilisation by a simulation of loops that are all of the same length.
    pub(super) constant: f64,
}

/// All curves of one program.
pub(super) struct Curves {
    pub(super) program: Program,
    pub(super) points: Vec<Point>,
}

/// One number of threads.
pub(super) struct Point {
    pub(super) theory: Theory,
    /// The utilisation that was measured, in cores.
    pub(super) measured: Series,
}

impl Theory {
    /// What theory says of each of these numbers of threads.
    pub(super) fn of(program: &Program, seed: u64, threads: &[usize]) -> Vec<Self> {
        let bar = plan::progress(threads.len());
        bar.set_message("simulations");
        let one = |&threads: &usize| {
            let simulated = |loops| {
                let simulation = Simulation::of(loops, SIMULATED, seed);
                simulation.utilisation(program, threads)
            };
            bar.inc(1);
            Self {
                threads,
                probabilistic: probabilistic::utilisation(program, threads),
                mva: mva::utilisation(program, threads),
                exponential: simulated(Loops::Exponential),
                constant: simulated(Loops::Constant),
            }
        };
        let theory = threads.iter().map(one).collect();
        bar.finish_and_clear();
        theory
    }
}

impl Curves {
    /// Curves with nothing measured yet.
    pub(super) fn new(program: Program, theory: Vec<Theory>) -> Self {
        let point = |theory| Point {
            theory,
            measured: Series::default(),
        };
        Self {
            program,
            points: theory.into_iter().map(point).collect(),
        }
    }

    /// Measures every number of threads.
    pub(super) fn measure(&mut self, setting: &Setting, times: Times) -> anyhow::Result<()> {
        let threads = self.points.iter().map(|point| point.theory.threads);
        let threads: Vec<usize> = threads.collect();
        let measured = measure(&self.program, setting, &threads, times)?;
        for (point, measured) in self.points.iter_mut().zip(measured) {
            point.measured = measured;
        }
        Ok(())
    }
}

/// How often each number of threads is measured.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    /// Measurements of each.
    pub(super) repetitions: usize,
    /// Fibres that sleep side by side, at most.
    pub(super) together: usize,
}

/// The utilisation by each of these numbers of threads, measured several times side by side.
pub(super) fn measure(
    program: &Program,
    setting: &Setting,
    threads: &[usize],
    times: Times,
) -> anyhow::Result<Vec<Series>> {
    let repeated = threads
        .iter()
        .flat_map(|&threads| std::iter::repeat_n(threads, times.repetitions));
    let repeated: Vec<usize> = repeated.collect();
    let groups = groups(&repeated, times.together);
    let bar = plan::progress(groups.len());
    bar.set_message("fibres");
    let mut measured = Vec::with_capacity(repeated.len());
    for (group, seed) in groups.into_iter().zip(setting.seed..) {
        let setting = Setting { seed, ..*setting };
        measured.extend(setting.utilisations(program, group)?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    let series = measured.chunks(times.repetitions);
    Ok(series
        .map(|readings| readings.iter().copied().collect())
        .collect())
}

/// Neighbours that have at most `most` fibres together, or are one number alone.
fn groups(threads: &[usize], most: usize) -> Vec<&[usize]> {
    let mut groups = Vec::new();
    let mut rest = threads;
    while !rest.is_empty() {
        let sums = rest.iter().scan(0, |sum, threads| {
            *sum += threads;
            Some(*sum)
        });
        let fit = sums.take_while(|&sum| sum <= most).count().max(1);
        let (group, others) = rest.split_at(fit);
        groups.push(group);
        rest = others;
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_as_large_as_they_may_be() {
        assert_eq!(
            groups(&[1, 2, 3, 4, 9, 8], 8),
            [&[1, 2, 3][..], &[4], &[9], &[8]]
        );
        assert_eq!(groups(&[4, 4, 1], 8), [&[4, 4][..], &[1]]);
        assert!(groups(&[], 8).is_empty());
    }
}
