//! Cycles of fibres that each wait for an object of the next one.

use std::collections::HashMap;

/// The cycles among fibres that wait, given as the fibre's number and that of the owner of what it
/// waits for. Each cycle once, the fibre first that comes first.
pub(crate) fn cycles(waits: &[(u64, u64)]) -> Vec<Vec<u64>> {
    let owners: HashMap<u64, u64> = waits.iter().copied().collect();
    // The walk that met a fibre.
    let mut met: HashMap<u64, u64> = HashMap::new();
    let mut cycles = Vec::new();
    for (first, _) in waits {
        let mut path = Vec::new();
        let mut at = Some(*first);
        while let Some(id) = at.filter(|id| !met.contains_key(id)) {
            met.insert(id, *first);
            path.push(id);
            at = owners.get(&id).copied();
        }
        if let Some(begin) = at.and_then(|id| path.iter().position(|other| *other == id)) {
            cycles.push(path.split_off(begin));
        }
    }
    cycles
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circles_are_found_once_and_chains_are_none() {
        assert_eq!(cycles(&[(1, 2), (2, 3), (3, 2), (4, 1)]), [[2, 3]]);
        assert_eq!(cycles(&[(1, 1)]), [[1]]);
        assert!(cycles(&[(1, 2), (2, 3)]).is_empty());
        assert_eq!(cycles(&[(5, 6), (6, 5), (8, 7), (7, 8)]), [[5, 6], [8, 7]]);
    }
}
