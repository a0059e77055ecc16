//! What happens once, tried by many, some of whom fail.

use super::course::{Row, row, run};
use super::subject::{Manner, Role, Subject, dwell};
use crate::support::Random;
use fibre::sync::{Once, OnceLock};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The role of those who initialise.
const INITIALISE: usize = 0;

/// The roles of either kind.
fn roles(turns: usize) -> Vec<Role> {
    vec![
        Role::new("initialise", turns),
        Role::until_finish("wait", turns),
    ]
}

/// Things that happen once.
struct Onces(Vec<(Once, AtomicUsize)>);

/// How many turns there are for each object.
const TURNS_EACH: usize = 3;

impl Onces {
    /// Lets it happen, for the caller who must see that it has happened once.
    fn call((once, count): &(Once, AtomicUsize), random: &mut Random) {
        once.call_once(|| {
            dwell(random);
            count.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(count.load(Ordering::Relaxed), 1);
    }
}

impl Subject for Onces {
    fn new(_: &mut Random, turns: usize) -> Self {
        let objects = turns.div_ceil(TURNS_EACH);
        Self((0..objects).map(|_| Default::default()).collect())
    }

    fn roles(&self) -> Vec<Role> {
        roles(TURNS_EACH * self.0.len())
    }

    fn turn(&self, role: usize, manner: Manner, random: &mut Random) -> bool {
        let object = &self.0[random.below(self.0.len())];
        if role == INITIALISE {
            Self::call(object, random);
            return true;
        }
        let (once, count) = object;
        let came = match manner {
            Manner::Forever => {
                once.wait();
                true
            }
            Manner::Try => once.is_completed(),
            Manner::Timeout(timeout) => once.wait_timeout(timeout),
            Manner::Within(limit) => once.wait_within(limit).is_ok(),
        };
        assert!(!came || count.load(Ordering::Relaxed) == 1);
        came
    }

    fn finish(&self) {
        let mut random = Random::new(0);
        self.0
            .iter()
            .for_each(|object| Self::call(object, &mut random));
    }

    fn check(&self) {
        assert!(self.0.iter().all(|(once, _)| once.is_completed()));
    }
}

/// Values that are written once, by somebody who does not fail, and how many have tried.
struct Cells(Vec<(OnceLock<Box<usize>>, AtomicUsize)>);

/// What every value is.
const VALUE: usize = 7;

impl Cells {
    /// Writes a value, or fails in one of two ways, or finds one there.
    fn initialise(cell: &OnceLock<Box<usize>>, random: &mut Random) {
        let way = random.below(3);
        let called = catch_unwind(AssertUnwindSafe(|| {
            cell.get_or_try_init(|| {
                dwell(random);
                match way {
                    0 => Err(()),
                    1 => resume_unwind(Box::new("planned")),
                    _ => Ok(Box::new(VALUE)),
                }
            })
        }));
        match called {
            Ok(Ok(value)) => assert_eq!(**value, VALUE),
            Ok(Err(())) => assert_eq!(way, 0),
            Err(_) => assert_eq!(way, 1),
        }
    }
}

impl Subject for Cells {
    fn new(_: &mut Random, turns: usize) -> Self {
        let objects = turns.div_ceil(TURNS_EACH);
        Self((0..objects).map(|_| Default::default()).collect())
    }

    fn roles(&self) -> Vec<Role> {
        roles(TURNS_EACH * self.0.len())
    }

    fn turn(&self, role: usize, manner: Manner, random: &mut Random) -> bool {
        let (cell, tries) = &self.0[random.below(self.0.len())];
        if role == INITIALISE {
            tries.fetch_add(1, Ordering::Relaxed);
            Self::initialise(cell, random);
            return true;
        }
        let value = match manner {
            Manner::Forever => Some(cell.wait()),
            Manner::Try => cell.get(),
            Manner::Timeout(timeout) => cell.wait_timeout(timeout),
            Manner::Within(limit) => cell.wait_within(limit).ok(),
        };
        value.is_some_and(|value| {
            assert_eq!(**value, VALUE);
            true
        })
    }

    fn finish(&self) {
        for (cell, _) in &self.0 {
            let _ = cell.set(Box::new(VALUE));
        }
    }

    fn check(&self) {
        assert!(self.0.iter().all(|(cell, _)| cell.get().is_some()));
    }
}

/// All kinds.
const ROWS: &[Row] = &[row::<Onces>("once"), row::<Cells>("once, with a value")];

#[test]
fn initialisations() {
    run(ROWS);
}
