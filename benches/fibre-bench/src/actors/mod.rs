//! Programs over actors: nine benchmarks and a chat server that each check what they have done.
//!
//! They are those of the thesis, chapter 5. [`big`] and [`bang`] follow BenchErl (Aronis et al., "A
//! scalability benchmark suite for Erlang/OTP", 2012). [`logm`], [`apsp`], [`cdict`], [`csll`],
//! [`nqn`] and [`trapr`] follow Savina (Imam and Sarkar, "Savina, an actor benchmark suite", 2014),
//! with its generator of numbers ([`savina`]). [`pubsub`] and [`chat`] are described in the thesis
//! alone. The thesis prints no parameters, so the defaults are those of the two suites.
//!
//! A [`Program`] is a *master* actor and those that it spawns. Whoever runs one asks the master for
//! the outcome. Handlers block: where Savina stashes messages until an answer has come, these ask
//! and wait. An actor that nobody needs any more is stopped by the master, or ends with its last
//! reference, before the next run or beside its beginning.

pub mod apsp;
pub mod bang;
pub mod big;
pub mod cdict;
pub mod chat;
pub mod csll;
pub mod logm;
pub mod nqn;
pub mod pubsub;
pub(crate) mod quantiles;
pub mod savina;
pub mod trapr;

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Context as _;
use fibre_actors::{Actor, ActorRef, Actors, Reply};

/// How long a run may take before it counts as hung.
const LIMIT: Duration = Duration::from_secs(300);

/// A program with its parameters. By default it has those of the suite that it is from.
pub trait Program: Clone + Send + Sync + 'static {
    /// What a run has counted and computed.
    type Outcome: Send + 'static;

    /// The same in a size for tests.
    fn small() -> Self;

    /// How many messages a run takes, or what else its times are divided by.
    fn messages(&self) -> u64;

    /// Runs it once among these actors. Blocks the fibre (of another cluster), or the thread.
    ///
    /// # Errors
    ///
    /// When an actor has failed, so that there is no outcome.
    fn run(&self, actors: &Actors) -> anyhow::Result<Self::Outcome>;

    /// Checks an outcome against what has to come out.
    ///
    /// # Errors
    ///
    /// What differs.
    fn check(&self, outcome: &Self::Outcome) -> anyhow::Result<()>;

    /// What is read from an outcome beside the times, by name. By default nothing.
    fn values(&self, _outcome: &Self::Outcome) -> BTreeMap<&'static str, f64> {
        BTreeMap::new()
    }
}

/// Spawns a master, asks it for the outcome, and stops it. A master is a hub: it spawns the others.
fn conduct<A: Actor, R: Send + 'static>(
    actors: &Actors,
    master: A,
    begin: impl FnOnce(Reply<R>) -> A::Message,
) -> anyhow::Result<R> {
    let master = actors.spawn_hub(master);
    let outcome = master.ask_timeout(LIMIT, begin);
    master.stop();
    outcome.context("an actor has failed")
}

/// Sends a message to an actor that cannot have stopped.
#[inline]
fn tell<M: Send + 'static>(actor: &ActorRef<M>, message: M) {
    assert!(
        actor.send(message).is_ok(),
        "an actor has stopped too early"
    );
}
