//! `semaphore`, `condvar`, `channel` and `pipe` with tasks.
//!
//! tokio has no condition variable. `Notify` stands for it, one for each
//! player: it keeps one permit, so a wake that comes between the unlock and the
//! wait is not lost.

use std::sync::Arc;

use anyhow::{Context as _, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::sync::{Mutex, Notify, Semaphore};

use super::{Choice, run};
use crate::measure::{Sample, Stopwatch};
use crate::peer::calibrate::calibrate;
use crate::peer::protocol::Basic;
use crate::peer::workloads::pingpong::FEWEST;

/// Round trips over two semaphores.
pub(super) fn permits<C: Choice>(asked: Basic) -> anyhow::Result<Sample> {
    let runtime = C::start(asked.processors)?;
    calibrate(asked.seconds, FEWEST, |operations| {
        run(&runtime, hand_permits_over(operations))
    })
}

/// A round of them.
async fn hand_permits_over(operations: u64) -> anyhow::Result<Sample> {
    let pair = Arc::new((Semaphore::new(0), Semaphore::new(0)));
    let partner = Arc::clone(&pair);
    let join = tokio::spawn(async move {
        for _ in 0..=operations {
            partner.0.acquire().await?.forget();
            partner.1.add_permits(1);
        }
        anyhow::Ok(())
    });
    let round_trip = async || {
        pair.0.add_permits(1);
        pair.1.acquire().await.map(|permit| permit.forget())
    };
    round_trip().await?; // the partner has started
    let watch = Stopwatch::start()?;
    for _ in 0..operations {
        round_trip().await?;
    }
    let sample = watch.stop(operations)?;
    join.await??;
    Ok(sample)
}

/// Round trips over a mutex and what stands for a condition variable.
pub(super) fn turns<C: Choice>(asked: Basic) -> anyhow::Result<Sample> {
    let runtime = C::start(asked.processors)?;
    calibrate(asked.seconds, FEWEST, |operations| {
        run(&runtime, take_turns(operations))
    })
}

/// A flag under a mutex, and the two who wait for their turn.
#[derive(Default)]
struct Turns {
    /// Whose turn it is.
    turn: Mutex<bool>,
    /// Told when the turn of player `false` or `true` has come.
    changed: [Notify; 2],
}

impl Turns {
    /// Waits until it is `player`'s turn and hands the turn over.
    async fn take(&self, player: bool) {
        let mut turn = self.turn.lock().await;
        while *turn != player {
            drop(turn);
            self.changed[usize::from(player)].notified().await;
            turn = self.turn.lock().await;
        }
        *turn = !player;
        self.changed[usize::from(!player)].notify_one();
    }
}

/// A round of them.
async fn take_turns(operations: u64) -> anyhow::Result<Sample> {
    let turns = Arc::new(Turns::default());
    let partner = Arc::clone(&turns);
    let join = tokio::spawn(async move {
        for _ in 0..operations + 2 {
            partner.take(true).await;
        }
    });
    turns.take(false).await; // the partner has started after the second turn
    turns.take(false).await;
    let watch = Stopwatch::start()?;
    for _ in 0..operations {
        turns.take(false).await;
    }
    let sample = watch.stop(operations)?;
    join.await?;
    Ok(sample)
}

/// Round trips over two channels.
pub(super) fn channels<C: Choice>(asked: Basic) -> anyhow::Result<Sample> {
    let runtime = C::start(asked.processors)?;
    calibrate(asked.seconds, FEWEST, |operations| {
        run(&runtime, carry_number(operations))
    })
}

/// A round of them.
async fn carry_number(operations: u64) -> anyhow::Result<Sample> {
    let (there, from_here) = mpsc::channel(1);
    let (back, mut from_there) = mpsc::channel(1);
    let join = tokio::spawn(answer(operations + 1, from_here, back));
    let mut round_trip = async |number| {
        there.send(number).await?;
        from_there.recv().await.context("the partner has ended")
    };
    let mut number = round_trip(0).await?; // the partner has started
    let watch = Stopwatch::start()?;
    for _ in 0..operations {
        number = round_trip(number).await?;
    }
    let sample = watch.stop(operations)?;
    join.await??;
    ensure!(number == operations + 1, "a number came back wrong");
    Ok(sample)
}

/// The partner, who sends so many numbers back, each one larger.
async fn answer(times: u64, mut from: Receiver<u64>, to: Sender<u64>) -> anyhow::Result<()> {
    for _ in 0..times {
        let number = from.recv().await.context("the channel is closed")?;
        to.send(number + 1).await?;
    }
    Ok(())
}

/// Round trips over two pipes.
pub(super) fn pipes<C: Choice>(asked: Basic) -> anyhow::Result<Sample> {
    let runtime = C::start(asked.processors)?;
    calibrate(asked.seconds, FEWEST, |operations| {
        run(&runtime, write_number(operations))
    })
}

/// A round of them.
async fn write_number(operations: u64) -> anyhow::Result<Sample> {
    let ((mut there, mut from_here), (mut back, mut from_there)) = (pipe::pipe()?, pipe::pipe()?);
    let join = tokio::spawn(async move {
        for _ in 0..=operations {
            let number = from_here.read_u64().await?;
            back.write_u64(number + 1).await?;
        }
        anyhow::Ok(())
    });
    let mut round_trip = async |number| {
        there.write_u64(number).await?;
        from_there.read_u64().await
    };
    let mut number = round_trip(0).await?; // the partner has started
    let watch = Stopwatch::start()?;
    for _ in 0..operations {
        number = round_trip(number).await?;
    }
    let sample = watch.stop(operations)?;
    join.await??;
    ensure!(number == operations + 1, "a number came back wrong");
    Ok(sample)
}
