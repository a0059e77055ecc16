//! `--check`: whether what fibres do lies where theory has it.
//!
//! Constant loops wait less than exponential ones, so mean value analysis is a lower bound and the
//! simulation of constant loops an upper one. Below the lower bound, timers, wake-ups or locks cost
//! more than they should; above the upper one, two fibres had the same lock. Other load on the
//! machine delays wake-ups, and a delay can only lower a figure, so what lies outside is measured
//! again, without those that lie within, and the attempt that lies within counts. A figure is the
//! median of the repetitions of one attempt.

use std::process::ExitCode;

use fibre_bench::queueing::Program;
use fibre_bench::queueing::virtual_cores::Setting;
use fibre_measure::format;

use super::curves::{self, Theory, Times};

/// How far below mean value analysis a figure may lie, as a share.
const LOWEST: f64 = 0.95;
/// How far above the simulation of constant loops a figure may lie: measurements and simulations
/// are of finite length.
const HIGHEST: f64 = 1.03;
/// How many times a number of threads is measured, at most.
const ATTEMPTS: usize = 3;

/// Where the utilisation has to lie, in cores.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Band {
    lowest: f64,
    highest: f64,
}

impl Band {
    /// The band around one number of threads.
    fn of(theory: &Theory) -> Self {
        Self {
            lowest: LOWEST * theory.mva,
            highest: HIGHEST * theory.constant,
        }
    }

    /// Whether a figure lies in it.
    fn has(self, figure: f64) -> bool {
        (self.lowest..=self.highest).contains(&figure)
    }
}

/// Measures, prints what was measured, and fails unless all of it lies in its band.
pub(super) fn run(
    program: &Program,
    setting: &Setting,
    threads: &[usize],
    times: Times,
) -> anyhow::Result<ExitCode> {
    let mut left = Theory::of(program, setting.seed, threads);
    let header = ["threads", "attempt", "lowest", "measured", "highest", ""];
    let mut table = format::table(&header, 0);
    for attempt in 1..=ATTEMPTS {
        let threads: Vec<usize> = left.iter().map(|theory| theory.threads).collect();
        let figures = curves::measure(program, setting, &threads, times)?;
        let mut outside = Vec::new();
        for (theory, figure) in left.into_iter().zip(figures) {
            let (band, figure) = (Band::of(&theory), figure.median());
            let verdict = if band.has(figure) { "" } else { "outside" };
            table.add_row([
                theory.threads.to_string(),
                attempt.to_string(),
                format!("{:.3}", band.lowest),
                format!("{figure:.3}"),
                format!("{:.3}", band.highest),
                verdict.into(),
            ]);
            if !band.has(figure) {
                outside.push(theory);
            }
        }
        left = outside;
        if left.is_empty() {
            break;
        }
    }
    println!("{table}");
    Ok(conclude(&left))
}

/// Says which numbers of threads never lay in their bands.
fn conclude(outside: &[Theory]) -> ExitCode {
    for theory in outside {
        eprintln!(
            "fault: {} threads were outside of their band at each of {ATTEMPTS} attempts",
            theory.threads
        );
    }
    match outside {
        [] => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_band_reaches_from_below_mva_to_above_constant_loops() {
        let theory = Theory {
            threads: 8,
            probabilistic: 7.2,
            mva: 7.0,
            exponential: 7.0,
            constant: 8.0,
        };
        let band = Band::of(&theory);
        assert!(band.has(6.66) && band.has(7.0) && band.has(8.23));
        assert!(!band.has(6.64) && !band.has(8.25) && !band.has(f64::NAN));
    }
}
