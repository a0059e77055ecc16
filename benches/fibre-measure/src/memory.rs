//! How much memory processes hold, and the kernel for them.

use std::io;

use procfs::process::{MemoryMaps, Process, Status};
use procfs::{Current as _, Meminfo};

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
            let process = process(pid)?;
            let status = process.status().map_err(io::Error::other)?;
            sum.resident += kibibytes(status.vmrss)?;
            sum.page_tables += kibibytes(status.vmpte)?;
            sum.largest += largest(&process.smaps().map_err(io::Error::other)?);
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
    kibibytes(status(pid)?.vmrss)
}

/// The largest that the resident set of a process has been, in bytes.
///
/// # Errors
///
/// When the process has ended, or the kernel does not say.
pub fn peak_resident(pid: u32) -> io::Result<u64> {
    kibibytes(status(pid)?.vmhwm)
}

/// What the kernel of this machine holds in slabs, where sockets lie, and in the
/// stacks of threads; in bytes.
///
/// # Errors
///
/// When it does not say.
pub fn kernel_memory() -> io::Result<u64> {
    let all = Meminfo::current().map_err(io::Error::other)?;
    Ok(all.slab + all.kernel_stack.unwrap_or_default())
}

/// A process.
pub(crate) fn process(pid: u32) -> io::Result<Process> {
    Process::new(pid.cast_signed()).map_err(io::Error::other)
}

/// What the kernel says of a process.
fn status(pid: u32) -> io::Result<Status> {
    process(pid)?.status().map_err(io::Error::other)
}

/// A field of that, in bytes. A process that has ended, and waits to be collected, has none.
fn kibibytes(field: Option<u64>) -> io::Result<u64> {
    let there = field.map(|kibibytes| kibibytes << 10);
    there.ok_or_else(|| io::Error::other("the process holds no memory any more"))
}

/// The resident part of the mapping with the largest one, of those that have no inode.
fn largest(mappings: &MemoryMaps) -> u64 {
    let anonymous = mappings.iter().filter(|mapping| mapping.inode == 0);
    let resident = anonymous.filter_map(|mapping| mapping.extension.map.get("Rss").copied());
    resident.max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use procfs::FromRead as _;

    use super::*;

    #[test]
    fn the_largest_mapping_is_no_file() -> Result<(), procfs::ProcError> {
        let mappings = concat!(
            "00400000-00800000 r-xp 00000000 00:1b 77 /usr/bin/x\n",
            "Rss:                4096 kB\n",
            "7f0000000000-7f0100000000 rw-p 00000000 00:00 0 \n",
            "Size:            4194304 kB\n",
            "Rss:                  64 kB\n",
            "VmFlags: rd wr\n",
            "55000000-56000000 rw-p 00000000 00:00 0   [heap]\n",
            "Rss:                  12 kB\n",
        );
        let mappings = MemoryMaps::from_read(mappings.as_bytes())?;
        assert_eq!(largest(&mappings), 64 << 10);
        Ok(())
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
