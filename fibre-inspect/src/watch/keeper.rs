//! The fibre that a processor runs, as a line names it.

use fibre_core::internal::{ProcessorState, observe, observe_running};
use std::fmt::{self, Write as _};
use std::time::Duration;

/// How long a lock of the runtime is waited for.
pub(super) const TIMEOUT: Duration = Duration::from_secs(2);

/// The most bytes of a name that are told.
const NAME: usize = 128;

/// The most bytes of the labels that are told: all that there may be.
const LABELS: usize = 256;

/// A fibre that keeps a processor.
#[derive(Debug, Default)]
pub(super) struct Keeper {
    /// Its number.
    id: u64,
    /// Its name; empty if it has none.
    name: String,
    /// What it says of itself.
    labels: String,
    /// The name of its cluster.
    pub(super) cluster: String,
    /// The address where its stack begins.
    pub(super) root: Option<usize>,
}

impl Keeper {
    /// The fibre that a processor runs.
    pub(super) fn of(state: ProcessorState) -> Option<Self> {
        let mut keeper = Self {
            name: String::with_capacity(NAME),
            labels: String::with_capacity(LABELS),
            cluster: String::with_capacity(NAME),
            ..Self::default()
        };
        // The processor may have to wait for this, so nothing is allocated.
        let copy = |into: &mut String, text: &str| {
            let (letters, room) = (text.chars(), into.capacity());
            let fits = letters.scan(0, |length, letter| {
                *length += letter.len_utf8();
                (*length <= room).then_some(letter)
            });
            into.extend(fits);
        };
        let found = observe_running(state, TIMEOUT, &mut |cluster, fibre| {
            keeper.id = fibre.id();
            keeper.root = Some(fibre.root());
            copy(&mut keeper.cluster, cluster);
            fibre.with_name(&mut |name| copy(&mut keeper.name, name.unwrap_or_default()));
            // There is room for all that there may be.
            fibre.with_labels(&mut |labels| {
                let _ = write!(keeper.labels, "{labels}");
            });
        });
        found.then_some(keeper)
    }

    /// Its cluster, unless that is named as the default one is.
    pub(super) fn other_cluster(&self) -> Option<&str> {
        Some(self.cluster.as_str()).filter(|name| *name != "fibre")
    }
}

impl fmt::Display for Keeper {
    /// The fibre with its number, its name and its labels.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "fibre {}", self.id)?;
        if !self.name.is_empty() {
            write!(f, " {:?}", self.name)?;
        }
        if !self.labels.is_empty() {
            write!(f, " [{}]", self.labels)?;
        }
        Ok(())
    }
}

/// Whether a processor has not switched since it was in this state.
pub(super) fn is_still_so(before: ProcessorState) -> bool {
    let mut same = false;
    let key = |state: &ProcessorState| {
        let ProcessorState {
            cluster,
            index,
            running,
            services,
            ..
        } = *state;
        (cluster, index, running, services)
    };
    let _ = observe(TIMEOUT, &mut |now| same |= key(&now) == key(&before));
    same
}
