//! Counts of system calls, by `strace -c`.
//!
//! A traced server is several times slower, so its batches are larger than
//! without the tracer; the calls a request cannot do without stay.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use anyhow::Context as _;
use rustix::process::{Pid, Signal, kill_process};

use super::command;

/// Calls of one kind.
#[derive(Debug, PartialEq)]
pub(crate) struct Calls {
    pub(crate) name: String,
    pub(crate) calls: u64,
    /// How many of them failed.
    pub(crate) failed: u64,
}

/// A tracer that follows a running process and its threads.
pub(crate) struct Tracer {
    child: Child,
    /// Where it writes its summary.
    summary: std::path::PathBuf,
}

/// Whether strace is installed.
pub(crate) fn installed() -> bool {
    command::installed("strace")
}

impl Tracer {
    /// Attaches to a process and waits until strace says so.
    pub(crate) fn attach(pid: u32) -> anyhow::Result<Self> {
        let summary = std::env::temp_dir().join(format!("fibre-bench-strace-{pid}"));
        let mut child = Command::new("strace")
            .args(["-f", "-c", "-U", "name,calls,errors", "-o"])
            .arg(&summary)
            .args(["-p", &pid.to_string()])
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .context("starting strace")?;
        let error = child.stderr.take().context("stderr was not piped")?;
        let mut error = BufReader::new(error);
        let mut line = String::new();
        error.read_line(&mut line)?;
        // Later lines (one for each new thread) must find a reader.
        std::thread::spawn(move || std::io::copy(&mut error, &mut std::io::sink()));
        let tracer = Self { child, summary };
        anyhow::ensure!(line.contains("attached"), "strace: {}", line.trim());
        Ok(tracer)
    }

    /// Detaches and returns what was counted.
    pub(crate) fn finish(mut self) -> anyhow::Result<Vec<Calls>> {
        self.interrupt()?;
        let text = fs::read_to_string(&self.summary).context("reading strace's summary")?;
        Ok(parse(&text))
    }

    /// Asks strace to detach and waits for its end.
    fn interrupt(&mut self) -> anyhow::Result<()> {
        if self.child.try_wait()?.is_none()
            && let Some(pid) = Pid::from_raw(self.child.id().cast_signed())
        {
            kill_process(pid, Signal::INT)?;
        }
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        if let Err(error) = self.interrupt() {
            eprintln!("fibre-bench: strace did not end: {error}");
        }
        // A summary that was never written needs no removal.
        fs::remove_file(&self.summary).ok();
    }
}

/// Reads the summary: name, calls and, where any failed, errors; the most
/// frequent first.
fn parse(text: &str) -> Vec<Calls> {
    let mut rows: Vec<Calls> = text.lines().filter_map(parse_row).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.calls));
    rows
}

/// One row; the header, rules and total are not rows.
fn parse_row(line: &str) -> Option<Calls> {
    let mut words = line.split_whitespace();
    let name = words.next().filter(|&name| name != "total")?;
    let calls = words.next()?.parse().ok()?;
    let failed = words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
    Some(Calls {
        name: name.into(),
        calls,
        failed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_read() {
        let text = "\
syscall                   calls    errors
--------------------- --------- ---------
epoll_wait                   12
recvfrom                    120        20
--------------------- --------- ---------
total                       132        20
";
        let rows = parse(text);
        assert_eq!(rows.len(), 2);
        assert_eq!(
            (rows[0].name.as_str(), rows[0].calls, rows[0].failed),
            ("recvfrom", 120, 20)
        );
        assert_eq!((rows[1].calls, rows[1].failed), (12, 0));
    }
}
