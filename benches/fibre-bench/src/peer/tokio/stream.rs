//! `stream` with tasks: tokio's `mpsc`, which has one receiver.

use anyhow::{Context as _, ensure};
use tokio::sync::mpsc::{self, Receiver, Sender, UnboundedReceiver, UnboundedSender};
use tokio::task::JoinHandle;

use super::{Choice, run};
use crate::measure::{Sample, Stopwatch};
use crate::peer::calibrate::calibrate;
use crate::peer::workloads::stream::{FEWEST, Stream};

/// Tasks that send and receive.
pub(super) fn tasks<C: Choice>(asked: Stream) -> anyhow::Result<Sample> {
    ensure!(asked.receivers == 1, "this channel has one receiver");
    let runtime = C::start(asked.processors)?;
    calibrate(asked.seconds, FEWEST, |operations| {
        let share = asked.share(operations);
        run(&runtime, round(asked, share))
    })
}

/// A round of so many numbers from each sender.
async fn round(asked: Stream, share: u64) -> anyhow::Result<Sample> {
    let watch = Stopwatch::start()?;
    let (senders, receiver) = match asked.room {
        Some(room) => bounded(asked.senders, share, room),
        None => unbounded(asked.senders, share),
    };
    for sender in senders {
        sender.await??;
    }
    let received = receiver.await?;
    let sample = watch.stop(share * asked.senders)?;
    ensure!(received == share * asked.senders, "numbers were lost");
    Ok(sample)
}

/// The tasks of a round: those that send, and the one that receives.
type Tasks = (Vec<JoinHandle<anyhow::Result<()>>>, JoinHandle<u64>);

/// A channel with room for so many.
fn bounded(senders: u64, share: u64, room: usize) -> Tasks {
    let (sender, receiver) = mpsc::channel(room);
    let receiver = tokio::spawn(drain(receiver));
    let senders = (0..senders).map(|_| tokio::spawn(send(sender.clone(), share)));
    (senders.collect(), receiver)
}

/// Sends so many numbers.
async fn send(sender: Sender<u64>, share: u64) -> anyhow::Result<()> {
    for number in 0..share {
        sender.send(number).await?;
    }
    Ok(())
}

/// Receives all there is; how many numbers that was.
async fn drain(mut receiver: Receiver<u64>) -> u64 {
    let mut count = 0;
    while receiver.recv().await.is_some() {
        count += 1;
    }
    count
}

/// A channel without bound.
fn unbounded(senders: u64, share: u64) -> Tasks {
    let (sender, receiver) = mpsc::unbounded_channel();
    let receiver = tokio::spawn(drain_unbounded(receiver));
    let send = |_| tokio::spawn(send_unbounded(sender.clone(), share));
    ((0..senders).map(send).collect(), receiver)
}

/// Sends so many numbers; sending never waits.
async fn send_unbounded(sender: UnboundedSender<u64>, share: u64) -> anyhow::Result<()> {
    for number in 0..share {
        sender.send(number).context("nobody receives")?;
    }
    Ok(())
}

/// Receives all there is; how many numbers that was.
async fn drain_unbounded(mut receiver: UnboundedReceiver<u64>) -> u64 {
    let mut count = 0;
    while receiver.recv().await.is_some() {
        count += 1;
    }
    count
}
