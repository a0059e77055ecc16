//! A program of this package that a test has started, on one processor: a call that blocked it
//! would keep all else waiting.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, ChildStdout, Command, Stdio};

/// A service, which is killed when it is dropped.
pub(crate) struct Program {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Program {
    /// Starts it.
    pub(crate) fn start(path: &str, arguments: &[&str]) -> Self {
        let mut child = Command::new(path)
            .args(arguments)
            .envs([("FIBRE_PROCESSORS", "1"), ("FIBRE_MAX_SPARE", "0")])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output }
    }

    /// Where it says that it listens.
    pub(crate) fn address(&mut self) -> SocketAddr {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        let address = line.trim_end().strip_prefix("listening on ");
        address.expect("it listens").parse().unwrap()
    }

    /// Waits for its end, which must be a success, and returns what it has printed.
    pub(crate) fn printed(mut self) -> String {
        let mut text = String::new();
        self.output.read_to_string(&mut text).unwrap();
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}");
        text
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
