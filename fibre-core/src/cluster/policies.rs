//! The scheduler's choices for a cluster.

use super::builder::ClusterBuilder;
use crate::config::policy::{Placement, Revival, StealOrder, Stealing};
use crate::queue::QueueKind;
use std::time::Duration;

impl ClusterBuilder {
    /// The mechanism of its queues. Default: [`QueueKind::Nemesis`], or the environment
    /// variable `FIBRE_QUEUE`.
    #[must_use]
    pub fn queue(mut self, kind: QueueKind) -> Self {
        self.settings.queue = kind;
        self
    }

    /// Where new fibres go. Default: [`Placement::Push`], or the environment variable
    /// `FIBRE_PLACEMENT`.
    #[must_use]
    pub fn placement(mut self, placement: Placement) -> Self {
        self.settings.placement = placement;
        self
    }

    /// Where activities go that are made ready again. Default: [`Revival::Local`], or the
    /// environment variable `FIBRE_REVIVAL`.
    #[must_use]
    pub fn revival(mut self, revival: Revival) -> Self {
        self.settings.revival = revival;
        self
    }

    /// Work sharing: all fibres that may move between processors go through one queue, and
    /// processors without work take them from there. Those are the fibres that have not started,
    /// and where started fibres move, these, too. Default: off, or the environment variable
    /// `FIBRE_SHARING` (`0` or `1`).
    #[must_use]
    pub fn sharing(mut self, sharing: bool) -> Self {
        self.settings.sharing = sharing;
        self
    }

    /// Which processor one without work helps first. Default: [`StealOrder::LongestBusy`], or the
    /// environment variable `FIBRE_STEAL_ORDER`.
    #[must_use]
    pub fn steal_order(mut self, order: StealOrder) -> Self {
        self.settings.steal_order = order;
        self
    }

    /// What becomes of a started fibre that was stolen, where such fibres may move. Default:
    /// [`Stealing::Transient`], or the environment variable `FIBRE_STEALING`.
    #[must_use]
    pub fn stealing(mut self, stealing: Stealing) -> Self {
        self.settings.stealing = stealing;
        self
    }

    /// How long a processor that runs out of work may spin before it sleeps; zero for not at all.
    /// It spins only if its last sleep was so short that this pays. Default: 20 µs, or the
    /// environment variable `FIBRE_SPIN`, in microseconds.
    #[must_use]
    pub fn spin(mut self, longest: Duration) -> Self {
        self.settings.spin = longest;
        self
    }

    /// How long a fibre that never blocks runs before it lets the others of its processor run, at
    /// the next call that could block ([`yield_point`](crate::internal::yield_point)). The clock is
    /// read every few of these calls, so it may be some microseconds longer. A server of batches of
    /// requests does better with slices that hold a batch: a fibre that is cut off in the middle
    /// may have a lock that the others need. Default: 20 µs, or the environment variable
    /// `FIBRE_SLICE`, in microseconds.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let batches = fibre::Cluster::builder().slice(Duration::from_millis(1));
    /// let cluster = batches.build()?;
    /// assert_eq!(cluster.spawn(|| 4).join().unwrap(), 4);
    /// cluster.stop();
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn slice(mut self, longest: Duration) -> Self {
        self.settings.slice = longest;
        self
    }

    /// The seed of the scheduler's random choices. Default: one that differs each time, or the
    /// environment variable `FIBRE_SEED`.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.settings.seed = Some(seed);
        self
    }
}
