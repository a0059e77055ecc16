//! Names of fibres, for readers of a trace.
//!
//! A fibre may have begun, and got its name, long before the oldest recorded event. So names are
//! kept while their fibres live, and some names of ended fibres, too. Fibres without names, which
//! most are, touch nothing here.

use crate::sync::thread_mutex::Mutex;
use std::collections::{HashMap, VecDeque};

/// How many ended fibres keep their names.
const MOST_ENDED: usize = 4096;

/// The names.
struct Names {
    by_fibre: HashMap<u64, Box<str>>,
    /// Fibres that have ended, in that order.
    ended: VecDeque<u64>,
}

/// The names of the process. `None`: there has been none.
static NAMES: Mutex<Option<Names>> = Mutex::new(None);

/// Keeps the name of a fibre that has begun, or has another name now.
pub(crate) fn keep_name(fibre: u64, name: &str) {
    let mut names = NAMES.lock();
    let names = names.get_or_insert_with(|| Names {
        by_fibre: HashMap::new(),
        ended: VecDeque::new(),
    });
    names.by_fibre.insert(fibre, name.into());
}

/// Notes that a fibre has ended. If it has a name it keeps that for a while.
pub(crate) fn forget_name(fibre: u64) {
    if let Some(names) = &mut *NAMES.lock()
        && names.by_fibre.contains_key(&fibre)
    {
        names.ended.push_back(fibre);
        if names.ended.len() > MOST_ENDED
            && let Some(oldest) = names.ended.pop_front()
        {
            names.by_fibre.remove(&oldest);
        }
    }
}

/// The names of fibres that live, and of some that have ended.
#[must_use]
pub fn trace_names() -> Vec<(u64, String)> {
    let names = NAMES.lock();
    let all = names.iter().flat_map(|names| &names.by_fibre);
    let mut all: Vec<_> = all
        .map(|(fibre, name)| (*fibre, name.to_string()))
        .collect();
    drop(names);
    all.sort_unstable();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_outlive_their_fibres_for_a_while() {
        const FIRST: u64 = 1 << 40;
        let is_known = |fibre| trace_names().iter().any(|(known, _)| *known == fibre);
        keep_name(FIRST, "first");
        forget_name(FIRST);
        assert!(is_known(FIRST));
        keep_name(FIRST + 1, "lives");
        for fibre in (FIRST + 2..).take(MOST_ENDED) {
            keep_name(fibre, "ends");
            forget_name(fibre);
        }
        assert!(!is_known(FIRST) && is_known(FIRST + 1) && is_known(FIRST + 2));
    }
}
