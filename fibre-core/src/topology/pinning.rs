//! Which CPUs processors run on.

use super::cpu_set::{CpuSet, ParseCpuSetError};
use super::machine::{Cpu, Topology};
use super::tree::Tree;
use std::io;
use std::str::FromStr;

/// Which CPUs the processors of a cluster run on.
///
/// In the environment variable `FIBRE_PIN`: `none`, `each`, or sets of CPUs between
/// semicolons, as in `0-3;4-7`.
///
/// ```
/// use fibre::Cluster;
/// use fibre::topology::{CpuSet, Pinning};
///
/// let cpus = CpuSet::of_thread()?;
/// let cluster = Cluster::builder().pin(Pinning::Sets(vec![cpus.clone()])).build()?;
/// assert_eq!(cluster.spawn(CpuSet::of_thread).join().unwrap()?, cpus);
/// cluster.stop();
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Pinning {
    /// Where the kernel likes, within the affinity mask.
    #[default]
    None,
    /// Each on a CPU of its own, all cores before the second threads of any, and near to each
    /// other. If there are more processors than CPUs, the order begins again.
    Each,
    /// The first processor on the first set, and so on; after the last set the first again. So one
    /// set is for all.
    Sets(Vec<CpuSet>),
}

impl From<CpuSet> for Pinning {
    /// All processors on this set.
    fn from(cpus: CpuSet) -> Self {
        Self::Sets(vec![cpus])
    }
}

impl FromStr for Pinning {
    type Err = ParseCpuSetError;

    fn from_str(text: &str) -> Result<Self, ParseCpuSetError> {
        match text.trim() {
            "none" => Ok(Self::None),
            "each" => Ok(Self::Each),
            sets => sets
                .split(';')
                .map(str::parse)
                .collect::<Result<_, _>>()
                .map(Self::Sets),
        }
    }
}

/// The CPUs of each processor, as a [`Pinning`] gives them on a machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Places {
    /// The sets for one processor after the other, round and round; empty if no processor is
    /// pinned.
    sets: Vec<CpuSet>,
}

impl Places {
    /// The places that `pinning` gives within the CPUs that are `allowed`.
    ///
    /// # Errors
    ///
    /// If there is no set, or an empty one.
    pub(crate) fn new(
        pinning: &Pinning,
        allowed: impl FnOnce() -> io::Result<CpuSet>,
    ) -> io::Result<Self> {
        let sets = match pinning {
            Pinning::None => return Ok(Self::default()),
            Pinning::Each => Topology::of_machine().one_by_one(&allowed()?),
            Pinning::Sets(sets) => sets.clone(),
        };
        if sets.is_empty() || sets.iter().any(CpuSet::is_empty) {
            let words = "processors cannot be pinned to no CPU at all";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, words));
        }
        Ok(Self { sets })
    }

    /// The CPUs of a processor; `None` if it is not pinned.
    pub(crate) fn of(&self, processor: usize) -> Option<&CpuSet> {
        self.sets.get(processor.checked_rem(self.sets.len())?)
    }

    /// The CPUs of all processors; `None` if they are not pinned.
    pub(crate) fn all(&self) -> Option<CpuSet> {
        let all: CpuSet = self.sets.iter().flatten().collect();
        (!all.is_empty()).then_some(all)
    }

    /// How many CPUs these are.
    pub(crate) fn cpus(&self) -> Option<usize> {
        self.all().map(|all| all.len())
    }

    /// The victims of each of `processors` processors, if they are pinned.
    pub(crate) fn victims(&self, processors: usize) -> Option<Box<[Box<[usize]>]>> {
        let places: Option<Vec<CpuSet>> = (0..processors).map(|i| self.of(i).cloned()).collect();
        places.map(|places| Topology::of_machine().victims(&places))
    }

    /// The tree of `processors` processors. Processors that are not pinned are one node.
    pub(crate) fn tree(&self, processors: usize) -> Tree {
        let places: Option<Vec<CpuSet>> = (0..processors).map(|i| self.of(i).cloned()).collect();
        match places {
            Some(places) => Topology::of_machine().tree(&places),
            None => Tree::flat(processors),
        }
    }
}

impl Topology {
    /// A set for each allowed CPU: all cores before the second threads of any, and CPUs that are
    /// near to each other one after the other.
    fn one_by_one(&self, allowed: &CpuSet) -> Vec<CpuSet> {
        let place = |cpu: &Cpu| {
            let siblings = self.cpus().iter().filter(|other| other.core == cpu.core);
            let before = siblings.filter(|other| other.number < cpu.number);
            let before = before.filter(|other| allowed.contains(other.number));
            (before.count(), cpu.node, cpu.l3, cpu.l2, cpu.number)
        };
        let mut cpus: Vec<&Cpu> = self
            .cpus()
            .iter()
            .filter(|cpu| allowed.contains(cpu.number))
            .collect();
        cpus.sort_by_cached_key(|cpu| place(cpu));
        let single = |cpu: &Cpu| [cpu.number].into_iter().collect();
        cpus.into_iter().map(single).collect()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    /// The sets in words.
    fn shown(sets: &[CpuSet]) -> Vec<String> {
        sets.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn cores_come_before_their_second_threads() {
        let machine: Topology = "2 nodes x 2 cores x 2 threads".parse().unwrap();
        let all = machine.one_by_one(&machine.cpu_set());
        assert_eq!(shown(&all), ["0", "2", "4", "6", "1", "3", "5", "7"]);
        // A core with one allowed thread still counts as a core.
        let allowed = machine.one_by_one(&"1,2,3,7".parse().unwrap());
        assert_eq!(shown(&allowed), ["1", "2", "7", "3"]);
    }

    #[test]
    fn places_go_round() {
        let pinning: Pinning = "0-1;4".parse().unwrap();
        let places = Places::new(&pinning, || Ok(CpuSet::new())).unwrap();
        let sets: Vec<_> = (0..3).map(|i| places.of(i).cloned().unwrap()).collect();
        assert_eq!(shown(&sets), ["0-1", "4", "0-1"]);
        assert_eq!(places.cpus(), Some(3));
        assert_eq!(places.victims(3).map(|victims| victims.len()), Some(3));
        let nowhere = Places::new(&Pinning::None, || Ok(CpuSet::new())).unwrap();
        assert_eq!(
            (nowhere.of(5), nowhere.cpus(), nowhere.victims(2)),
            (None, None, None)
        );
    }

    #[test]
    fn nowhere_is_no_place() {
        for pinning in [
            Pinning::Sets(Vec::new()),
            CpuSet::new().into(),
            Pinning::Each,
        ] {
            let error = Places::new(&pinning, || Ok(CpuSet::new())).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        }
        for text in ["", "0;;1", "each;0"] {
            let pinning = text.parse::<Pinning>();
            assert!(
                pinning.is_err() || Places::new(&pinning.unwrap(), || Ok(CpuSet::new())).is_err(),
                "{text:?}"
            );
        }
    }
}
