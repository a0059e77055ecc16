//! The server's process, seen from outside: `/proc` and its CPU clock.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use fibre_measure::{CpuClock, Threads, resident};
use procfs::net::TcpState;
use procfs::process::{FDTarget, Process, all_processes};
use serde::{Deserialize, Serialize};

/// The server's process.
#[derive(Clone, Copy)]
pub struct ServerProcess {
    /// Its id.
    pid: u32,
    /// Its CPU time.
    clock: CpuClock,
}

/// What it has used and holds at some time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// CPU time, in seconds.
    pub cpu_seconds: f64,
    /// That of it in user mode, to a hundredth.
    pub user_seconds: f64,
    /// That of it in kernel mode, to a hundredth.
    pub system_seconds: f64,
    /// The resident set, in bytes.
    pub resident_bytes: u64,
    /// Open files.
    pub descriptors: u64,
    /// Threads.
    pub threads: u64,
}

impl Usage {
    /// What was used since an earlier time, and is held now.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            cpu_seconds: self.cpu_seconds - earlier.cpu_seconds,
            user_seconds: self.user_seconds - earlier.user_seconds,
            system_seconds: self.system_seconds - earlier.system_seconds,
            ..*self
        }
    }
}

impl ServerProcess {
    /// The process with an id.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub fn of(pid: u32) -> io::Result<Self> {
        let clock = CpuClock::of(pid)?;
        Ok(Self { pid, clock })
    }

    /// The process of this machine that listens on an address, if there is one that we may look at.
    #[must_use]
    pub fn listening_on(address: SocketAddr) -> Option<Self> {
        let inode = listener(address)?;
        let has_it = |process: &Process| {
            let mut files = process.fd().into_iter().flatten().flatten();
            files.any(|file| file.target == FDTarget::Socket(inode))
        };
        let mut processes = all_processes().ok()?.flatten();
        Self::of(processes.find(has_it)?.pid().cast_unsigned()).ok()
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.pid
    }

    /// What it has used and holds now.
    ///
    /// # Errors
    ///
    /// When it has ended, or may not be looked at.
    pub fn usage(&self) -> io::Result<Usage> {
        let process = Process::new(self.pid.cast_signed()).map_err(io::Error::other)?;
        let stat = process.stat().map_err(io::Error::other)?;
        let seconds = |ticks: u64| ticks as f64 / procfs::ticks_per_second() as f64;
        Ok(Usage {
            cpu_seconds: self.clock.read()?.as_secs_f64(),
            user_seconds: seconds(stat.utime),
            system_seconds: seconds(stat.stime),
            resident_bytes: resident(self.pid)?,
            descriptors: process.fd_count().map_err(io::Error::other)? as u64,
            threads: Threads::of(self.pid)?.count,
        })
    }
}

/// The inode of the socket that listens on an address' port.
fn listener(address: SocketAddr) -> Option<u64> {
    let tables = [procfs::net::tcp, procfs::net::tcp6];
    let mut all = tables
        .into_iter()
        .filter_map(|table| table().ok())
        .flatten();
    let found = all.find(|entry| {
        entry.state == TcpState::Listen && entry.local_address.port() == address.port()
    });
    found.map(|entry| entry.inode)
}

/// What a server held at some time of a run.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Sight {
    /// Since when the run counts, in seconds.
    pub at: f64,
    /// What it had used and held.
    #[serde(flatten)]
    pub usage: Usage,
}

/// The time between two looks in a run of some length.
#[must_use]
pub fn distance(length: Duration) -> Duration {
    (length / 100).clamp(Duration::from_millis(100), Duration::from_secs(30))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_listens_is_found() -> io::Result<()> {
        let socket = std::net::TcpListener::bind("127.0.0.1:0")?;
        let found = ServerProcess::listening_on(socket.local_addr()?);
        let found = found.ok_or_else(|| io::Error::other("nobody was found"))?;
        assert_eq!(found.id(), std::process::id());
        let usage = found.usage()?;
        assert!(usage.cpu_seconds > 0.0 && usage.resident_bytes > 0 && usage.threads > 0);
        assert!(usage.descriptors >= 3);
        let later = found.usage()?.since(&usage);
        assert!(later.cpu_seconds < 1.0 && later.resident_bytes > 0);
        Ok(())
    }
}
