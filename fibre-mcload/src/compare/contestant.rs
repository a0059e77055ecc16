//! A server under measurement: how it is started, and ended.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::str::FromStr;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use fibre_measure::Pinned as _;
use rustix::process::{Pid, Signal, getuid, kill_process};
use serde::Serialize;

/// How long a server may take to listen.
const START: Duration = Duration::from_secs(10);

/// How long a server may take to end before it is killed.
const GRACE: Duration = Duration::from_secs(3);

/// From one look to the next.
const LOOK: Duration = Duration::from_millis(5);

/// A server that can be started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Contestant {
    /// What it is called in tables.
    pub name: String,
    /// Variables of its environment.
    environment: Vec<(String, String)>,
    /// Program and arguments.
    words: Vec<String>,
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
        })
    }
}

impl Contestant {
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
            .envs(self.environment.iter().cloned());
        if !self.words.iter().any(|word| word.contains("{port}")) {
            let usual =
                "-l 127.0.0.1 -p {port} -U 0 -t {threads} -c {connections} -m 1024 -o hashpower=20";
            command.args(usual.split(' ').map(fill));
            if getuid().is_root() {
                command.args(["-u", "nobody"]);
            }
        }
        command
    }

    /// Starts it on these cores, for so many connections, and waits until it listens.
    pub fn start(&self, cores: &[usize], connections: u32) -> anyhow::Result<Running> {
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
pub struct Running {
    /// The process.
    child: Child,
    /// Where it listens.
    pub address: SocketAddr,
}

impl Running {
    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Ends it: by SIGTERM, at last by force.
    fn end(&mut self) -> io::Result<()> {
        if let Some(pid) = Pid::from_raw(self.child.id().cast_signed()) {
            kill_process(pid, Signal::TERM)?;
        }
        let started = Instant::now();
        while self.child.try_wait()?.is_none() {
            if started.elapsed() > GRACE {
                self.child.kill()?;
            }
            thread::sleep(LOOK);
        }
        Ok(())
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
        Ok(())
    }
}
