//! The server's process, seen from outside: `/proc` and its CPU clock.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt as _;
use std::time::Duration;

use fibre_measure::{CpuClock, Threads, resident};
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
        let wanted = format!("socket:[{inode}]");
        let processes = fs::read_dir("/proc").ok()?.flatten();
        let mut pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let pid = pids.find(|&pid: &u32| {
            let Ok(files) = fs::read_dir(format!("/proc/{pid}/fd")) else {
                return false;
            };
            let mut links = files
                .flatten()
                .filter_map(|file| fs::read_link(file.path()).ok());
            links.any(|link| link.as_os_str() == wanted.as_str())
        })?;
        Self::of(pid).ok()
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
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid))?;
        let [user, system] = ticks(&stat).ok_or_else(|| io::Error::other("no times in stat"))?;
        Ok(Usage {
            cpu_seconds: self.clock.read()?.as_secs_f64(),
            user_seconds: user,
            system_seconds: system,
            resident_bytes: resident(self.pid)?,
            descriptors: fs::metadata(format!("/proc/{}/fd", self.pid))?.size(),
            threads: Threads::of(self.pid)?.count,
        })
    }
}

/// User and system time, in seconds, of the line in `/proc/PID/stat`: fields 14 and 15; the second
/// field may contain anything in brackets. The kernel counts in hundredths for programs, whatever
/// its own clock is.
fn ticks(stat: &str) -> Option<[f64; 2]> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11);
    let mut next = || {
        fields
            .next()?
            .parse::<f64>()
            .ok()
            .map(|ticks| ticks / 100.0)
    };
    Some([next()?, next()?])
}

/// The inode of the socket that listens on an address.
fn listener(address: SocketAddr) -> Option<u64> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"];
    let port = format!(":{:04X}", address.port());
    tables.into_iter().find_map(|table| {
        let text = fs::read_to_string(table).ok()?;
        text.lines().skip(1).find_map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            // Local address and port, and the state: 0A listens.
            let listens = fields.get(1)?.ends_with(&port) && *fields.get(3)? == "0A";
            listens.then(|| fields.get(9)?.parse().ok())?
        })
    })
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
    fn times_are_found_behind_a_strange_name() {
        let stat = "77 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 250 125 0 0";
        assert_eq!(ticks(stat), Some([2.5, 1.25]));
        assert_eq!(ticks("77 (a) S"), None);
    }

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
