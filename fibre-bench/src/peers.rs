//! The runtimes under comparison: one program each, which speak the peer
//! protocol (`README.md`, "The peer protocol").
//!
//! Those in Rust are binaries of this crate. Those in other languages lie under
//! `peers/` and are compiled when their compiler is installed; where it is not,
//! the report says that their rows are missing.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};
use std::{env, fs, io, iter};

use anyhow::{Context as _, bail};
use fibre_bench::measure::Sample;

use crate::c::{self, Threads};
use crate::process::{self, programs, valgrind};
use crate::report::Report;
use fibre_measure::{Cores, Pinned as _};

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
];

/// How much longer than asked for a repetition may take before it counts as
/// hung.
const PATIENCE: Duration = Duration::from_secs(40);

/// Operations whose instructions are counted.
const COUNTED: u64 = 50_000;

/// A runtime and its program.
#[derive(Clone)]
pub(crate) struct Peer {
    /// What tables call it.
    pub(crate) name: String,
    program: PathBuf,
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
    /// Other ways in which it can be run.
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

    /// The variant in which it runs a workload, where that is not the usual one.
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
        if FOREIGN.iter().any(|foreign| self.name == foreign.name) {
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
        let mut command = Command::new(&self.program);
        command
            .arg(job.workload)
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

/// Every runtime that is here. Those that are not are noted in the report.
pub(crate) fn find(report: &mut Report) -> anyhow::Result<Vec<Peer>> {
    let mut peers = OURS
        .iter()
        .map(|name| Peer::ask(name, programs::ours(&format!("peer-{name}"))?))
        .collect::<anyhow::Result<Vec<_>>>()?;
    for foreign in FOREIGN {
        match foreign.build()? {
            Some(program) => peers.push(Peer::ask(foreign.name, program)?),
            None => report.note(format!(
                "{}: not installed, so its rows are missing (needs: {})",
                foreign.name, foreign.package
            )),
        }
    }
    Ok(peers)
}

/// A peer in another language.
pub(crate) struct Foreign {
    pub(crate) name: &'static str,
    /// Debian's packages with its compiler and library.
    pub(crate) package: &'static str,
    /// Whether it is a web server too.
    pub(crate) serves: bool,
    /// Where its source lies, below this crate.
    source: &'static str,
    /// Whether all that its build needs is installed.
    installed: fn() -> bool,
    /// The command that compiles the source directory to a program.
    compile: fn(&Path, &Path) -> io::Result<Command>,
}

/// The peers in other languages.
pub(crate) const FOREIGN: &[Foreign] = &[GO, BOOST, C_FIBRE, C_PTHREAD];

/// Goroutines.
const GO: Foreign = Foreign {
    name: "go",
    package: "golang",
    serves: true,
    source: "peers/go",
    installed: || process::installed("go"),
    compile: |source, program| {
        let mut command = Command::new("go");
        command
            .arg("build")
            .arg("-o")
            .arg(program)
            .current_dir(source);
        Ok(command)
    },
};

/// Boost.Fiber.
const BOOST: Foreign = Foreign {
    name: "boost",
    package: "g++ libboost-fiber-dev libboost-dev",
    serves: true,
    source: "peers/boost",
    installed: || {
        let header = |name: &str| Path::new("/usr/include/boost").join(name).is_file();
        process::installed("g++") && header("fiber/all.hpp") && header("asio.hpp")
    },
    compile: |source, program| {
        let mut command = Command::new("g++");
        command
            .args(["-O2", "-DNDEBUG", "-std=c++17", "-o"])
            .arg(program);
        for entry in fs::read_dir(source)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "cpp") {
                command.arg(path);
            }
        }
        command.args(["-lboost_fiber", "-lboost_context", "-pthread"]);
        Ok(command)
    },
};

/// C over our library.
const C_FIBRE: Foreign = in_c(
    Threads::Fibres,
    || Threads::Fibres.installed(),
    |source, program| Threads::Fibres.compile(source, program),
);

/// C over the system's threads.
const C_PTHREAD: Foreign = in_c(
    Threads::System,
    || Threads::System.installed(),
    |source, program| Threads::System.compile(source, program),
);

/// The peer in C over these threads.
const fn in_c(
    threads: Threads,
    installed: fn() -> bool,
    compile: fn(&Path, &Path) -> io::Result<Command>,
) -> Foreign {
    Foreign {
        name: threads.name(),
        package: c::NEEDS,
        serves: false,
        source: "peers/c",
        installed,
        compile,
    }
}

impl Foreign {
    /// Compiles the program where it is older than its source; `None` where
    /// the compiler is not installed.
    pub(crate) fn build(&self) -> anyhow::Result<Option<PathBuf>> {
        if !(self.installed)() {
            return Ok(None);
        }
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(self.source);
        let program = programs::ours(&format!("peer-{}", self.name))?;
        // The flags are this program's.
        let newest = newest(&source)?.max(modified(&env::current_exe()?));
        if newest > modified(&program) {
            let mut command = (self.compile)(&source, &program)?;
            let status = command
                .stdin(Stdio::null())
                .status()
                .with_context(|| format!("compiling {}", self.name))?;
            if !status.success() {
                bail!("{} does not compile: {command:?}", source.display());
            }
        }
        Ok(Some(program))
    }
}

/// When a file changed last; long ago where there is none.
fn modified(path: &Path) -> SystemTime {
    let time = fs::metadata(path).and_then(|metadata| metadata.modified());
    time.unwrap_or(SystemTime::UNIX_EPOCH)
}

/// When the newest file of a directory changed last.
fn newest(directory: &Path) -> anyhow::Result<SystemTime> {
    let mut newest = SystemTime::UNIX_EPOCH;
    for entry in fs::read_dir(directory).with_context(|| directory.display().to_string())? {
        newest = newest.max(modified(&entry?.path()));
    }
    Ok(newest)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A peer that has listed this.
    fn peer(list: &str) -> Peer {
        Peer {
            name: "go".into(),
            program: PathBuf::new(),
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
    fn a_workload_without_the_variant_is_run_as_usual() {
        let peer = peer("work\ncontend fifo");
        let fifo = &peer.with_variants("contend")[1];
        assert_eq!(fifo.variant_of("contend").map(String::as_str), Some("fifo"));
        assert_eq!(fifo.variant_of("work"), None);
        assert_eq!(peer.variant_of("contend"), None);
    }
}
