//! The probabilistic model: Amdahl's law with critical sections.
//!
//! Two threads contend if both are in their critical section and chose the same lock. The
//! probability of that is P_cs · P_ctn, with P_cs = t_cs / (t_cs + t_ncs) and P_ctn = 1 / L. That
//! share of the critical sections runs one after the other, and the rest in parallel. The model has
//! two estimates of the time per iteration, and the longer one counts: see [`Times`].
//!
//! Source: thesis, section 6.1, after Eyerman and Eeckhout, *Modeling Critical Sections in Amdahl's
//! Law and its Implications for Multicore Design* (ISCA 2010). Equation 6.5 of the thesis lost a
//! plus sign in print: its denominator is L · (t_ncs + t_cs).

use super::Program;

/// The two estimates of the time between two iterations of the whole program, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Times {
    /// Contending sections run one after the other, all else in parallel on T cores.
    pub average: f64,
    /// The slowest thread finds every contended lock taken, and counts for two in what is parallel.
    pub slowest: f64,
}

impl Times {
    /// Both estimates for this many threads, at least one.
    #[must_use]
    pub fn of(program: &Program, threads: usize) -> Self {
        let (critical, cycle) = (
            program.critical().as_secs_f64(),
            program.cycle().as_secs_f64(),
        );
        let threads = threads.max(1) as f64;
        let in_section = critical / cycle;
        let same_lock = match threads {
            1.0 => 0.0,
            _ => 1.0 / program.locks() as f64,
        };
        let serial = critical * in_section * same_lock;
        let slowest = critical * same_lock;
        Self {
            average: serial + (cycle - serial) / threads,
            slowest: slowest + (cycle - slowest) / (2.0 * threads),
        }
    }

    /// The one that counts: the longer.
    #[must_use]
    pub fn longer(self) -> f64 {
        self.average.max(self.slowest)
    }
}

/// Iterations per second of this many threads. Source: thesis, equations 6.5 and 6.6.
#[must_use]
pub fn throughput(program: &Program, threads: usize) -> f64 {
    1.0 / Times::of(program, threads).longer()
}

/// Utilisation by this many threads, in cores. Source: thesis, equation 6.8.
#[must_use]
pub fn utilisation(program: &Program, threads: usize) -> f64 {
    program.utilisation(throughput(program, threads))
}
