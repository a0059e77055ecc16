//! Mean value analysis of the closed network that the program is.
//!
//! Threads are customers. The time outside of locks is a delay station, where nobody waits; each
//! lock is a station with one server, which an iteration visits with the probability 1 / L. The
//! arrival theorem (Reiser and Lavenberg, 1980) says that a thread which comes to a lock finds the
//! queue that a network with one thread less has on average. From that the means of n threads
//! follow from those of n − 1. All locks are alike, so one stands for all.
//!
//! The means are exact if the time under a lock is exponentially distributed. Constant loops wait
//! less: see [`simulation`](super::simulation). Source: thesis, section 6.2, after Pan and others,
//! its reference 152; MVA is its reference 162.

use super::Program;

/// Iterations per second of this many threads.
#[must_use]
pub fn throughput(program: &Program, threads: usize) -> f64 {
    let critical = program.critical().as_secs_f64();
    let outside = program.outside().as_secs_f64();
    let locks = program.locks() as f64;
    let (mut throughput, mut queue) = (0.0, 0.0);
    for customers in 1..=threads {
        let at_lock = critical * (1.0 + queue);
        throughput = customers as f64 / (outside + at_lock);
        queue = throughput * at_lock / locks;
    }
    throughput
}

/// Utilisation by this many threads, in cores.
#[must_use]
pub fn utilisation(program: &Program, threads: usize) -> f64 {
    program.utilisation(throughput(program, threads))
}
