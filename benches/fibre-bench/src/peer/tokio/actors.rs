//! Programs over actors without actors: each is a task with an unbounded channel for its messages.
//! Step by step they do what [`crate::actors::big`], [`crate::actors::bang`] and
//! [`crate::actors::logm`] do; a question goes with a oneshot channel for the answer.

use std::sync::Arc;

use anyhow::Context as _;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::scheduler::{self, Choice};
use crate::actors::bang::{self, Bang};
use crate::actors::big::{self, Big};
use crate::actors::logm::{self, LogM};
use crate::measure::Sample;
use crate::peer::actors::{Told, repeat};

/// BIG.
pub(super) fn big<C: Choice>(told: Told<Big>) -> anyhow::Result<Sample> {
    let runtime = C::start(told.processors)?;
    repeat(&told.program, told.seconds, || {
        scheduler::run(&runtime, play(told.program.players))
    })
}

/// What players are sent.
enum Ball {
    Begin(Arc<[UnboundedSender<Ball>]>),
    Ping(UnboundedSender<Ball>),
    Pong,
    Stop,
}

/// Spawns the players, has them begin, and stops them when all have reported.
async fn play(count: usize) -> anyhow::Result<big::Outcome> {
    let (master, mut reports) = unbounded_channel();
    let (players, tasks): (Vec<_>, Vec<_>) = (0..count)
        .map(|_| {
            let (myself, balls) = unbounded_channel();
            let task = tokio::spawn(player(myself.clone(), balls, master.clone()));
            (myself, task)
        })
        .unzip();
    drop(master);
    let players: Arc<[_]> = players.into();
    for player in &*players {
        player.send(Ball::Begin(Arc::clone(&players)))?;
    }
    let mut outcome = big::Outcome::default();
    while outcome.dones < count as u64 {
        reports.recv().await.context("a player is gone")?;
        outcome.dones += 1;
    }
    for player in &*players {
        player.send(Ball::Stop)?;
    }
    for task in tasks {
        let (pings, pongs) = task.await??;
        outcome.pings += pings;
        outcome.pongs += pongs;
    }
    Ok(outcome)
}

/// A player; returns how many pings and pongs it has got.
async fn player(
    myself: UnboundedSender<Ball>,
    mut balls: UnboundedReceiver<Ball>,
    master: UnboundedSender<()>,
) -> anyhow::Result<(u64, u64)> {
    let (mut pings, mut pongs, mut awaited) = (0, 0, 0);
    while let Some(ball) = balls.recv().await {
        match ball {
            Ball::Begin(players) => {
                awaited += players.len();
                for player in &*players {
                    player.send(Ball::Ping(myself.clone()))?;
                }
            }
            Ball::Ping(player) => {
                pings += 1;
                player.send(Ball::Pong)?;
            }
            Ball::Pong => {
                pongs += 1;
                awaited -= 1;
                if awaited == 0 {
                    master.send(())?;
                }
            }
            Ball::Stop => break,
        }
    }
    Ok((pings, pongs))
}

/// BANG.
pub(super) fn bang<C: Choice>(told: Told<Bang>) -> anyhow::Result<Sample> {
    let runtime = C::start(told.processors)?;
    repeat(&told.program, told.seconds, || {
        scheduler::run(&runtime, shoot(told.program.clone()))
    })
}

/// Spawns the receiver and the senders, and has these begin.
async fn shoot(program: Bang) -> anyhow::Result<bang::Outcome> {
    let (receiver, mut numbers) = unbounded_channel();
    let left = crate::actors::Program::messages(&program);
    let counter = tokio::spawn(async move {
        let (mut received, mut sum) = (0, 0);
        while received < left {
            sum += numbers.recv().await.context("a sender is gone")?;
            received += 1;
        }
        Ok::<_, anyhow::Error>(bang::Outcome { received, sum })
    });
    let senders: Vec<_> = (0..program.senders)
        .map(|_| {
            let (sender, mut orders) = unbounded_channel();
            let receiver = receiver.clone();
            tokio::spawn(async move {
                let count: u64 = orders.recv().await?;
                (0..count).try_for_each(|number| receiver.send(number).ok())
            });
            sender
        })
        .collect();
    for sender in &senders {
        sender.send(program.numbers)?;
    }
    counter.await?
}

/// A question of LOGM: what comes after this term, and where does the answer go?
type Compute = (f64, oneshot::Sender<f64>);

/// What workers are sent.
enum Request {
    NextTerm,
    End,
}

/// LOGM: spawns the others, queues the requests, and adds up what has come out.
pub(super) async fn iterate(program: LogM) -> anyhow::Result<logm::Outcome> {
    type Pair = (JoinHandle<anyhow::Result<(f64, u64, u64)>>, JoinHandle<u64>);
    let (workers, tasks): (Vec<_>, Vec<Pair>) = (0..program.series)
        .map(|index| {
            let (rate, term) = logm::start(index);
            let (computer, computes) = unbounded_channel();
            let (worker, requests) = unbounded_channel();
            let computer_task = tokio::spawn(compute(rate, computes));
            (
                worker,
                (tokio::spawn(work(term, requests, computer)), computer_task),
            )
        })
        .unzip();
    for _ in 0..program.terms {
        for worker in &workers {
            worker.send(Request::NextTerm)?;
        }
    }
    let mut outcome = logm::Outcome {
        last: Vec::new(),
        next_terms: 0,
        computes: 0,
        results: 0,
    };
    for (worker, (task, computer)) in workers.iter().zip(tasks) {
        worker.send(Request::End)?;
        let (term, next_terms, results) = task.await??;
        outcome.last.push(term);
        outcome.next_terms += next_terms;
        outcome.results += results;
        outcome.computes += computer.await?;
    }
    Ok(outcome)
}

/// A worker; returns its last term, how many it was asked for, and how many answers it has got.
async fn work(
    mut term: f64,
    mut requests: UnboundedReceiver<Request>,
    computer: UnboundedSender<Compute>,
) -> anyhow::Result<(f64, u64, u64)> {
    let (mut next_terms, mut results) = (0, 0);
    while let Some(Request::NextTerm) = requests.recv().await {
        next_terms += 1;
        let (reply, answer) = oneshot::channel();
        computer.send((term, reply))?;
        term = answer.await?;
        results += 1;
    }
    Ok((term, next_terms, results))
}

/// A computer; returns how many terms it has computed.
async fn compute(rate: f64, mut computes: UnboundedReceiver<Compute>) -> u64 {
    let mut computed = 0;
    while let Some((term, reply)) = computes.recv().await {
        computed += 1;
        // A worker that is gone needs no answer.
        reply.send(logm::next(rate, term)).ok();
    }
    computed
}
