//! How much memory processes hold, and the kernel for them.

use std::{fs, io};

/// What a process, or several together, hold; in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Memory {
    /// The resident set.
    pub resident: u64,
    /// What of it lies in the largest mapping that no file stands behind.
    pub largest: u64,
    /// The kernel's tables of where its pages are.
    pub page_tables: u64,
}

impl Memory {
    /// The memory of several processes, added up.
    ///
    /// # Errors
    ///
    /// When one of them has ended, or the kernel does not say.
    pub fn of_all(processes: impl IntoIterator<Item = u32>) -> io::Result<Self> {
        let mut sum = Self::default();
        for pid in processes {
            let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
            sum.resident += field(&status, "VmRSS:")?;
            sum.page_tables += field(&status, "VmPTE:")?;
            sum.largest += largest(&fs::read_to_string(format!("/proc/{pid}/smaps"))?);
        }
        Ok(sum)
    }
}

/// The resident set of a process, in bytes.
///
/// # Errors
///
/// When the process has ended, or the kernel does not say.
pub fn resident(pid: u32) -> io::Result<u64> {
    field(
        &fs::read_to_string(format!("/proc/{pid}/status"))?,
        "VmRSS:",
    )
}

/// The largest that the resident set of a process has been, in bytes.
///
/// # Errors
///
/// When the process has ended, or the kernel does not say.
pub fn peak_resident(pid: u32) -> io::Result<u64> {
    field(
        &fs::read_to_string(format!("/proc/{pid}/status"))?,
        "VmHWM:",
    )
}

/// What the kernel of this machine holds in slabs, where sockets lie, and in the
/// stacks of threads; in bytes.
///
/// # Errors
///
/// When it does not say.
pub fn kernel_memory() -> io::Result<u64> {
    let all = fs::read_to_string("/proc/meminfo")?;
    Ok(field(&all, "Slab:")? + field(&all, "KernelStack:")?)
}

/// Finds a field. Its unit is always KiB.
fn field(text: &str, name: &str) -> io::Result<u64> {
    let value = || {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
        Some(kibibytes << 10)
    };
    value().ok_or_else(|| io::Error::other(format!("there is no {name}")))
}

/// The resident part of the anonymous mapping with the largest one, of the
/// kernel's list of mappings: a head for each, then its fields.
fn largest(mappings: &str) -> u64 {
    let mut anonymous = false;
    let mut largest = 0;
    for line in mappings.lines() {
        if let Some(size) = line.strip_prefix("Rss:") {
            let kibibytes = size.trim().strip_suffix(" kB").map(str::parse::<u64>);
            if let Some(Ok(kibibytes)) = kibibytes.filter(|_| anonymous) {
                largest = largest.max(kibibytes << 10);
            }
        } else if !line
            .split_whitespace()
            .next()
            .is_some_and(|word| word.ends_with(':'))
        {
            // Addresses, rights, offset, device, inode: 0 where there is no file.
            anonymous = line.split_whitespace().nth(4) == Some("0");
        }
    }
    largest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_are_found() -> io::Result<()> {
        let status = "Name:\tx\nVmHWM:\t     900 kB\nVmRSS:\t     12 kB\nThreads:\t1\n";
        assert_eq!(field(status, "VmRSS:")?, 12 << 10);
        assert!(field(status, "VmPTE:").is_err());
        Ok(())
    }

    #[test]
    fn the_largest_mapping_is_no_file() {
        let mappings = "\
00400000-00800000 r-xp 00000000 00:1b 77 /usr/bin/x
Rss:                4096 kB
7f0000000000-7f0100000000 rw-p 00000000 00:00 0
Size:            4194304 kB
Rss:                  64 kB
VmFlags: rd wr
55000000-56000000 rw-p 00000000 00:00 0   [heap]
Rss:                  12 kB
";
        assert_eq!(largest(mappings), 64 << 10);
    }

    #[test]
    fn touched_memory_is_resident() -> io::Result<()> {
        const TOUCHED: usize = 64 << 20;
        let own = || Memory::of_all([std::process::id()]);
        let before = own()?;
        let memory = std::hint::black_box(vec![1_u8; TOUCHED]);
        let after = own()?;
        drop(memory);
        assert!(after.resident > before.resident + TOUCHED as u64 / 2);
        assert!(after.largest >= TOUCHED as u64);
        assert!(after.page_tables > before.page_tables && kernel_memory()? > 0);
        Ok(())
    }
}
