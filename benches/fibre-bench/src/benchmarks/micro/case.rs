//! What a family of micro-benchmarks is made of.

use fibre_bench::measure::Sample;

use crate::benchmarks::ideal;
use crate::peers::Peer;
use crate::plan::Plan;
use crate::report::{Better, Goal, OURS, OURS_IN_C, Read};

/// Cases that belong together: one benchmark.
pub(crate) struct Family {
    /// What `run` calls it.
    pub(crate) name: &'static str,
    /// What it measures and what to know when reading it.
    pub(crate) about: &'static str,
    /// How its tables are laid out.
    pub(crate) layout: Layout,
    pub(crate) cases: &'static [Case],
}

/// What the rows of a family's tables are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Every subject of every case, with all that can be said of it.
    Cases,
    /// The subjects; a column is a case.
    Subjects,
}

/// One thing to measure, by every peer that can.
pub(crate) struct Case {
    /// What tables call it; it says what one operation is.
    pub(crate) name: &'static str,
    pub(crate) workload: &'static str,
    /// `name=value`, parted by blanks.
    pub(crate) parameters: &'static str,
    /// What `--quick` uses instead, where the usual size is large.
    pub(crate) quick: &'static str,
    pub(crate) processors: usize,
    /// Usual length of a repetition.
    pub(crate) seconds: f64,
    /// Usual number of repetitions.
    pub(crate) repetitions: usize,
    /// Whether a peer is measured in each of its variants, too.
    pub(crate) variants: bool,
    /// The peers that are measured, if not those of all runtimes that are compared.
    pub(crate) among: &'static [&'static str],
    /// Peers left out, because they take minutes or fail at this size.
    pub(crate) without: &'static [&'static str],
    /// What is read from a repetition; ratios are of the first.
    pub(crate) metrics: &'static [Metric],
}

/// Something read from a repetition.
#[derive(Clone, Copy)]
pub(crate) struct Metric {
    pub(crate) name: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) better: Better,
    pub(crate) from: From,
    /// Which reading stands for all, where it is not what is usual for the case.
    pub(crate) read: Option<Read>,
    pub(crate) goal: Option<Goal>,
}

/// Where a reading comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum From {
    /// CPU nanoseconds per operation.
    Cpu,
    /// Wall nanoseconds per operation.
    Wall,
    /// Million operations a second on the wall.
    Rate,
    /// Instructions in user space per operation, counted once.
    Instructions,
    /// A value the peer reports beside the times.
    Value(&'static str),
    /// The rate of algorithm 1 as a percentage of what the machine's units of
    /// work allow.
    Ideal,
}

/// The subjects of a case of C programs.
const IN_C: &[&str] = &[OURS_IN_C, "c-pthread", OURS, "fibre, moving"];

/// Fewest repetitions over one and over more processors.
const REPETITIONS: usize = 11;
const REPETITIONS_WALL: usize = 7;

impl Case {
    /// A case on one processor that measures CPU time.
    pub(crate) const fn cpu(name: &'static str, workload: &'static str) -> Self {
        Self {
            name,
            workload,
            parameters: "",
            quick: "",
            processors: 1,
            seconds: 0.1,
            repetitions: REPETITIONS,
            variants: false,
            among: &[],
            without: &[],
            metrics: &[Metric::CPU],
        }
    }

    /// A case on two processors that measures time on the wall, without those
    /// that have one processor at most.
    pub(crate) const fn wall(name: &'static str, workload: &'static str) -> Self {
        Self {
            processors: 2,
            seconds: 0.3,
            repetitions: REPETITIONS_WALL,
            without: &["corosensei", "tokio-worker"],
            metrics: &[Metric::WALL],
            ..Self::cpu(name, workload)
        }
    }

    /// This case on so many processors.
    pub(crate) const fn on(self, processors: usize) -> Self {
        Self { processors, ..self }
    }

    /// This case with parameters of the workload.
    pub(crate) const fn with(self, parameters: &'static str) -> Self {
        Self { parameters, ..self }
    }

    /// This case with the variants of every peer.
    pub(crate) const fn with_variants(self) -> Self {
        Self {
            variants: true,
            ..self
        }
    }

    /// This case of C programs, with the Rust figure beside them.
    pub(crate) const fn in_c(self) -> Self {
        Self {
            among: IN_C,
            variants: true,
            ..self
        }
    }

    /// What has to reach something.
    pub(super) fn ours(&self) -> &'static str {
        if self.among.is_empty() {
            OURS
        } else {
            OURS_IN_C
        }
    }

    /// Whether a peer of this name takes part. C programs do so only where they are named.
    fn has(&self, name: &str) -> bool {
        match self.among {
            [] => !name.starts_with("c-") && !self.without.contains(&name),
            among => among.contains(&name),
        }
    }

    /// This case with other things to read.
    pub(crate) const fn metrics(self, metrics: &'static [Metric]) -> Self {
        Self { metrics, ..self }
    }

    /// This case in another size.
    pub(crate) const fn sized(self, seconds: f64, repetitions: usize) -> Self {
        Self {
            seconds,
            repetitions,
            ..self
        }
    }

    /// Which reading of a metric stands for all repetitions.
    pub(super) fn read(&self, metric: &Metric) -> Read {
        match metric.read {
            Some(read) => read,
            None if self.processors == 1 => Read::Best,
            None => Read::Median,
        }
    }

    /// The peers that are measured.
    pub(super) fn subjects(&self, peers: &[Peer], plan: &Plan) -> Vec<Peer> {
        let variants = if self.variants { usize::MAX } else { 1 };
        peers
            .iter()
            .flat_map(|peer| peer.with_variants(self.workload).into_iter().take(variants))
            .filter(|peer| plan.wants(&peer.name))
            .filter(|peer| self.has(&peer.name))
            .collect()
    }

    /// How many repetitions all subjects make.
    pub(super) fn steps(&self, peers: &[Peer], plan: &Plan) -> usize {
        self.subjects(peers, plan).len() * plan.repetitions(self.repetitions)
    }

    /// Whether both fit into one table.
    pub(super) fn same_columns(&self, other: &Self) -> bool {
        let columns = |case: &Self| {
            case.metrics
                .iter()
                .map(|metric| (metric.name, case.read(metric)))
                .collect::<Vec<_>>()
        };
        columns(self) == columns(other)
    }

    /// What tables, files and other cases know it by.
    pub(crate) fn title(&self) -> String {
        format!("{} ({} CPU)", self.name, self.processors)
    }
}

impl Metric {
    /// CPU time per operation.
    pub(crate) const CPU: Self = Self::new("CPU time", "ns", Better::Lower, From::Cpu);
    /// Wall time per operation.
    pub(crate) const WALL: Self = Self::new("wall time", "ns", Better::Lower, From::Wall);
    /// Operations a second.
    pub(crate) const RATE: Self = Self::new("throughput", "M/s", Better::Higher, From::Rate);
    /// Instructions in user space.
    pub(crate) const INSTRUCTIONS: Self =
        Self::new("instructions", "count", Better::Lower, From::Instructions);
    /// Jain's index over the operations of each participant.
    pub(crate) const JAIN: Self = Self::new("Jain", "index", Better::Higher, From::Value("jain"));

    /// A metric without a goal.
    pub(crate) const fn new(
        name: &'static str,
        unit: &'static str,
        better: Better,
        from: From,
    ) -> Self {
        Self {
            name,
            unit,
            better,
            from,
            read: None,
            goal: None,
        }
    }

    /// This metric; this reading stands for all of it.
    pub(crate) const fn read_as(self, read: Read) -> Self {
        Self {
            read: Some(read),
            ..self
        }
    }

    /// This metric with a figure ours has to reach.
    pub(crate) const fn goal(self, goal: Goal) -> Self {
        Self {
            goal: Some(goal),
            ..self
        }
    }

    /// Its reading of a repetition.
    pub(super) fn reading(&self, seen: &Seen) -> f64 {
        let Seen { sample, .. } = seen;
        match self.from {
            From::Cpu => sample.cpu_ns,
            From::Wall => sample.wall_ns,
            From::Rate => 1e3 / sample.wall_ns,
            From::Value(name) => sample.values.get(name).copied().unwrap_or(f64::NAN),
            From::Instructions => seen.instructions,
            From::Ideal => seen.shape.map_or(f64::NAN, |shape| {
                100.0 * shape.ideal_ns(seen.unit_ns) / sample.wall_ns
            }),
        }
    }
}

/// What is known of a repetition.
pub(super) struct Seen {
    /// What the peer measured.
    pub(super) sample: Sample,
    /// What bounds its rate, in algorithm 1.
    pub(super) shape: Option<ideal::Shape>,
    /// What a unit of work costs, if anybody asks for the ideal.
    pub(super) unit_ns: f64,
    /// Instructions per operation, if anybody asks for them.
    pub(super) instructions: f64,
}
