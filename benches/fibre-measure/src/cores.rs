//! Which cores a measured process runs on.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The cores this program may use: the first ones are for what is measured,
/// the last ones for the load.
#[derive(Clone)]
pub struct Cores(Vec<usize>);

impl Cores {
    /// The cores this process may use.
    pub fn observe() -> io::Result<Self> {
        let allowed = sched_getaffinity(None)?;
        let cores: Vec<usize> = (0..CpuSet::MAX_CPU)
            .filter(|&core| allowed.is_set(core))
            .collect();
        if cores.is_empty() {
            return Err(io::Error::other("no core to run on"));
        }
        Ok(Self(cores))
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The first `count` cores, or all where there are fewer.
    pub fn measured(&self, count: usize) -> Vec<usize> {
        self.0.iter().copied().take(count.max(1)).collect()
    }

    /// The cores beside the first `count`; the last one where none is left, so
    /// that load and measured share it and the wall-clock columns mean little.
    pub fn load(&self, count: usize) -> Vec<usize> {
        let beside = &self.0[count.min(self.0.len() - 1)..];
        beside.to_vec()
    }
}

/// Commands that start on given cores.
pub trait Pinned {
    /// Makes the child and all its threads run on these cores only.
    fn pinned(&mut self, cores: &[usize]) -> &mut Self;
}

impl Pinned for Command {
    fn pinned(&mut self, cores: &[usize]) -> &mut Self {
        let mut set = CpuSet::new();
        for &core in cores {
            set.set(core);
        }
        // SAFETY: between fork and exec the closure makes one system call on
        // a set it owns; it neither allocates nor takes a lock.
        unsafe { self.pre_exec(move || Ok(sched_setaffinity(None, &set)?)) }
    }
}
