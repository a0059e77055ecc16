//! Programs of this package that another one starts.

use std::io::{self, BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

/// A server that lies beside this program, and is killed when dropped.
#[derive(Debug)]
pub struct Sibling {
    /// The process.
    pub child: Child,
    /// Where it listens.
    pub address: SocketAddr,
}

impl Sibling {
    /// Starts one, and waits until it says where it listens. Blocks the thread.
    ///
    /// # Errors
    ///
    /// If it is not there, or says something else.
    pub fn start(name: &str, arguments: &[String]) -> io::Result<Self> {
        let program = std::env::current_exe()?.with_file_name(name);
        let mut command = Command::new(&program);
        let child = command.args(arguments).stdout(Stdio::piped()).spawn();
        let child = child.map_err(|error| {
            io::Error::new(error.kind(), format!("{}: {error}", program.display()))
        })?;
        // From here on an error kills it.
        let mut sibling = Self {
            child,
            address: ([127, 0, 0, 1], 0).into(),
        };
        let mut line = String::new();
        if let Some(stdout) = sibling.child.stdout.take() {
            let mut stdout = BufReader::new(stdout);
            stdout.read_line(&mut line)?;
            // It goes on to write there.
            sibling.child.stdout = Some(stdout.into_inner());
        }
        let address = line.trim().strip_prefix("listening on ");
        let address = address.and_then(|url| url.split_once("://")?.1.parse().ok());
        let silent = || io::Error::other(format!("{name} does not listen"));
        sibling.address = address.ok_or_else(silent)?;
        Ok(sibling)
    }
}

impl Drop for Sibling {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
