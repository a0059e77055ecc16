//! Servers that the tests start.

use std::io::{self, BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use fibre_bench::serving::ANNOUNCEMENT;

/// A running server, which ends when it is dropped.
pub(crate) struct Server {
    /// The process; its input is a pipe.
    pub child: Child,
    /// Where it listens.
    pub address: String,
}

impl Server {
    /// Starts a server and waits until it listens.
    pub(crate) fn start(path: &str, arguments: &[&str]) -> io::Result<Self> {
        let mut child = Command::new(path)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        let address = line.trim().strip_prefix(ANNOUNCEMENT);
        let address = address.ok_or(io::ErrorKind::InvalidData)?.into();
        Ok(Self { child, address })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        self.child.wait().ok();
    }
}
