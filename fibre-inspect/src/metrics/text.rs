//! The value for people.

use crate::metrics::Metrics;
use fibre_core::internal::Count;
use fibre_core::{ClusterMetrics, Counters, ProcessorMetrics};
use std::fmt;
use std::time::Duration;

impl fmt::Display for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "fibre: {} after the first cluster's start",
            Time(self.uptime)
        )?;
        for cluster in &self.clusters {
            write_cluster(f, cluster)?;
        }
        if self.gone != Counters::default() {
            writeln!(f, "clusters that are gone")?;
            write_counters(f, &self.gone)?;
        }
        let blocks = &self.thread_blocks;
        if blocks.born > 0 {
            writeln!(
                f,
                "{}, {} of them in fibres; {} made, {} ended",
                Count(blocks.existing(), "thread block"),
                blocks.in_fibres,
                blocks.born,
                blocks.ended,
            )?;
        }
        if self.detached_failures > 0 {
            writeln!(f, "{}", Count(self.detached_failures, "detached failure"))?;
        }
        if self.stuck.searches > 0 {
            let found = Count(self.stuck.fibres, "stuck fibre");
            writeln!(
                f,
                "{found} at the last search of {}, in {}; all stood still for {}",
                self.stuck.searches,
                Time(self.stuck.took),
                Time(self.stuck.paused)
            )?;
        }
        let (stacks, blocking) = (&self.stacks, &self.blocking);
        writeln!(
            f,
            "{} cancelled; {} of {}, {} of them free; {} on {}, {} pending",
            Count(self.cancelled, "fibre"),
            Count(stacks.existing, "stack"),
            Bytes(stacks.reserved),
            stacks.free,
            Count(blocking.calls, "blocking call"),
            Count(blocking.threads, "thread"),
            blocking.pending,
        )
    }
}

/// Writes what there is to know of a cluster.
fn write_cluster(f: &mut fmt::Formatter<'_>, cluster: &ClusterMetrics) -> fmt::Result {
    write!(
        f,
        "cluster {:?} ({}): {}: {} new, ",
        cluster.name,
        cluster.number,
        Count(cluster.live, "fibre"),
        cluster.unstarted
    )?;
    match (cluster.runnable, cluster.blocked) {
        (Some(runnable), Some(blocked)) => writeln!(f, "{runnable} runnable, {blocked} blocked")?,
        _ => writeln!(f, "runnable and blocked ones not counted")?,
    }
    let totals = cluster.totals();
    write_counters(f, &totals)?;
    if cluster.own_thread_locals {
        writeln!(
            f,
            "  thread-locals of their own: {} thread blocks taken, {} of them renewed",
            totals.blocks_taken, totals.blocks_renewed
        )?;
    }
    for processor in &cluster.processors {
        write_processor(f, processor)?;
    }
    Ok(())
}

/// Writes one line about a processor.
fn write_processor(f: &mut fmt::Formatter<'_>, processor: &ProcessorMetrics) -> fmt::Result {
    let ProcessorMetrics {
        index, counters, ..
    } = processor;
    let kind = if processor.spare {
        "spare processor"
    } else {
        "processor"
    };
    let does = if processor.busy { "busy" } else { "idle" };
    write!(
        f,
        "  {kind} {index}: {does}, {} of CPU time",
        Time(processor.cpu.unwrap_or_default())
    )?;
    if let Some(queued) = processor.queued {
        write!(f, ", {queued} queued")?;
    }
    writeln!(
        f,
        ", {} timers; {} switches, {} started, {} stolen of {} tried, {} sleeps, {} polls",
        processor.timers,
        counters.switches,
        counters.started,
        counters.steals,
        counters.steals_tried,
        counters.parks,
        counters.polls,
    )
}

/// Writes what processors have counted.
fn write_counters(f: &mut fmt::Formatter<'_>, counters: &Counters) -> fmt::Result {
    writeln!(
        f,
        "  fibres: {} spawned, {} started, {} ended, {} of them by a panic; {} switches",
        counters.spawned, counters.started, counters.ended, counters.panicked, counters.switches
    )?;
    writeln!(
        f,
        "  processors: {} sleeps, {} ended by others, {} of these in vain; {} stolen of {} tried",
        counters.parks,
        counters.wakes,
        counters.wakes_in_vain,
        counters.steals,
        counters.steals_tried
    )?;
    let mean = counters
        .timer_lateness
        .checked_div(u32::try_from(counters.timers_fired).unwrap_or(u32::MAX));
    writeln!(
        f,
        "  polls: {}, {} of them empty; {} events; timers: {} fired, {} late on average, {} at most",
        counters.polls,
        counters.empty_polls,
        counters.events,
        counters.timers_fired,
        Time(mean.unwrap_or_default()),
        Time(counters.latest_timer)
    )?;
    writeln!(
        f,
        "  stacks: {} at hand, {} not",
        counters.stack_hits(),
        counters.stack_misses
    )?;
    if [
        counters.rescued_fibres,
        counters.rescued_timers,
        counters.rescue_polls,
    ] == [0; 3]
    {
        return Ok(());
    }
    writeln!(
        f,
        "  done for processors that did not switch: {} fibres taken, {} timers fired, {} polls",
        counters.rescued_fibres, counters.rescued_timers, counters.rescue_polls
    )
}

/// A time with three digits or so.
pub(crate) struct Time(pub Duration);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanoseconds = self.0.as_nanos();
        match nanoseconds {
            0 => f.write_str("0 s"),
            1..1_000_000 => write!(f, "{:.1} µs", nanoseconds as f64 / 1e3),
            1_000_000..1_000_000_000 => write!(f, "{:.1} ms", nanoseconds as f64 / 1e6),
            _ => write!(f, "{:.3} s", self.0.as_secs_f64()),
        }
    }
}

/// A number of bytes.
struct Bytes(usize);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            bytes @ 0..1_048_576 => write!(f, "{} KiB", bytes >> 10),
            bytes => write!(f, "{} MiB", bytes >> 20),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_their_units() {
        for (nanoseconds, words) in [
            (0, "0 s"),
            (1_500, "1.5 µs"),
            (2_500_000, "2.5 ms"),
            (3_250_000_000, "3.250 s"),
        ] {
            assert_eq!(Time(Duration::from_nanos(nanoseconds)).to_string(), words);
        }
        assert_eq!(Bytes(65_536).to_string(), "64 KiB");
        assert_eq!(Bytes(3 << 20).to_string(), "3 MiB");
    }
}
