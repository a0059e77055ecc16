//! What holds always, and what happens sometimes.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Says whether something holds.
type Check = Box<dyn Fn() -> bool + Send>;

/// The invariants of a run.
#[derive(Default)]
pub(crate) struct Invariants {
    always: Mutex<Vec<(String, Check)>>,
    sometimes: Mutex<BTreeMap<String, bool>>,
}

/// By names, whether something has happened.
#[derive(Debug, Default)]
pub(crate) struct Happened(BTreeMap<String, bool>);

impl Invariants {
    /// Adds what holds from now on.
    pub(crate) fn always(&self, name: String, check: Check) {
        lock(&self.always).push((name, check));
    }

    /// Notes that something has happened, or could have.
    pub(crate) fn sometimes(&self, name: String, happens: bool) {
        *lock(&self.sometimes).entry(name).or_default() |= happens;
    }

    /// The place of the first one that does not hold. One that panics does not.
    pub(crate) fn broken(&self) -> Option<usize> {
        let always = lock(&self.always);
        let mut checks = always.iter();
        checks.position(|(_, holds)| !catch_unwind(AssertUnwindSafe(holds)).unwrap_or(false))
    }

    /// What the one at this place says.
    pub(crate) fn name(&self, place: usize) -> String {
        let always = lock(&self.always);
        always
            .get(place)
            .map_or(String::new(), |(name, _)| name.clone())
    }

    /// Gives away what is kept: checks have parts of the test, which end with the run.
    pub(crate) fn take(&self) -> Happened {
        let checks = std::mem::take(&mut *lock(&self.always));
        drop(checks);
        Happened(std::mem::take(&mut *lock(&self.sometimes)))
    }
}

impl fmt::Debug for Invariants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Invariants").finish_non_exhaustive()
    }
}

impl Happened {
    /// Adds what has happened in another run.
    pub(crate) fn add(&mut self, other: &Self) {
        for (name, happens) in &other.0 {
            *self.0.entry(name.clone()).or_default() |= happens;
        }
    }

    /// What has not happened in any run, though it could have.
    pub(crate) fn never(&self) -> Vec<&str> {
        let never = self.0.iter().filter(|(_, happens)| !**happens);
        never.map(|(name, _)| name.as_str()).collect()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
