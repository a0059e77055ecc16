//! A service that a test has started.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// How long anything may take before it counts as hanging.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// Both programs of a service, by the names of their binaries.
macro_rules! both {
    ($service:literal) => {
        [
            env!(concat!("CARGO_BIN_EXE_", $service, "-fibre")),
            env!(concat!("CARGO_BIN_EXE_", $service, "-tokio")),
        ]
    };
}
pub(crate) use both;

/// The running service, which is killed when it is dropped.
pub(crate) struct Program {
    child: Child,
    /// Its standard input, until it is closed.
    pub(crate) input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Program {
    /// Starts it.
    pub(crate) fn start(path: &str, arguments: &[&str]) -> Self {
        let mut child = Command::new(path)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self {
            child,
            input,
            output,
        }
    }

    /// Reads a line that it prints.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Where it says that it listens.
    pub(crate) fn address(&mut self) -> SocketAddr {
        let line = self.line();
        let address = line.strip_prefix("listening on ");
        address.expect("it listens").parse().unwrap()
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for its end, and returns the status with the rest of what it has printed.
    pub(crate) fn end(mut self) -> (ExitStatus, String) {
        drop(self.input.take());
        let started = Instant::now();
        let mut text = String::new();
        self.output.read_to_string(&mut text).unwrap();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return (status, text);
            }
            assert!(started.elapsed() < LONG, "it does not end");
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
