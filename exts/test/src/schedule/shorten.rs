//! Fewer switches that fail as well.
//!
//! Source: Zeller, Hildebrandt, "Simplifying and isolating failure-inducing input" (2002). Parts of
//! the list are left out, halves first, then smaller ones, for as long as what is left still fails.
//! In the end none can be left out alone, unless the tries have been used up.

/// The shortest list that is found by leaving out items, with no more questions than `tries`.
/// `fails` says which of the items a failing run has used; `None`: the run does not fail.
pub(crate) fn shorten<T: Clone>(
    mut items: Vec<T>,
    mut tries: usize,
    mut fails: impl FnMut(&[T]) -> Option<Vec<T>>,
) -> Vec<T> {
    if items.is_empty() || tries == 0 {
        return items;
    }
    tries -= 1;
    if let Some(none) = fails(&[]) {
        return none;
    }
    let mut part = items.len().div_ceil(2);
    loop {
        let mut shorter = false;
        let mut begin = 0;
        // Without any it does not fail.
        while begin < items.len() && items.len() > 1 {
            if tries == 0 {
                return items;
            }
            tries -= 1;
            let end = (begin + part).min(items.len());
            let rest = [&items[..begin], &items[end..]].concat();
            match fails(&rest) {
                Some(used) => {
                    items = used;
                    shorter = true;
                }
                None => begin = end,
            }
        }
        if part == 1 && !shorter {
            return items;
        }
        if !shorter || part > items.len() {
            part = part.div_ceil(2).min(items.len().div_ceil(2)).max(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_cannot_be_left_out() {
        for needed in [
            vec![],
            vec![0],
            vec![99],
            vec![3, 4],
            vec![0, 50, 99],
            (20..40).collect(),
        ] {
            let fails = |items: &[u32]| {
                let fails = needed.iter().all(|item| items.contains(item));
                fails.then(|| items.to_vec())
            };
            let shortest = shorten((0..100).collect(), 10_000, fails);
            assert_eq!(shortest, needed);
        }
    }

    /// A run may come to none of the places that are left, once one is left out.
    #[test]
    fn what_a_run_has_not_used_is_left_out_with_the_rest() {
        let mut asked = 0;
        let shortest = shorten((0..64).collect::<Vec<u32>>(), 10_000, |items| {
            asked += 1;
            let used = items.iter().copied().filter(|item| *item < 2);
            (items.contains(&0) && items.contains(&1)).then(|| used.collect())
        });
        assert_eq!((shortest, asked <= 10), (vec![0, 1], true));
    }

    #[test]
    fn no_more_questions_are_asked_than_allowed() {
        for tries in 1..50 {
            let mut asked = 0;
            let left = shorten((0..100).collect::<Vec<u32>>(), tries, |items| {
                asked += 1;
                let fails = items.contains(&7) && items.contains(&70);
                fails.then(|| items.to_vec())
            });
            assert!(asked <= tries && left.contains(&7) && left.contains(&70));
        }
    }
}
