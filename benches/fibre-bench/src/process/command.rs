//! Looking for other programs, and waiting for them with patience that ends.

use std::io::Read as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, thread};

use anyhow::bail;

/// Whether a program is installed.
pub(crate) fn installed(tool: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|directory| directory.join(tool).is_file())
}

/// What a command prints, if it ends well within `limit`.
pub(crate) fn output_within(command: &mut Command, limit: Duration) -> anyhow::Result<String> {
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if started.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            bail!("gave no result within {} s", limit.as_secs());
        }
        thread::sleep(Duration::from_millis(2));
    };
    if !status.success() {
        bail!("ended with {status}");
    }
    let mut text = String::new();
    if let Some(mut output) = child.stdout.take() {
        output.read_to_string(&mut text)?;
    }
    Ok(text)
}
