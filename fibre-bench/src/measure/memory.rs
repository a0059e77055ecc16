//! How much memory a process holds.

use std::{fs, io};

/// The resident set of a process, in bytes.
///
/// # Errors
///
/// When the process has ended, or the kernel does not say.
pub fn resident(pid: u32) -> io::Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    parse(&status).ok_or_else(|| io::Error::other(format!("process {pid} has no resident set")))
}

/// Finds the resident set in a process's status; its unit is always KiB.
fn parse(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_resident_set_is_found() {
        let status = "Name:\tx\nVmHWM:\t     900 kB\nVmRSS:\t     12 kB\nThreads:\t1\n";
        assert_eq!(parse(status), Some(12 << 10));
        assert_eq!(parse("Name:\tx\n"), None);
    }

    #[test]
    fn touched_memory_is_resident() -> io::Result<()> {
        const TOUCHED: usize = 64 << 20;
        let before = resident(std::process::id())?;
        let memory = std::hint::black_box(vec![1_u8; TOUCHED]);
        let after = resident(std::process::id())?;
        drop(memory);
        assert!(after > before + TOUCHED as u64 / 2);
        Ok(())
    }
}
