//! How long a fibre that waits in the panic hook has been held; `hold.rs` explains what for.

use crate::sync::pause;
use std::cell::Cell;
use std::time::{Duration, Instant};

/// The shortest moment, and the longest.
const MOMENTS: [Duration; 2] = [Duration::from_micros(20), Duration::from_millis(1)];

/// A fibre that has not been held for so long is held as if for the first time.
const FORGOTTEN: Duration = Duration::from_millis(100);

/// How long a fibre has been held.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// The fibre's number; zero if there has been none.
    fibre: Cell<u64>,
    /// How long it has been held since others could run.
    pub(super) time: Cell<Duration>,
    /// The most that `time` may come to by the wait that it is in.
    most: Cell<Duration>,
    /// When it was held last.
    last: Cell<Option<Instant>>,
}

impl Held {
    /// Begins a wait of this fibre, which counts for `counts` at most. A fibre other than the last
    /// one is taken as new, and so is one that has not been held for a while.
    pub(super) fn begin(&self, fibre: u64, counts: Duration) {
        let is_new = self.fibre.replace(fibre) != fibre;
        let last = self.last.get();
        if is_new || last.is_none_or(|last| last.elapsed() > FORGOTTEN) {
            self.time.set(Duration::ZERO);
        }
        self.most.set(self.time.get().saturating_add(counts));
    }

    /// Notes that the others have run, and the same wait goes on.
    pub(super) fn restart(&self) {
        let counted = self.time.replace(Duration::ZERO);
        let left = self.most.get().saturating_sub(counted);
        self.most.set(left);
    }

    /// Blocks the thread for a moment.
    pub(super) fn pass(&self) {
        let [shortest, longest] = MOMENTS;
        let moment = (self.time.get() / 8).clamp(shortest, longest);
        pause(moment);
        let time = self.time.get() + moment;
        self.time.set(time.min(self.most.get()));
        self.last.set(Some(Instant::now()));
    }
}
