//! The value as OpenMetrics text.
//!
//! Names begin with `fibre_`. A cluster has two labels, its name and its number, as names may be
//! equal; a processor also has its number in the cluster. Unknown values are left out.

use crate::metrics::{Metrics, metrics};
use crate::sample::stuck::StuckCounts;
use fibre_core::sync::thread_mutex::Mutex;
use fibre_core::{ClusterMetrics, Counters, ProcessorMetrics};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

/// The type of what [`exposition`] returns, as HTTP has it.
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The last line of a text.
const END: &str = "# EOF\n";

/// The metrics of this process, as OpenMetrics text, which Prometheus reads: those of the runtime,
/// and those that [`add_exposition`] has added. It is what the server of `FIBRE_METRICS` sends; a
/// program that has an HTTP server of its own sends it from there, as
/// `application/openmetrics-text; version=1.0.0; charset=utf-8`. Blocks as [`metrics`] does, and
/// what has been added does.
///
/// ```
/// fibre::spawn(|| ()).join().unwrap();
/// let text = fibre::exposition();
/// assert!(text.contains("fibre_switches_total{") && text.ends_with("# EOF\n"));
/// ```
#[must_use]
pub fn exposition() -> String {
    let mut text = runtimes().unwrap_or_default();
    ADDED
        .lock()
        .clone()
        .iter()
        .for_each(|add| append(&mut text, add));
    text + END
}

/// What adds metrics of the program.
type Add = Arc<dyn Fn(&mut dyn fmt::Write) -> fmt::Result + Send + Sync>;

/// Whatever the program has added.
static ADDED: Mutex<Vec<Add>> = Mutex::new(Vec::new());

/// Adds metrics of the program to the [`exposition`], and so to what the server of `FIBRE_METRICS`
/// sends: `write` writes OpenMetrics text each time. Its names must not begin with `fibre_`. Where
/// it fails or panics, what it has written is left out.
///
/// It is called on the server's thread, which serves nobody else meanwhile, or by who calls
/// [`exposition`]. It cannot be taken back.
///
/// The crate `prometheus-client` writes such text:
///
/// ```
/// use prometheus_client::encoding::text::encode_registry;
/// use prometheus_client::metrics::counter::Counter;
/// use prometheus_client::registry::Registry;
///
/// let mut registry = Registry::default();
/// let orders = Counter::<u64>::default();
/// registry.register("orders", "Orders taken", orders.clone());
/// fibre::add_exposition(move |mut text| encode_registry(&mut text, &registry));
///
/// orders.inc();
/// assert!(fibre::exposition().contains("orders_total 1\n"));
/// ```
pub fn add_exposition(write: impl Fn(&mut dyn fmt::Write) -> fmt::Result + Send + Sync + 'static) {
    ADDED.lock().push(Arc::new(write));
}

/// Appends what the program has to say, or nothing if that fails.
fn append(text: &mut String, add: &Add) {
    let mut more = String::new();
    let written = catch_unwind(AssertUnwindSafe(|| add(&mut more)));
    if matches!(written, Ok(Ok(()))) {
        *text += more.strip_suffix(END).unwrap_or(&more);
        if !text.ends_with('\n') {
            text.push('\n');
        }
    }
}

/// The text of the runtime's metrics, without its end.
fn runtimes() -> Result<String, fmt::Error> {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Exposed(metrics())));
    let mut text = String::new();
    text::encode_registry(&mut text, &registry)?;
    Ok(text)
}

/// A value that the exposition crate asks for its text.
#[derive(Debug)]
struct Exposed(Metrics);

/// A counter of processors: its name, what it counts, and the number.
type ProcessorCounter = (&'static str, &'static str, fn(&Counters) -> u64);

/// The counters of processors that are numbers.
const COUNTERS: [ProcessorCounter; 19] = [
    ("switches", "Resumptions of fibres", |c| c.switches),
    ("fibres_started", "Fibres that have begun to run", |c| {
        c.started
    }),
    ("fibres_ended", "Fibres that have ended", |c| c.ended),
    (
        "fibres_panicked",
        "Fibres that have ended by a panic",
        |c| c.panicked,
    ),
    (
        "steals_tried",
        "Attempts to take a fibre of another processor",
        |c| c.steals_tried,
    ),
    ("steals", "Fibres taken from other processors", |c| c.steals),
    ("parks", "Sleeps of processors", |c| c.parks),
    ("wakes", "Sleeps that another thread has ended", |c| c.wakes),
    (
        "wakes_in_vain",
        "Wakes after which there was nothing to run",
        |c| c.wakes_in_vain,
    ),
    ("polls", "Calls of the kernel for events", |c| c.polls),
    ("empty_polls", "Polls that found no event", |c| {
        c.empty_polls
    }),
    (
        "poll_events",
        "Events and interrupts that polls have found",
        |c| c.events,
    ),
    ("timers_fired", "Deadlines that have passed", |c| {
        c.timers_fired
    }),
    (
        "stack_misses",
        "Fibres that began on a stack not at hand",
        |c| c.stack_misses,
    ),
    (
        "thread_blocks_taken",
        "Thread blocks that fibres have begun with",
        |c| c.blocks_taken,
    ),
    (
        "thread_blocks_renewed",
        "Thread blocks of these that had been there before",
        |c| c.blocks_renewed,
    ),
    (
        "rescued_fibres",
        "Ready fibres that others took from a processor that did not switch",
        |c| c.rescued_fibres,
    ),
    (
        "rescued_timers",
        "Deadlines that others noticed for a processor that did not switch",
        |c| c.rescued_timers,
    ),
    (
        "rescue_polls",
        "Polls by others for a processor that did not switch",
        |c| c.rescue_polls,
    ),
];

/// A counter of processors that is a time, if it is known.
type ProcessorTime = (
    &'static str,
    &'static str,
    fn(&ProcessorMetrics) -> Option<Duration>,
);

/// The counters of processors that are times.
const TIMES: [ProcessorTime; 2] = [
    ("processor_cpu", "CPU time that processors have used", |p| {
        p.cpu
    }),
    (
        "timer_lateness",
        "Time by which deadlines were noticed late",
        |p| Some(p.counters.timer_lateness),
    ),
];

/// A gauge of a cluster, if it is known.
type ClusterGauge = (
    &'static str,
    &'static str,
    fn(&ClusterMetrics) -> Option<u64>,
);

/// The gauges of clusters.
const CLUSTER_GAUGES: [ClusterGauge; 6] = [
    ("fibres", "Fibres that live", |c| Some(c.live)),
    (
        "fibres_unstarted",
        "Fibres that have not begun to run",
        |c| Some(c.unstarted),
    ),
    ("fibres_runnable", "Fibres that run, or could", |c| {
        c.runnable
    }),
    ("fibres_blocked", "Fibres that wait", |c| c.blocked),
    ("processors", "Processors, spare ones included", |c| {
        Some(c.processors.len() as u64)
    }),
    (
        "own_thread_locals",
        "Whether fibres have thread-locals of their own",
        |c| Some(c.own_thread_locals.into()),
    ),
];

/// A gauge of a processor, if it is known.
type ProcessorGauge = (
    &'static str,
    &'static str,
    fn(&ProcessorMetrics) -> Option<u64>,
);

/// The gauges of processors.
const PROCESSOR_GAUGES: [ProcessorGauge; 3] = [
    ("queue_length", "Fibres queued at a processor", |p| p.queued),
    (
        "processor_busy",
        "Whether a processor has something to run",
        |p| Some(p.busy.into()),
    ),
    ("timers", "Deadlines to come", |p| Some(p.timers as u64)),
];

impl Collector for Exposed {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for (name, help, count) in COUNTERS {
            self.processors(&mut encoder, (name, help, None), |p| {
                Some(count(&p.counters))
            })?;
        }
        for (name, help, time) in TIMES {
            let about = (name, help, Some(Unit::Seconds));
            self.processors(&mut encoder, about, |p| {
                time(p).map(|time| time.as_secs_f64())
            })?;
        }
        for (name, help, gauge) in PROCESSOR_GAUGES {
            let name = full(name);
            let mut family = encoder.encode_descriptor(&name, help, None, MetricType::Gauge)?;
            for (labels, processor) in self.each_processor() {
                if let Some(value) = gauge(processor) {
                    family.encode_family(&labels)?.encode_gauge(&value)?;
                }
            }
        }
        for (name, help, gauge) in CLUSTER_GAUGES {
            let name = full(name);
            let mut family = encoder.encode_descriptor(&name, help, None, MetricType::Gauge)?;
            for cluster in &self.0.clusters {
                if let Some(value) = gauge(cluster) {
                    let labels = cluster_labels(cluster);
                    family.encode_family(&labels)?.encode_gauge(&value)?;
                }
            }
        }
        self.spawned(&mut encoder)?;
        self.process(&mut encoder)
    }
}

/// The whole name of a metric.
fn full(name: &str) -> String {
    format!("fibre_{name}")
}

/// The labels of a cluster.
fn cluster_labels(cluster: &ClusterMetrics) -> [(&'static str, String); 2] {
    [
        ("cluster", cluster.name.clone()),
        ("number", cluster.number.to_string()),
    ]
}

impl Exposed {
    /// All processors with their labels.
    fn each_processor(
        &self,
    ) -> impl Iterator<Item = ([(&'static str, String); 3], &ProcessorMetrics)> {
        self.0.clusters.iter().flat_map(|cluster| {
            cluster.processors.iter().map(move |processor| {
                let [name, number] = cluster_labels(cluster);
                let index = ("processor", processor.index.to_string());
                ([name, number, index], processor)
            })
        })
    }

    /// Writes a counter of all processors: its name, what it counts and its unit.
    fn processors<V: prometheus_client::encoding::EncodeCounterValue>(
        &self,
        encoder: &mut DescriptorEncoder<'_>,
        (name, help, unit): (&str, &str, Option<Unit>),
        value: impl Fn(&ProcessorMetrics) -> Option<V>,
    ) -> fmt::Result {
        let name = full(name);
        let unit = unit.as_ref();
        let mut family = encoder.encode_descriptor(&name, help, unit, MetricType::Counter)?;
        for (labels, processor) in self.each_processor() {
            if let Some(value) = value(processor) {
                let mut one = family.encode_family(&labels)?;
                one.encode_counter::<NoLabelSet, _, u64>(&value, None)?;
            }
        }
        Ok(())
    }

    /// Writes how many fibres have been spawned: by fibres of a cluster, and from outside.
    fn spawned(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Fibres that have been spawned";
        let mut family =
            encoder.encode_descriptor("fibre_fibres_spawned", help, None, MetricType::Counter)?;
        for cluster in &self.0.clusters {
            let labels = cluster_labels(cluster);
            let mut one = family.encode_family(&labels)?;
            one.encode_counter::<NoLabelSet, _, u64>(&cluster.totals().spawned, None)?;
        }
        Ok(())
    }

    /// Writes how many thread blocks the process has.
    fn thread_blocks(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let blocks = &self.0.thread_blocks;
        let help = "Thread blocks of fibres with thread-locals of their own";
        gauge(encoder, "thread_blocks", help, blocks.existing())?;
        let help = "Thread blocks for fibres to come";
        gauge(encoder, "thread_blocks_free", help, blocks.free())?;
        let help = "Thread blocks that the C library has made";
        counter(encoder, "thread_blocks_born", help, blocks.born)?;
        let help = "Thread blocks that the C library has ended";
        counter(encoder, "thread_blocks_ended", help, blocks.ended)
    }

    /// Writes what is counted for the whole process.
    fn process(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let Metrics {
            uptime,
            cancelled,
            detached_failures,
            stuck,
            stacks,
            blocking,
            ..
        } = &self.0;
        let help = "Time since the first cluster was started";
        seconds(encoder, "uptime", help, *uptime)?;
        let bytes = "Addresses reserved for stacks";
        let free = "Stacks that no cluster has at hand";
        let calls = "Calls handed to threads of their own";
        gauge(
            encoder,
            "stacks",
            "Stacks of fibres",
            stacks.existing as u64,
        )?;
        gauge(encoder, "stacks_free", free, stacks.free as u64)?;
        gauge(
            encoder,
            "stacks_reserved_bytes",
            bytes,
            stacks.reserved as u64,
        )?;
        gauge(
            encoder,
            "blocking_pending",
            "Blocking calls that wait or go on",
            blocking.pending,
        )?;
        gauge(
            encoder,
            "blocking_threads",
            "Threads for blocking calls",
            blocking.threads,
        )?;
        self.thread_blocks(encoder)?;
        counter(encoder, "blocking_calls", calls, blocking.calls)?;
        counter(
            encoder,
            "fibres_cancelled",
            "Fibres that have been cancelled",
            *cancelled,
        )?;
        counter(
            encoder,
            "detached_failures",
            "Failures of fibres that nobody has learned of by joining them",
            *detached_failures,
        )?;
        Self::stuck(encoder, stuck)
    }

    /// Writes what the searches for stuck fibres have found.
    fn stuck(encoder: &mut DescriptorEncoder<'_>, stuck: &StuckCounts) -> fmt::Result {
        let help = "Searches for stuck fibres";
        counter(encoder, "stuck_searches", help, stuck.searches)?;
        let help = "Stuck fibres that the last search has found";
        gauge(encoder, "stuck_fibres", help, stuck.fibres)?;
        let help = "What the last search for stuck fibres has taken";
        seconds(encoder, "stuck_search", help, stuck.took)?;
        let help = "Time that all clusters have stood still for that";
        seconds(encoder, "stuck_pause", help, stuck.paused)
    }
}

/// Writes a gauge of the process.
fn gauge(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, value: u64) -> fmt::Result {
    let name = full(name);
    let mut metric = encoder.encode_descriptor(&name, help, None, MetricType::Gauge)?;
    metric.encode_gauge(&value)
}

/// Writes a gauge of the process that is a time.
fn seconds(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    value: Duration,
) -> fmt::Result {
    let (name, unit) = (full(name), Some(&Unit::Seconds));
    let mut metric = encoder.encode_descriptor(&name, help, unit, MetricType::Gauge)?;
    metric.encode_gauge(&value.as_secs_f64())
}

/// Writes a counter of the process.
fn counter(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, value: u64) -> fmt::Result {
    let name = full(name);
    let mut metric = encoder.encode_descriptor(&name, help, None, MetricType::Counter)?;
    metric.encode_counter::<NoLabelSet, _, u64>(&value, None)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn the_text_has_an_end_and_no_name_twice() {
        fibre::spawn(|| ()).join().unwrap();
        let text = exposition();
        assert!(text.ends_with("# EOF\n"), "{text}");
        assert_eq!(text.matches(END).count(), 1);
        let types: Vec<_> = text
            .lines()
            .filter(|line| line.starts_with("# TYPE "))
            .collect();
        let mut unique = types.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), types.len());
        assert!(
            text.contains("fibre_switches_total{cluster=\"fibre\",number=\"1\",processor=\"0\"} ")
        );
        assert!(
            text.contains("fibre_processor_cpu_seconds_total{"),
            "{text}"
        );
    }
    #[test]
    fn metrics_of_the_program_are_added_whole_or_not_at_all() {
        add_exposition(|text| text.write_str("# TYPE own counter\nown_total 7\n# EOF\n"));
        add_exposition(|text| {
            text.write_str("half_total 1\n")?;
            Err(fmt::Error)
        });
        add_exposition(|text| {
            let _ = text.write_str("dead_total 1\n");
            std::panic::resume_unwind(Box::new("on purpose"))
        });
        add_exposition(|text| text.write_str("no_line_end 1"));
        let text = exposition();
        let end = "\n# TYPE own counter\nown_total 7\nno_line_end 1\n# EOF\n";
        assert!(text.ends_with(end), "{text}");
        assert!(text.starts_with("# HELP fibre_"), "{text}");
        assert_eq!(text.matches(END).count(), 1);
    }
}
