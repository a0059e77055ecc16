//! What the scenarios have in common: fibres with a limit each, which others may cancel.

use fibre::{Builder, CancelToken, Limit, Scope, ScopedJoinHandle};
use fibre_test::Sim;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

/// So many milliseconds.
pub fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// How long a call may wait, as the seed has it.
#[derive(Debug, Clone, Copy)]
pub enum Patience {
    /// For ever.
    Endless,
    /// Until it is cancelled.
    Cancellable,
    /// So long.
    For(Duration),
}

impl Patience {
    /// Draws one. Moments are few and whole, so much happens at the same one.
    pub fn draw(sim: &Sim) -> Self {
        match sim.draw(0..6) {
            0 | 1 => Self::Endless,
            2 => Self::Cancellable,
            moment => Self::For(ms(moment - 2)),
        }
    }

    /// The same for a fibre that has been cancelled and goes on: it waits for ever then.
    pub fn after_failure(self) -> Self {
        match fibre::is_cancelled() {
            true => Self::Endless,
            false => self,
        }
    }

    /// The limit of a call that begins now.
    pub fn limit(self) -> Limit {
        match self {
            Self::Endless => Limit::None,
            Self::Cancellable => Limit::Cancellation,
            Self::For(time) => Limit::after(time),
        }
    }
}

/// Draws a pause of few milliseconds; none is as probable as each other one.
pub fn pause(sim: &Sim) -> Duration {
    ms(sim.draw(0..3))
}

/// Starts a fibre that the token cancels.
pub fn start<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    token: &CancelToken,
    body: impl FnOnce() -> T + Send + 'scope,
) -> ScopedJoinHandle<'scope, T> {
    let started = Builder::new().cancel_token(token).spawn_scoped(scope, body);
    started.expect("no fibre")
}

/// Joins fibres, and adds up what they return.
pub fn sum<'scope>(fibres: impl IntoIterator<Item = ScopedJoinHandle<'scope, u64>>) -> u64 {
    let join = |fibre: ScopedJoinHandle<'_, u64>| {
        fibre.join().unwrap_or_else(|payload| {
            std::panic::resume_unwind(payload);
        })
    };
    fibres.into_iter().map(join).sum()
}

/// How many are somewhere at a time.
#[derive(Debug, Default)]
pub struct Inside(AtomicUsize);

impl Inside {
    /// Stays inside for a while, where no more than `most` may be.
    pub fn stay(&self, most: usize, time: Duration) {
        let others = self.0.fetch_add(1, SeqCst);
        assert!(others < most, "{} are inside", others + 1);
        let _leaves = Leaves(&self.0);
        match time.is_zero() {
            true => fibre::yield_now(),
            false => fibre::sleep(time),
        }
    }

    /// Asserts that nobody is inside.
    pub fn assert_none(&self) {
        assert_eq!(self.0.load(SeqCst), 0, "somebody is inside");
    }
}

/// Counts somebody out, also when it is unwound.
struct Leaves<'a>(&'a AtomicUsize);

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}
