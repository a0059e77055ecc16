//! Programs over coloured events, after the tables of two papers; each counts what it has done.
//!
//! [`unbalanced`], [`penalty`] and [`cache_efficient`] are those of Mely's tables III to VI (Gaud
//! et al., "Efficient workstealing for multicore event-driven systems", 2010), [`table2`] is that
//! of libasync-smp's table 2 (Zeldovich et al., "Multiprocessor support for event-driven programs",
//! 2003).

pub mod cache_efficient;
pub mod penalty;
pub mod table2;
pub mod unbalanced;

use std::hint::black_box;

use anyhow::ensure;
use fibre_events::Report;

/// Computes for so many cycles, about: a chain of multiplications and differences, four each.
fn work(cycles: u64) {
    let mut value = black_box(cycles);
    for _ in 0..cycles / 4 {
        value = value.wrapping_mul(0x9E37_79B9) ^ (value >> 7);
    }
    black_box(value);
}

/// Checks that all events have run.
fn check(report: &Report, events: u64) -> anyhow::Result<()> {
    let (ran, lost) = (report.ran, report.dropped + report.panicked);
    ensure!(
        ran == events && lost == 0,
        "{ran} of {events} events have run, and {lost} were lost"
    );
    Ok(())
}
