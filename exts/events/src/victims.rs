//! The order of a thief's looks at the others.

/// The paper's order: the processor with the most events, then its successors by number. Source:
/// Mely, section II-B, `construct_core_set`.
pub(crate) fn ring_from_fullest(lengths: &[usize]) -> impl Iterator<Item = usize> + use<> {
    let count = lengths.len();
    // Of several with as many, the first.
    let fullest = (0..count).rev().max_by_key(|processor| lengths[*processor]);
    let first = fullest.unwrap_or(0);
    (0..count).map(move |step| (first + step) % count)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn order(lengths: &[usize]) -> Vec<usize> {
        ring_from_fullest(lengths).collect()
    }

    #[test]
    fn the_fullest_is_first_and_its_successors_follow() {
        let lengths = [1, 0, 3, 3, 2, 0, 9, 4];
        assert_eq!(order(&lengths), [6, 7, 0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn of_equally_full_ones_the_first_begins() {
        assert_eq!(order(&[0, 2, 2]), [1, 2, 0]);
        assert_eq!(order(&[0, 0]), [0, 1]);
        assert_eq!(order(&[]), []);
    }
}
