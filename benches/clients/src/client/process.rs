//! `std::process`: a program for each call.

use std::process::Command;
use std::time::Duration;

use anyhow::{Result, ensure};

use super::Client;

/// A shell for each call, which needs no server.
pub struct Process;

impl Client for Process {
    fn connect(_: &str) -> Result<Self> {
        Ok(Self)
    }

    /// A shell that sleeps, and then prints the token and, as an error, its length.
    fn call(&mut self, wait: Duration, token: &str) -> Result<String> {
        let script = "sleep \"$0\"; echo \"$1\"; echo \"${#1}\" >&2";
        let wait = wait.as_secs_f64().to_string();
        let output = Command::new("sh")
            .args(["-c", script, &wait, token])
            .output()?;
        ensure!(output.status.success(), "{}", output.status);
        let length: usize = String::from_utf8(output.stderr)?.trim().parse()?;
        ensure!(length == token.len(), "{length} bytes of {token}");
        Ok(String::from_utf8(output.stdout)?.trim_end().to_owned())
    }
}
