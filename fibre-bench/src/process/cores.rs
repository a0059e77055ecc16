//! Which core a measured process runs on.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The two cores of a measurement: what is measured runs alone on the first,
/// the load comes from the second.
#[derive(Clone, Copy)]
pub(crate) struct Cores {
    pub(crate) measured: usize,
    pub(crate) load: usize,
}

impl Cores {
    /// The first two cores this process may use; with a single one, load and
    /// measured share it and the wall-clock columns mean little.
    pub(crate) fn choose() -> io::Result<Self> {
        let allowed = sched_getaffinity(None)?;
        let mut cores = (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core));
        let measured = cores
            .next()
            .ok_or_else(|| io::Error::other("no core to run on"))?;
        Ok(Self {
            measured,
            load: cores.next().unwrap_or(measured),
        })
    }
}

/// Commands that start on a given core.
pub(crate) trait Pinned {
    /// Makes the child and all its threads run on `core` only.
    fn pinned(&mut self, core: usize) -> &mut Self;
}

impl Pinned for Command {
    fn pinned(&mut self, core: usize) -> &mut Self {
        let mut set = CpuSet::new();
        set.set(core);
        // SAFETY: between fork and exec the closure makes one system call on
        // a set it owns; it neither allocates nor takes a lock.
        unsafe { self.pre_exec(move || Ok(sched_setaffinity(None, &set)?)) }
    }
}
