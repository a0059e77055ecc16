//! A web server under measurement: started on its core, ended by its id.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, io, thread};

use anyhow::{Context as _, bail};
use fibre_bench::serving::ANNOUNCEMENT;
use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, setrlimit};

use super::cores::Pinned as _;
use crate::measure::CpuClock;

/// How long a server may take to end before it is killed.
const GRACE: Duration = Duration::from_secs(2);

/// How to start a server.
#[derive(Clone)]
pub(crate) enum ServerCommand {
    /// A binary of this crate.
    Ours(&'static str),
    /// Program and arguments of another server, parted by blanks.
    Other(String),
}

/// A running server; dropping it ends it.
pub(crate) struct Server {
    child: Child,
    /// `HOST:PORT` it listens on.
    pub(crate) address: String,
    /// CPU time of the whole process.
    pub(crate) cpu: CpuClock,
}

impl Server {
    /// Starts a server on `core` and waits until it listens.
    pub(crate) fn start(command: &ServerCommand, core: usize) -> anyhow::Result<Self> {
        let mut process = command.to_process()?;
        let mut child = process
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .pinned(core)
            .spawn()
            .with_context(|| format!("starting {}", process.get_program().display()))?;
        match await_announcement(&mut child) {
            Ok((address, cpu)) => Ok(Self {
                child,
                address,
                cpu,
            }),
            Err(error) => {
                child.kill()?;
                child.wait()?;
                Err(error)
            }
        }
    }

    /// The process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Ends the server: by closing its input, by SIGTERM, at last by force.
    fn end(&mut self) -> io::Result<()> {
        drop(self.child.stdin.take());
        if let Some(pid) = Pid::from_raw(self.child.id().cast_signed()) {
            kill_process(pid, Signal::TERM)?;
        }
        let started = Instant::now();
        while self.child.try_wait()?.is_none() {
            if started.elapsed() > GRACE {
                self.child.kill()?;
            }
            thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            eprintln!("fibre-bench: a server did not end: {error}");
        }
    }
}

impl ServerCommand {
    /// The command line as a process to be.
    fn to_process(&self) -> anyhow::Result<Command> {
        match self {
            Self::Ours(binary) => Ok(Command::new(program_directory()?.join(binary))),
            Self::Other(line) => {
                let mut words = line.split_whitespace();
                let mut command = Command::new(words.next().context("an empty command")?);
                command.args(words);
                Ok(command)
            }
        }
    }
}

/// Reads the server's output up to the line that says where it listens; what
/// it prints later is thrown away.
fn await_announcement(child: &mut Child) -> anyhow::Result<(String, CpuClock)> {
    let output = child.stdout.take().context("the output was not piped")?;
    let mut output = BufReader::new(output);
    let mut line = String::new();
    loop {
        line.clear();
        if output.read_line(&mut line)? == 0 {
            bail!("the server ended before it listened");
        }
        if let Some((_, after)) = line.split_once(ANNOUNCEMENT) {
            let address = after.split_whitespace().next().unwrap_or(after);
            let address = address.trim_start_matches("http://").trim_end_matches('/');
            thread::spawn(move || io::copy(&mut output.by_ref(), &mut io::sink()));
            return Ok((address.into(), CpuClock::of(child.id())?));
        }
    }
}

/// Makes servers ready to be measured: builds them, and lets them open as many
/// files as the system allows.
pub(crate) fn prepare_servers() -> anyhow::Result<()> {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    setrlimit(Resource::Nofile, raised).context("raising the limit of open files")?;
    build_servers()
}

/// Builds the server binaries beside this program. A plain `cargo run` builds
/// the harness alone, and without this a server could be older than the tree.
fn build_servers() -> anyhow::Result<()> {
    let Some(cargo) = env::var_os("CARGO") else {
        return Ok(()); // started by hand: what lies there is measured
    };
    let directory = program_directory()?;
    let profile = match directory.file_name().and_then(OsStr::to_str) {
        Some("debug") | None => "dev",
        Some(name) => name,
    };
    let mut build = Command::new(cargo);
    build.args(["build", "--quiet", "--package", env!("CARGO_PKG_NAME")]);
    build.args(["--bins", "--profile", profile]);
    if let Some(target) = directory.parent() {
        build.arg("--target-dir").arg(target);
    }
    if !build.status().context("starting cargo")?.success() {
        bail!("the servers do not build");
    }
    Ok(())
}

/// Where this program lies, and the servers beside it.
fn program_directory() -> anyhow::Result<PathBuf> {
    let mut path = env::current_exe()?;
    path.pop();
    Ok(path)
}
