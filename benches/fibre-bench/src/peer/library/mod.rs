//! The programs over actors for the actor libraries of others, written once for all of them.
//!
//! A [`Library`] spawns actors and sends messages; what its actors do is a [`Behaviour`], with
//! handlers that do not wait. So a question and its answer are two messages here, as in Savina,
//! where [`crate::actors`] asks and waits; the messages that count are the same, and so are
//! parameters, expected outcomes and computing, which the programs there lend. LOGM and `ask` are
//! about waiting, so each library writes these itself.
//!
//! What a library does for every message is its own: the types here are generic, and nothing is
//! looked up when the program runs. Actors end by [`Context::stop`], when they are told to.
//!
//! tokio's tasks are a library, too ([`super::tokio`]); actix, ractor and kameo are programs of a
//! workspace of their own (`peers/actors`).

mod apsp;
mod ask;
mod bang;
mod big;
mod cdict;
mod csll;
mod nqn;
mod pubsub;
mod rest;
mod trapr;

use tokio::sync::oneshot::{self, Receiver, Sender};

use super::actors::{Readable, Told, repeat};
use super::protocol::{Basic, Workload};
use crate::actors::Program;
use crate::actors::logm::{self, LogM};
use crate::measure::Sample;

pub use ask::Asked;

/// A library of actors.
pub trait Library: Sized + 'static {
    /// A reference to an actor, which messages are sent through.
    type Ref<B: Behaviour<Self>>: Clone + Send + Sync + 'static;
    /// The threads that run actors.
    type Runtime;

    /// Starts so many threads.
    ///
    /// # Errors
    ///
    /// When a thread or the poller cannot be had.
    fn start(processors: usize) -> anyhow::Result<Self::Runtime>;

    /// Runs this on the calling thread, which may spawn actors of the runtime meanwhile.
    fn within<R>(runtime: &Self::Runtime, body: impl FnOnce() -> R) -> R;

    /// Waits for an outcome, while actors run. Blocks the thread.
    ///
    /// # Errors
    ///
    /// When an actor has failed, so that there is no outcome.
    fn wait<T: Send + 'static>(runtime: &Self::Runtime, outcome: Receiver<T>) -> anyhow::Result<T>;

    /// Spawns an actor, with a mailbox that has room for all messages. Waits for nothing.
    fn spawn<B: Behaviour<Self>>(behaviour: B) -> Self::Ref<B>;

    /// Sends a message. Waits for nothing.
    ///
    /// # Panics
    ///
    /// When the actor has stopped.
    fn tell<B: Behaviour<Self>>(actor: &Self::Ref<B>, message: B::Message);

    /// Runs LOGM once: workers wait for each answer, and requests wait in their mailboxes. Blocks
    /// the thread.
    ///
    /// # Errors
    ///
    /// When an actor has failed.
    fn logm(runtime: &Self::Runtime, program: &LogM) -> anyhow::Result<logm::Outcome>;

    /// Makes an actor ask another so many times, one question after the other, and returns what has
    /// come out. Blocks the thread.
    ///
    /// # Errors
    ///
    /// When an actor has failed.
    fn ask(runtime: &Self::Runtime, questions: u64) -> anyhow::Result<Asked>;
}

/// What an actor of a library does.
pub trait Behaviour<L: Library>: Send + Sized + 'static {
    /// What it is sent.
    type Message: Send + 'static;

    /// Handles a message.
    fn handle(&mut self, message: Self::Message, context: &mut impl Context<L, Self>);
}

/// What an actor can do while it handles a message.
pub trait Context<L: Library, B: Behaviour<L>> {
    /// A reference to the actor.
    fn myself(&self) -> L::Ref<B>;

    /// Ends the actor after this message.
    fn stop(&mut self);
}

/// A program for any library.
trait Hosted<L: Library>: Program {
    /// Runs it once. Blocks the thread.
    fn host() -> fn(&L::Runtime, &Self) -> anyhow::Result<Self::Outcome>;
}

/// What a library is measured with.
#[must_use]
pub fn workloads<L: Library>() -> Vec<Workload> {
    vec![
        Workload::new("big", run::<L, crate::actors::big::Big>),
        Workload::new("bang", run::<L, crate::actors::bang::Bang>),
        Workload::new("logm", logm::<L>),
        Workload::new("apsp", run::<L, crate::actors::apsp::Apsp>),
        Workload::new("cdict", run::<L, crate::actors::cdict::CDict>),
        Workload::new("csll", run::<L, crate::actors::csll::CSll>),
        Workload::new("nqn", run::<L, crate::actors::nqn::NQn>),
        Workload::new("trapr", run::<L, crate::actors::trapr::TrapR>),
        Workload::new("pubsub", run::<L, crate::actors::pubsub::PubSub>),
        Workload::new("ask", ask::<L>),
        Workload::new("rest", rest::rest::<L>),
    ]
}

/// A program as a workload.
fn run<L: Library, P: Readable + Hosted<L>>(told: Told<P>) -> anyhow::Result<Sample> {
    let runtime = L::start(told.processors)?;
    let host = P::host();
    repeat(&told.program, told.seconds, || {
        host(&runtime, &told.program)
    })
}

/// LOGM as a workload.
fn logm<L: Library>(told: Told<LogM>) -> anyhow::Result<Sample> {
    let runtime = L::start(told.processors)?;
    repeat(&told.program, told.seconds, || {
        L::logm(&runtime, &told.program)
    })
}

/// Questions and answers as a workload.
fn ask<L: Library>(told: Basic) -> anyhow::Result<Sample> {
    let runtime = L::start(told.processors)?;
    crate::peer::ask::measure(told.seconds, |questions| L::ask(&runtime, questions))
}

/// Where a master's outcome goes.
struct Reply<R>(Option<Sender<R>>);

impl<R> Reply<R> {
    /// Sends the outcome, once.
    fn send(&mut self, outcome: R) {
        let sent = self.0.take().map(|reply| reply.send(outcome));
        assert!(matches!(sent, Some(Ok(()))), "nobody waits for the outcome");
    }
}

/// Spawns a master, has it begin, and waits for what it sends.
fn conduct<L: Library, B: Behaviour<L>, R: Send + 'static>(
    runtime: &L::Runtime,
    master: impl FnOnce(Reply<R>) -> B,
    begin: B::Message,
) -> anyhow::Result<R> {
    let (reply, outcome) = oneshot::channel();
    L::within(runtime, || {
        L::tell(&L::spawn(master(Reply(Some(reply)))), begin);
    });
    L::wait(runtime, outcome)
}
