//! A server under measurement: how it is started, and ended.

use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::str::FromStr;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use fibre_measure::Pinned as _;
use rustix::process::getuid;
use serde::{Deserialize, Serialize, Serializer};

/// What a server is started with that does not say itself where it listens.
pub(super) const USUAL: &str =
    "-l 127.0.0.1 -p {port} -U 0 -t {threads} -c {connections} -m 1024 -o hashpower=20";

/// How long a server may take to listen.
const START: Duration = Duration::from_secs(10);

/// The time between two looks.
const LOOK: Duration = Duration::from_millis(5);

/// A server that can be started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Contestant {
    /// What it is called in tables.
    pub name: String,
    /// Variables of its environment.
    environment: Vec<(String, String)>,
    /// Program and arguments.
    #[serde(serialize_with = "without_folder")]
    words: Vec<String>,
    /// Whether it is another one with other variables, which is measured at few points.
    pub is_variant: bool,
}

/// Variables that a server is measured under once more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Variant {
    /// What it is called in tables, behind the server's name.
    name: String,
    /// The variables.
    environment: Vec<(String, String)>,
}

impl FromStr for Variant {
    type Err = String;

    /// `NAME=VARIABLE=VALUE`, more variables after spaces.
    fn from_str(text: &str) -> Result<Self, String> {
        let expected = "NAME=VARIABLE=VALUE";
        let (name, variables) = text.split_once('=').ok_or(expected)?;
        let variables = variables.split_whitespace().map(|word| {
            let (variable, value) = word.split_once('=')?;
            Some((variable.to_owned(), value.to_owned()))
        });
        let environment: Option<Vec<_>> = variables.collect();
        match environment {
            Some(environment) if !environment.is_empty() && !name.is_empty() => Ok(Self {
                name: name.into(),
                environment,
            }),
            _ => Err(expected.into()),
        }
    }
}

impl FromStr for Contestant {
    type Err = String;

    /// `NAME=COMMAND`: words between spaces, the first ones may be `VARIABLE=VALUE`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, command) = text.split_once('=').ok_or("NAME=COMMAND")?;
        let mut words = command.split_whitespace().map(str::to_owned).peekable();
        let mut environment = Vec::new();
        while let Some((variable, value)) = words.peek().and_then(|word| word.split_once('=')) {
            environment.push((variable.to_owned(), value.to_owned()));
            words.next();
        }
        let words: Vec<String> = words.collect();
        if name.is_empty() || words.is_empty() {
            return Err("NAME=COMMAND, neither of them empty".into());
        }
        Ok(Self {
            name: name.into(),
            environment,
            words,
            is_variant: false,
        })
    }
}

impl fmt::Display for Contestant {
    /// As it is started, but for the usual options.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (variable, value) in &self.environment {
            write!(f, "{variable}={value} ")?;
        }
        f.write_str(&short(&self.words).join(" "))
    }
}

/// A command without its program's folder, which says nothing on another machine.
fn short(words: &[String]) -> Vec<&str> {
    let mut words: Vec<_> = words.iter().map(String::as_str).collect();
    if let Some(program) = words.first_mut() {
        let name = Path::new(*program).file_name().and_then(OsStr::to_str);
        *program = name.unwrap_or(program);
    }
    words
}

/// See [`short`].
fn without_folder<S: Serializer>(words: &[String], serializer: S) -> Result<S::Ok, S::Error> {
    short(words).serialize(serializer)
}

impl Contestant {
    /// The same server under other variables.
    pub(super) fn under(&self, variant: &Variant) -> Self {
        let own = self.environment.iter().cloned();
        Self {
            name: format!("{}, {}", self.name, variant.name),
            environment: own.chain(variant.environment.iter().cloned()).collect(),
            words: self.words.clone(),
            is_variant: true,
        }
    }

    /// Whether it is one of ours by its name.
    pub(super) fn is_ours(&self) -> bool {
        self.name.starts_with("fibre")
    }

    /// What it is started with on a port.
    fn command(&self, port: u16, cores: usize, connections: u32) -> Command {
        let fill = |word: &str| {
            word.replace("{port}", &port.to_string())
                .replace("{threads}", &cores.to_string())
                .replace("{connections}", &connections.to_string())
        };
        let mut command = Command::new(&self.words[0]);
        command
            .args(self.words[1..].iter().map(|word| fill(word)))
            .envs(
                self.environment
                    .iter()
                    .map(|(name, value)| (name, fill(value))),
            );
        let mut said = self
            .words
            .iter()
            .chain(self.environment.iter().map(|(_, value)| value));
        if !said.any(|word| word.contains("{port}")) {
            command.args(USUAL.split(' ').map(fill));
            if getuid().is_root() {
                command.args(["-u", "nobody"]);
            }
        }
        command
    }

    /// Starts it on these cores, for so many connections, and waits until it listens.
    pub(super) fn start(&self, cores: &[usize], connections: u32) -> anyhow::Result<Running> {
        let address = free_address()?;
        let mut child = self
            .command(address.port(), cores.len(), connections + 1024)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .pinned(cores)
            .spawn()
            .with_context(|| format!("starting {}", self.words[0]))?;
        let started = Instant::now();
        while TcpStream::connect(address).is_err() {
            if let Some(status) = child.try_wait()? {
                bail!("{} has ended with {status}", self.name);
            }
            if started.elapsed() > START {
                child.kill()?;
                child.wait()?;
                bail!("{} does not listen on {address}", self.name);
            }
            thread::sleep(LOOK);
        }
        Ok(Running { child, address })
    }
}

/// An address of this machine where nobody listens now.
fn free_address() -> io::Result<SocketAddr> {
    TcpListener::bind("127.0.0.1:0")?.local_addr()
}

/// A running server; dropping it ends it.
pub(super) struct Running {
    /// The process.
    child: Child,
    /// Where it listens.
    pub address: SocketAddr,
}

impl Running {
    /// The process id.
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Ends it, by force: nobody waits for what it would still do.
    fn end(&mut self) -> io::Result<()> {
        self.child.kill()?;
        self.child.wait().map(drop)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            eprintln!("fibre-mcload: a server did not end: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_has_variables_a_program_and_arguments() -> Result<(), String> {
        let contestant: Contestant =
            "spin=FIRST=1 SECOND=x=y ./server -p {port} -t {threads}".parse()?;
        assert_eq!(contestant.name, "spin");
        let variables =
            [("FIRST", "1"), ("SECOND", "x=y")].map(|(name, value)| (name.into(), value.into()));
        assert_eq!(contestant.environment, variables);
        let command = contestant.command(77, 2, 9);
        assert_eq!(command.get_program(), "./server");
        assert!(command.get_args().eq(["-p", "77", "-t", "2"]));
        let usual: Contestant = "vanilla=memcached".parse()?;
        let command = usual.command(77, 2, 9);
        let arguments: Vec<_> = command.get_args().collect();
        assert_eq!(
            arguments[..10],
            [
                "-l",
                "127.0.0.1",
                "-p",
                "77",
                "-U",
                "0",
                "-t",
                "2",
                "-c",
                "9"
            ]
        );
        for text in ["", "vanilla", "vanilla=", "=memcached", "x=A=1"] {
            assert!(text.parse::<Contestant>().is_err(), "{text}");
        }
        let port_in_variable: Contestant = "vanilla=PORT={port} memcached".parse()?;
        let command = port_in_variable.command(77, 2, 9);
        assert_eq!(command.get_args().count(), 0);
        let value = command.get_envs().find_map(|(_, value)| value);
        assert_eq!(value, Some("77".as_ref()));
        Ok(())
    }

    #[test]
    fn a_variant_has_more_variables() -> Result<(), String> {
        let server: Contestant = "fibre=A=1 ./some/server".parse()?;
        let other = server.under(&"locked queue=FIBRE_QUEUE=locked B=2".parse()?);
        assert_eq!(other.name, "fibre, locked queue");
        assert_eq!(other.to_string(), "A=1 FIBRE_QUEUE=locked B=2 server");
        assert!(other.is_variant && other.is_ours() && !server.is_variant);
        for text in ["", "locked", "locked=", "locked=FIBRE_QUEUE", "=A=1"] {
            assert!(text.parse::<Variant>().is_err(), "{text}");
        }
        Ok(())
    }
}
