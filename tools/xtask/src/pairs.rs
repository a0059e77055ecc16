//! Few rows of a table that show every pair of values side by side.
//!
//! All combinations of many choices are far too many to test, and faults that need three choices at
//! once are rare; a set of rows where each value of each choice meets each value of each other
//! choice (*all-pairs*) is small. It is built greedily: each row takes, choice by choice, the value
//! that forms the most pairs not yet seen.

/// Rows of value numbers, one number per choice, for choices with so many values each. Every
/// pair of values of two choices occurs in at least one row.
pub(crate) fn all_pairs(values: &[usize]) -> Vec<Vec<usize>> {
    let mut open = pairs(values);
    let mut rows = Vec::new();
    while let Some(&seed) = open.first() {
        let row = complete(values, seed, &open);
        open.retain(|pair| !holds(&row, *pair));
        rows.push(row);
    }
    rows
}

/// Every combination there is.
pub(crate) fn all(values: &[usize]) -> Vec<Vec<usize>> {
    values.iter().fold(vec![Vec::new()], |rows, &count| {
        let extended = |row: &Vec<usize>| {
            let row = row.clone();
            (0..count).map(move |value| [&row[..], &[value]].concat())
        };
        rows.iter().flat_map(extended).collect()
    })
}

/// A value of one choice, and one of another that comes later.
type Pair = [(usize, usize); 2];

/// All pairs of values.
fn pairs(values: &[usize]) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for (left, &lefts) in values.iter().enumerate() {
        for (right, &rights) in values.iter().enumerate().skip(left + 1) {
            pairs.extend(
                (0..lefts * rights)
                    .map(|number| [(left, number / rights), (right, number % rights)]),
            );
        }
    }
    pairs
}

/// Whether both values of the pair are in the row.
fn holds(row: &[usize], pair: Pair) -> bool {
    pair.iter().all(|&(choice, value)| row[choice] == value)
}

/// A row with `seed`, and the most other open pairs that a greedy choice finds.
fn complete(values: &[usize], seed: Pair, open: &[Pair]) -> Vec<usize> {
    let mut row: Vec<Option<usize>> = vec![None; values.len()];
    for (choice, value) in seed {
        row[choice] = Some(value);
    }
    for choice in 0..values.len() {
        if row[choice].is_none() {
            let gain = |value: usize| gain(&row, (choice, value), open);
            row[choice] = (0..values[choice]).rev().max_by_key(|&value| gain(value));
        }
    }
    row.into_iter().flatten().collect()
}

/// Open pairs that a value would form with what the row has already.
fn gain(row: &[Option<usize>], new: (usize, usize), open: &[Pair]) -> usize {
    let formed = |pair: &&Pair| {
        let is_met = |&(choice, value): &(usize, usize)| {
            (choice, value) == new || row[choice] == Some(value)
        };
        pair.contains(&new) && pair.iter().all(is_met)
    };
    open.iter().filter(formed).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_occurs_in_few_rows() {
        let values = [3, 3, 5, 2, 2, 3, 4];
        let rows = all_pairs(&values);
        for pair in pairs(&values) {
            assert!(rows.iter().any(|row| holds(row, pair)), "{pair:?}");
        }
        for row in &rows {
            assert!(row.iter().zip(&values).all(|(value, count)| value < count));
        }
        // No fewer than the two largest choices multiplied.
        assert!((20..=30).contains(&rows.len()), "{} rows", rows.len());
    }

    #[test]
    fn all_are_all() {
        assert_eq!(all(&[2, 3]).len(), 6);
        assert_eq!(all(&[2, 3])[5], [1, 2]);
        assert_eq!(all(&[]), [[0; 0]; 1]);
    }
}
