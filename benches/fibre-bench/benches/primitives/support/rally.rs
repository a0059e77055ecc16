//! Two workers that answer each other.

use super::clock::time;
use super::gate::Gate;
use super::workers::Workers;
use std::sync::Arc;
use std::time::Duration;

/// The worker that serves and is timed, and the one that answers.
pub(crate) type Players<'a> = (&'a Workers, &'a Workers);

/// How long `rounds` calls of `serve` take in a worker of one kind, while a worker of
/// another kind makes as many of `answer`. The clock starts when both are there.
pub(crate) fn rally(
    (server, answerer): Players<'_>,
    rounds: u64,
    serve: impl FnMut() + Send + 'static,
    mut answer: impl FnMut() + Send + 'static,
) -> Duration {
    let processors = if server.take_turns_with(answerer) {
        1
    } else {
        2
    };
    let gate = Arc::new(Gate::new(2, processors));
    let same_gate = Arc::clone(&gate);
    let answering = answerer.start(move || {
        gate.pass();
        (0..rounds).for_each(|_| answer());
    });
    let serving = server.start(move || {
        same_gate.pass();
        time(rounds, serve)
    });
    let elapsed = serving.join();
    answering.join();
    elapsed
}
