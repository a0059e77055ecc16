//! The runtimes under comparison: one program each, which speak the peer
//! protocol (`README.md`, "The peer protocol").
//!
//! Those in Rust are binaries of this crate. Those in other languages, and the actor libraries, are
//! programs of their own ([`foreign`]).

mod foreign;

use std::iter;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context as _;
use fibre_bench::measure::Sample;

use crate::process::{self, programs, valgrind};
use crate::report::Report;
use fibre_measure::{Cores, Pinned as _};
pub(crate) use foreign::{FOREIGN, Foreign, Wanted};

/// Runtimes with a program of this crate, ours first.
const OURS: &[&str] = &[
    "fibre",
    "may",
    "tokio",
    "tokio-worker",
    "thread",
    "crossbeam",
    "flume",
    "corosensei",
    "rayon",
];

/// The servers that a client of ours measures where they are programs of their own.
const SERVED: &[&str] = &["echoing", "counting"];

/// How much longer than asked for a repetition may take before it counts as
/// hung. CAF takes a minute for LOGM.
const PATIENCE: Duration = Duration::from_secs(150);

/// Operations with instructions that are counted.
const COUNTED: u64 = 50_000;

/// A runtime and its program.
#[derive(Clone)]
pub(crate) struct Peer {
    /// What tables call it.
    pub(crate) name: String,
    program: PathBuf,
    /// The client of the servers it has, if it has those of [`SERVED`].
    client: Option<PathBuf>,
    /// What it can be asked for.
    workloads: Vec<Offer>,
    /// The variant it is asked for, in the workloads that have it.
    variant: Option<String>,
    /// Variables of its environment.
    environment: Vec<(String, String)>,
}

/// A workload of a peer.
#[derive(Clone, Debug, PartialEq)]
struct Offer {
    name: String,
    /// Other ways that it can be run in.
    variants: Vec<String>,
}

/// One repetition to be made.
#[derive(Clone, Copy)]
pub(crate) struct Job<'a> {
    pub(crate) workload: &'a str,
    /// `name=value`, parted by blanks.
    pub(crate) parameters: &'a str,
    /// Kernel threads the runtime may use, and cores it is given.
    pub(crate) processors: usize,
    /// About how long the measured part should take.
    pub(crate) seconds: f64,
}

impl Peer {
    /// Whether it has a workload.
    pub(crate) fn offers(&self, workload: &str) -> bool {
        self.offer(workload).is_some()
    }

    /// This peer, and then it in each variant of a workload, as `fibre, baton`; nobody where
    /// it does not offer the workload.
    pub(crate) fn with_variants(&self, workload: &str) -> Vec<Self> {
        let Some(offer) = self.offer(workload) else {
            return Vec::new();
        };
        let variants = offer.variants.iter().map(|variant| Self {
            name: format!("{}, {variant}", self.name),
            variant: Some(variant.clone()),
            ..self.clone()
        });
        iter::once(self.clone()).chain(variants).collect()
    }

    /// The variant that it runs a workload in, where that is not the usual one.
    fn variant_of(&self, workload: &str) -> Option<&String> {
        let variant = self.variant.as_ref()?;
        let variants = &self.offer(workload)?.variants;
        variants.contains(variant).then_some(variant)
    }

    /// What it says of a workload, if it has it.
    fn offer(&self, workload: &str) -> Option<&Offer> {
        self.workloads.iter().find(|offer| offer.name == workload)
    }

    /// One repetition, in a process of its own on the first cores.
    pub(crate) fn measure(&self, job: &Job<'_>, cores: &Cores) -> anyhow::Result<Sample> {
        let mut command = self.command(job);
        command
            .stdin(Stdio::null())
            .pinned(&cores.measured(job.processors));
        let limit = PATIENCE + Duration::from_secs_f64(job.seconds);
        let output = process::output_within(&mut command, limit)?;
        serde_json::from_str(&output).context("reading a repetition's result")
    }

    /// How many instructions an operation of a workload takes that can be told the number of
    /// its `operations`. `None` for programs that valgrind does not run, or do not know that.
    pub(crate) fn instructions(&self, job: &Job<'_>) -> anyhow::Result<Option<f64>> {
        if FOREIGN
            .iter()
            .chain(foreign::OTHERS)
            .any(|foreign| self.name == foreign.name)
        {
            return Ok(None);
        }
        let count = |operations: u64| {
            let mut command = self.command(&Job {
                seconds: 0.0,
                ..*job
            });
            command.arg(format!("operations={operations}"));
            valgrind::instructions(&command, PATIENCE)
        };
        // What it takes to start and to end cancels.
        let few = count(COUNTED)?;
        Ok(Some((count(2 * COUNTED)? - few) / COUNTED as f64))
    }

    /// What makes one repetition.
    fn command(&self, job: &Job<'_>) -> Command {
        let served = SERVED.contains(&job.workload);
        let client = self.client.as_ref().filter(|_| served);
        let mut command = Command::new(client.unwrap_or(&self.program));
        command
            .arg(job.workload)
            .args(client.map(|_| format!("program={}", self.program.display())))
            .args(job.parameters.split_whitespace())
            .args(
                self.variant_of(job.workload)
                    .map(|name| format!("variant={name}")),
            )
            .arg(format!("processors={}", job.processors))
            .arg(format!("seconds={}", job.seconds))
            .envs(self.environment.iter().cloned());
        command
    }

    /// The same program under another name, with such variables in its environment.
    pub(crate) fn variant(&self, name: &str, environment: &[(&str, &str)]) -> Self {
        Self {
            name: name.into(),
            environment: environment
                .iter()
                .map(|&(variable, value)| (variable.into(), value.into()))
                .collect(),
            ..self.clone()
        }
    }

    /// This peer, which has the servers, with their client.
    fn served_to(mut self, client: PathBuf) -> Self {
        let offers = SERVED.iter().filter_map(|name| Offer::parse(name));
        self.workloads.extend(offers);
        self.client = Some(client);
        self
    }

    /// A program that says itself what it offers.
    fn ask(name: &str, program: PathBuf) -> anyhow::Result<Self> {
        let output = process::output_within(
            Command::new(&program).stdin(Stdio::null()),
            Duration::from_secs(10),
        );
        let workloads = output
            .with_context(|| format!("asking {} for its workloads", program.display()))?
            .lines()
            .filter_map(Offer::parse)
            .collect();
        Ok(Self {
            name: name.into(),
            program,
            client: None,
            workloads,
            variant: None,
            environment: Vec::new(),
        })
    }
}

impl Offer {
    /// Reads a line of the list: a workload and its variants.
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace().map(str::to_owned);
        Some(Self {
            name: words.next()?,
            variants: words.collect(),
        })
    }
}

/// Every runtime that is here, and those that only the programs over `wanted` have. Those that are
/// not are noted in the report; with `install` their packages are installed first.
pub(crate) fn find(
    report: &mut Report,
    wanted: Wanted,
    install: bool,
) -> anyhow::Result<Vec<Peer>> {
    let mut peers = OURS
        .iter()
        .map(|name| Peer::ask(name, programs::ours(&format!("peer-{name}"))?))
        .collect::<anyhow::Result<Vec<_>>>()?;
    for foreign in FOREIGN.iter().chain(foreign::among(wanted)) {
        if install {
            foreign.install(report)?;
        }
        match foreign.build()? {
            Some(program) => {
                let peer = Peer::ask(foreign.name, program)?;
                peers.push(match foreign.counts {
                    true => peer.served_to(programs::ours("peer-served")?),
                    false => peer,
                });
            }
            None => report.note(format!(
                "{}: not installed, so its rows are missing (needs: {})",
                foreign.name, foreign.package
            )),
        }
    }
    Ok(peers)
}

/// The programs that serve, and are peers of coloured events only.
pub(crate) fn servers_of_events() -> impl Iterator<Item = &'static Foreign> {
    let wanted = Wanted {
        actors: false,
        tasks: false,
        events: true,
    };
    foreign::among(wanted).filter(|foreign| foreign.serves)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A peer that has listed this.
    fn peer(list: &str) -> Peer {
        Peer {
            name: "go".into(),
            program: PathBuf::from("peer-go"),
            client: None,
            workloads: list.lines().filter_map(Offer::parse).collect(),
            variant: None,
            environment: Vec::new(),
        }
    }

    #[test]
    fn variants_are_subjects_of_their_own() {
        let peer = peer("yield\ncontend fifo  unfair\n");
        let names = |workload| {
            let subjects = peer.with_variants(workload).into_iter();
            subjects.map(|peer| peer.name).collect::<Vec<_>>()
        };
        assert_eq!(names("yield"), ["go"]);
        assert_eq!(names("contend"), ["go", "go, fifo", "go, unfair"]);
        assert!(names("spawn").is_empty());
    }

    #[test]
    fn only_servers_are_measured_by_their_client() {
        let go = peer("yield").served_to(PathBuf::from("peer-served"));
        let line = |workload| {
            let job = Job {
                workload,
                parameters: "messages=5",
                processors: 2,
                seconds: 1.0,
            };
            let command = go.command(&job);
            let words = std::iter::once(command.get_program()).chain(command.get_args());
            let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
            words.join(" ")
        };
        assert!(go.offers("counting") && go.offers("echoing"));
        assert_eq!(
            line("counting"),
            "peer-served counting program=peer-go messages=5 processors=2 seconds=1"
        );
        assert_eq!(
            line("yield"),
            "peer-go yield messages=5 processors=2 seconds=1"
        );
    }

    #[test]
    fn a_workload_without_the_variant_is_run_as_usual() {
        let peer = peer("work\ncontend fifo");
        let fifo = &peer.with_variants("contend")[1];
        assert_eq!(fifo.variant_of("contend").map(String::as_str), Some("fifo"));
        assert_eq!(fifo.variant_of("work"), None);
        assert_eq!(peer.variant_of("contend"), None);
    }
}
