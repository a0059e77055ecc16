//! The web servers under comparison and how each is started.
//!
//! Those in other languages are compiled when their compiler is installed. Where
//! it is not, tables have a row that says so.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Context as _;
use fibre_bench::serving::is_uring_allowed;

use crate::peers;
use crate::process::programs;
use crate::report::Report;

/// Servers that are binaries of this crate; the bare loops first, and the very first is the limit.
const OURS: &[&str] = &["epoll", "uring", "fibre", "tokio", "may", "thread"];

/// The server that the kernel may not allow.
const URING: Absent = Absent {
    name: "uring",
    package: "a kernel that allows io_uring",
};

/// Servers that a kernel limit ends: four mappings a thread and two a coroutine, of 65,530.
const ENDS: &[(&str, usize)] = &[("thread", 15_000), ("may", 30_000)];

/// A server, and how it is started.
#[derive(Clone)]
pub(crate) struct ServerProgram {
    /// What tables call it.
    pub(crate) name: String,
    program: PathBuf,
    /// What stands before the options.
    arguments: Vec<String>,
    /// How it is told its duty.
    told: Told,
    /// Variables it is started with.
    environment: Vec<(String, String)>,
    /// Where it listens, if it does not say so itself.
    address: Option<String>,
}

/// How a server is told its duty.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    /// By the options of this crate's servers.
    Options,
    /// It answers requests, whatever it is told.
    Nothing,
    /// The same on so many processors, which an option says.
    Processors,
    /// It echoes; a variable says with how many processors.
    Variable,
}

/// A server that is not here.
pub(crate) struct Absent {
    /// What tables would call it.
    pub(crate) name: &'static str,
    /// What to install.
    pub(crate) package: &'static str,
}

/// What a server is to do.
#[derive(Clone, Copy)]
pub(crate) struct Duty {
    /// Kernel threads it may use for its work, where it can be told.
    pub(crate) processors: usize,
    /// Whether it sends back what it reads instead of answering requests.
    pub(crate) echo: bool,
    /// Whether it offers 1 KiB to each read instead of 4 KiB.
    pub(crate) small_buffer: bool,
    /// Bytes of an answer's body, where they are not what all of ours have.
    pub(crate) body: Option<usize>,
}

impl Duty {
    /// Answering requests with so many processors.
    pub(crate) fn answering(processors: usize) -> Self {
        Self {
            processors,
            echo: false,
            small_buffer: false,
            body: None,
        }
    }
}

impl ServerProgram {
    /// The command that starts it; `None` where it cannot do this duty.
    pub(crate) fn command(&self, duty: Duty) -> Option<Command> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        command.envs(self.environment.iter().cloned());
        if self.told == Told::Options {
            command.args(["--processors", &duty.processors.to_string()]);
            if duty.echo {
                command.arg("--echo");
            }
            if duty.small_buffer {
                command.arg("--small-buffer");
            }
            if let Some(bytes) = duty.body {
                command.args(["--body", &bytes.to_string()]);
            }
        } else if self.told == Told::Processors {
            command.args(["--processors", &duty.processors.to_string()]);
        } else if duty.echo != (self.told == Told::Variable) {
            return None;
        } else if duty.echo {
            command.env("FIBRE_PROCESSORS", duty.processors.to_string());
        }
        Some(command)
    }

    /// Where it listens, if it does not say so itself.
    pub(crate) fn address(&self) -> Option<&str> {
        self.address.as_deref()
    }

    /// How many connections it can have, if it may open as many files.
    pub(crate) fn most_connections(&self) -> usize {
        let end = ENDS.iter().find(|(name, _)| *name == self.name);
        end.map_or(usize::MAX, |&(_, most)| most)
    }

    /// This server under another name, with a variable set.
    pub(crate) fn variant(&self, name: &str, variable: &str, value: &str) -> Self {
        let mut variant = self.clone();
        variant.name = format!("{}, {name}", self.name);
        variant.environment.push((variable.into(), value.into()));
        variant
    }

    /// A peer in another language that can be a server.
    fn foreign(name: &str, program: PathBuf) -> Self {
        Self {
            told: Told::Options,
            ..Self::serving(name, program, &["server"])
        }
    }

    /// A program that is told its processors, and serves what it serves.
    pub(crate) fn serving(name: &str, program: PathBuf, arguments: &[&str]) -> Self {
        Self {
            name: name.into(),
            program,
            arguments: arguments.iter().map(|&word| word.into()).collect(),
            told: Told::Processors,
            environment: Vec::new(),
            address: None,
        }
    }

    /// A program that serves by its own settings, at an address that it does not say.
    pub(crate) fn silent(name: &str, program: PathBuf, arguments: &[&str], address: &str) -> Self {
        Self {
            told: Told::Nothing,
            address: Some(address.into()),
            ..Self::serving(name, program, arguments)
        }
    }

    /// A server of the user's, by name and command line.
    pub(crate) fn other(name: &str, line: &str) -> anyhow::Result<Self> {
        let mut words = line.split_whitespace().map(str::to_owned);
        Ok(Self {
            name: name.into(),
            program: words.next().context("an empty command")?.into(),
            arguments: words.collect(),
            told: Told::Nothing,
            environment: Vec::new(),
            address: None,
        })
    }

    /// A server that can only echo.
    pub(crate) fn echoing(name: &str, program: PathBuf) -> Self {
        Self {
            name: name.into(),
            program,
            arguments: Vec::new(),
            told: Told::Variable,
            environment: Vec::new(),
            address: None,
        }
    }
}

/// Every server that is here, and those that are not.
pub(crate) fn find(report: &mut Report) -> anyhow::Result<(Vec<ServerProgram>, Vec<Absent>)> {
    let mut servers = OURS
        .iter()
        .map(|name| {
            Ok(ServerProgram {
                name: (*name).into(),
                program: programs::ours(&format!("server-{name}"))?,
                arguments: Vec::new(),
                told: Told::Options,
                environment: Vec::new(),
                address: None,
            })
        })
        .collect::<anyhow::Result<Vec<_>>>()?;
    let mut absent = Vec::new();
    if !is_uring_allowed() {
        servers.retain(|server| server.name != URING.name);
        absent.push(URING);
    }
    for foreign in peers::FOREIGN.iter().filter(|foreign| foreign.serves) {
        match foreign.build()? {
            Some(program) => servers.push(ServerProgram::foreign(foreign.name, program)),
            None => absent.push(missing(foreign, report)),
        }
    }
    Ok((servers, absent))
}

/// The servers of those that are peers of coloured events only, and those that are not here.
pub(crate) fn find_of_events(
    report: &mut Report,
) -> anyhow::Result<(Vec<ServerProgram>, Vec<Absent>)> {
    let (mut servers, mut absent) = (Vec::new(), Vec::new());
    for foreign in peers::servers_of_events() {
        match foreign.build()? {
            Some(program) => servers.push(ServerProgram::foreign(foreign.name, program)),
            None => absent.push(missing(foreign, report)),
        }
    }
    Ok((servers, absent))
}

/// Notes a server that is not here.
fn missing(foreign: &peers::Foreign, report: &mut Report) -> Absent {
    let (name, package) = (foreign.name, foreign.package);
    report.note(format!(
        "{name}: not installed, so its server is not measured"
    ));
    Absent { name, package }
}
