//! The threads of a process, and how often the kernel switched them.

use std::io;

use crate::memory::process;

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
        for task in process(pid)?.tasks().map_err(io::Error::other)? {
            // A thread may end between the two calls.
            if let Ok(status) = task.and_then(|task| task.status()) {
                let kinds = [
                    status.voluntary_ctxt_switches,
                    status.nonvoluntary_ctxt_switches,
                ];
                all.count += 1;
                all.switches += kinds.into_iter().flatten().sum::<u64>();
            }
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_thread_that_sleeps_is_switched() -> io::Result<()> {
        let before = Threads::of(std::process::id())?;
        std::thread::sleep(Duration::from_millis(1));
        let after = Threads::of(std::process::id())?;
        assert!(after.switches > before.switches && after.count > 0);
        Ok(())
    }
}
