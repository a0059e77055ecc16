//! The threads of a process, and how often the kernel switched them.

use std::{fs, io};

/// The threads of a process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Threads {
    /// How many there are.
    pub count: u64,
    /// How often those that are left were switched away from, by their own will or not.
    pub switches: u64,
}

impl Threads {
    /// The threads of a process.
    ///
    /// # Errors
    ///
    /// When the process has ended.
    pub fn of(pid: u32) -> io::Result<Self> {
        let mut all = Self::default();
        for entry in fs::read_dir(format!("/proc/{pid}/task"))? {
            // A thread may end between the two calls.
            if let Ok(status) = fs::read_to_string(entry?.path().join("status")) {
                all.count += 1;
                all.switches += switches(&status);
            }
        }
        Ok(all)
    }
}

/// The switches of a thread, of both kinds.
fn switches(status: &str) -> u64 {
    let fields = status.lines().filter_map(|line| line.split_once(':'));
    let switches = fields.filter(|(name, _)| name.ends_with("voluntary_ctxt_switches"));
    switches
        .filter_map(|(_, count)| count.trim().parse::<u64>().ok())
        .sum()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn both_kinds_are_added() {
        let status = "Name:\tx\nvoluntary_ctxt_switches:\t3\nnonvoluntary_ctxt_switches:\t4\n";
        assert_eq!(switches(status), 7);
    }

    #[test]
    fn a_thread_that_sleeps_is_switched() -> io::Result<()> {
        let before = Threads::of(std::process::id())?;
        std::thread::sleep(Duration::from_millis(1));
        let after = Threads::of(std::process::id())?;
        assert!(after.switches > before.switches && after.count > 0);
        Ok(())
    }
}
