//! A question there and its answer back, between two actors: how long it takes.

use anyhow::ensure;
use fibre_actors::{Actor, ActorRef, Actors, Context, Reply};

use std::time::Instant;

use super::calibrate::calibrate;
use super::library::Asked;
use crate::actors::quantiles;
use crate::measure::{Sample, Stopwatch};

/// Measures questions until they are long enough. An operation is a question with its answer.
pub(super) fn measure(
    seconds: f64,
    mut ask: impl FnMut(u64) -> anyhow::Result<Asked>,
) -> anyhow::Result<Sample> {
    calibrate(seconds, 1000, |questions| {
        let watch = Stopwatch::start()?;
        let asked = ask(questions)?;
        let sample = watch.stop(questions)?;
        let right = questions * (questions + 1) / 2;
        ensure!(asked.sum == right, "{} instead of {right}", asked.sum);
        let timed = questions.div_ceil(Asked::TIMED);
        ensure!(asked.latency.len() == timed, "latencies are missing");
        Ok(quantiles::add(sample, &asked.latency))
    })
}

/// Has one of our actors ask another so many times. Blocks the thread.
pub(super) fn ours(actors: &Actors, questions: u64) -> anyhow::Result<Asked> {
    let echo = actors.spawn(Echo);
    let asker = actors.spawn(Asker(echo.clone()));
    let asked = asker.ask(|reply| (questions, reply))?;
    asker.stop();
    echo.stop();
    asked
}

/// An actor that answers.
struct Echo;

impl Actor for Echo {
    type Message = (u64, Reply<u64>);

    fn handle(&mut self, (question, reply): Self::Message, _: &mut Context<'_, Self>) {
        reply.send(question + 1);
    }
}

/// An actor that asks.
struct Asker(ActorRef<(u64, Reply<u64>)>);

impl Asker {
    /// Asks so many times.
    fn ask(&self, questions: u64, context: &Context<'_, Self>) -> anyhow::Result<Asked> {
        let mut asked = Asked::new()?;
        for question in 0..questions {
            let begin = question.is_multiple_of(Asked::TIMED).then(Instant::now);
            asked.sum += context.ask(&self.0, |reply| (question, reply))?;
            if let Some(begin) = begin {
                asked.latency += begin.elapsed().as_nanos() as u64;
            }
        }
        Ok(asked)
    }
}

impl Actor for Asker {
    type Message = (u64, Reply<anyhow::Result<Asked>>);

    fn handle(&mut self, (questions, reply): Self::Message, context: &mut Context<'_, Self>) {
        reply.send(self.ask(questions, context));
    }
}
