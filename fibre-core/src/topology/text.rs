//! Machines in words: `2 nodes x 4 cores x 2 threads`.
//!
//! For tests of what depends on a machine that is not at hand. CPUs are numbered from the
//! inside out: the threads of a core are neighbours.

use super::cpu_set::CpuSet;
use super::machine::{Cpu, Node, Topology};
use std::fmt::{self, Display};
use std::str::FromStr;

/// Units from the outside in, and where they stand in the counts.
const UNITS: [&str; 6] = ["package", "node", "l3", "l2", "core", "thread"];

/// Machines with more CPUs than this are refused as typing errors.
const LIMIT: usize = 1 << 16;

/// The error of a text that describes no machine. See the example at [`Topology`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseTopologyError {
    /// The part that is wrong.
    part: String,
}

impl Display for ParseTopologyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = &self.part;
        write!(
            f,
            "{part:?}: a machine is described from the outside in, by numbers of {}, as in \
             \"2 nodes x 4 cores x 2 threads\"",
            UNITS.join(", ")
        )
    }
}

impl std::error::Error for ParseTopologyError {}

impl FromStr for Topology {
    type Err = ParseTopologyError;

    /// Reads numbers of packages, nodes, l3, l2, cores and threads, from the outside in. A unit
    /// that is left out counts one, and a second-level cache that is left out is the core's.
    fn from_str(text: &str) -> Result<Self, ParseTopologyError> {
        let counts = counts(text)?;
        // How many CPUs a unit has: the product of all units inside it.
        let size = |unit: usize| counts[unit + 1..].iter().product::<usize>();
        let [package, node, l3, l2, core, _] = std::array::from_fn(size);
        // Most cores have a second-level cache of their own.
        let l2 = if text.contains(UNITS[3]) { l2 } else { core };
        let total = counts[0] * package;
        let cpus = (0..total).map(|number| Cpu {
            core: number - number % core,
            l2: number - number % l2,
            l3: number - number % l3,
            package: number - number % package,
            ..Cpu::alone(number)
        });
        let nodes = (0..total / node).map(|number| Node {
            number,
            cpus: (number * node..(number + 1) * node).collect::<CpuSet>(),
            distances: Vec::new(),
        });
        Ok(Self::new(cpus.collect(), nodes.collect()))
    }
}

/// The number of each unit in the next larger one.
fn counts(text: &str) -> Result<[usize; UNITS.len()], ParseTopologyError> {
    let mut counts = [1; UNITS.len()];
    let mut outer = None;
    for part in text.split('x') {
        let wrong = || ParseTopologyError {
            part: part.trim().to_owned(),
        };
        let (unit, count) = parse_part(part).ok_or_else(wrong)?;
        if outer.is_some_and(|outer| outer >= unit) {
            return Err(wrong());
        }
        outer = Some(unit);
        counts[unit] = count;
        let total = counts.iter().try_fold(1, |a: usize, b| a.checked_mul(*b));
        total.filter(|total| *total <= LIMIT).ok_or_else(wrong)?;
    }
    Ok(counts)
}

/// The unit and the number of `4 cores`.
fn parse_part(part: &str) -> Option<(usize, usize)> {
    let (count, unit) = part.trim().split_once(' ')?;
    let unit = unit.trim().trim_end_matches('s');
    let unit = UNITS.iter().position(|known| *known == unit)?;
    let count = count.parse().ok().filter(|count| *count > 0)?;
    Some((unit, count))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn words_become_a_machine() {
        let machine: Topology = "2 packages x 2 nodes x 4 cores x 2 threads"
            .parse()
            .unwrap();
        assert_eq!((machine.cpus().len(), machine.nodes().len()), (32, 4));
        let cpu = machine.cpu(27).unwrap();
        assert_eq!((cpu.core, cpu.l2, cpu.l3), (26, 26, 24));
        assert_eq!((cpu.package, cpu.node), (16, 3));
        assert_eq!(machine.nodes()[1].cpus.to_string(), "8-15");
        assert_eq!("1 thread".parse::<Topology>().unwrap().cpus().len(), 1);
    }

    #[test]
    fn nonsense_is_told() {
        for text in [
            "",
            "x",
            "4",
            "cores",
            "0 cores",
            "-1 cores",
            "4 dwarves",
            "2 threads x 2 cores",
            "2 cores x 2 cores",
            "65536 nodes x 65536 cores",
            "9999999999999999999999 cores",
        ] {
            let error = text.parse::<Topology>().unwrap_err();
            assert!(error.to_string().contains("outside in"), "{text}");
        }
    }
}
