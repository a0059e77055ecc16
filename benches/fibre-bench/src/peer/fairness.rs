//! How evenly something is shared, seen from each participant's count.

/// Jain's index, `(Σx)² / (n Σx²)`: 1 if all got the same, `1/n` if one got all.
/// Counts of nothing at all have none.
pub(crate) fn jain(counts: &[u64]) -> Option<f64> {
    let sum: f64 = counts.iter().map(|&count| count as f64).sum();
    let squares: f64 = counts.iter().map(|&count| (count as f64).powi(2)).sum();
    (sum > 0.0).then(|| sum.powi(2) / (counts.len() as f64 * squares))
}

/// The coefficient of variation, standard deviation by mean: 0 if all got the
/// same. Counts of nothing at all have none.
pub(crate) fn variation(counts: &[u64]) -> Option<f64> {
    let n = counts.len() as f64;
    let mean = counts.iter().map(|&count| count as f64).sum::<f64>() / n;
    let distance = |&count: &u64| (count as f64 - mean).powi(2);
    let variance = counts.iter().map(distance).sum::<f64>() / n;
    (mean > 0.0).then(|| variance.sqrt() / mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_counts_are_fair() {
        assert_eq!(jain(&[3, 3, 3, 3]), Some(1.0));
        assert_eq!(variation(&[3, 3, 3, 3]), Some(0.0));
    }

    #[test]
    fn one_that_takes_all_is_the_least_fair() {
        assert_eq!(jain(&[8, 0, 0, 0]), Some(0.25));
        assert_eq!(variation(&[8, 0, 0, 0]), Some(3.0_f64.sqrt()));
    }

    #[test]
    fn the_two_say_the_same() {
        let counts = [1, 5, 2, 9, 4, 4];
        let seen = jain(&counts).zip(variation(&counts));
        assert!(seen.is_some_and(|(jain, cv)| (1.0 / jain - 1.0 - cv * cv).abs() < 1e-12));
    }

    #[test]
    fn nothing_is_neither_fair_nor_unfair() {
        assert_eq!(jain(&[0, 0]), None);
        assert_eq!(variation(&[0, 0]), None);
        assert_eq!(jain(&[]), None);
        assert_eq!(variation(&[]), None);
    }
}
