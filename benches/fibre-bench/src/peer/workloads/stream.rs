//! `stream`: numbers that go through one channel, from some senders to some receivers.
//!
//! Nothing is done with a number but to receive it, so it shows what the channel costs, with
//! the waits and wakes that its room makes necessary. One operation is a number that is sent
//! and received.

use anyhow::{bail, ensure};

use crate::measure::{Sample, Stopwatch};
use crate::peer::blocking::Blocking;
use crate::peer::calibrate::calibrate;
use crate::peer::protocol::{Arguments, Parameters, Refusal};

/// Operations of the first round.
pub(crate) const FEWEST: u64 = 1000;

/// The name of the parameter for room, which is absent where there is no bound.
const ROOM: &str = "room";

/// What the workload can be told.
#[derive(Clone, Copy)]
pub(crate) struct Stream {
    /// Kernel threads for fibres.
    pub(crate) processors: usize,
    /// CPU time of the last round.
    pub(crate) seconds: f64,
    /// Fibres that send.
    pub(crate) senders: u64,
    /// Fibres that receive.
    pub(crate) receivers: u64,
    /// Numbers that the channel has room for; `None`: any number of them.
    pub(crate) room: Option<usize>,
}

impl Parameters for Stream {
    fn read(arguments: &mut Arguments) -> Result<Self, Refusal> {
        let unbounded = u64::MAX;
        let room = arguments.number(ROOM, unbounded)?;
        Ok(Self {
            processors: arguments.processors,
            seconds: arguments.seconds(0.1),
            senders: arguments.count("senders", 1)?,
            receivers: arguments.count("receivers", 1)?,
            room: usize::try_from(room).ok().filter(|_| room != unbounded),
        })
    }
}

impl Stream {
    /// Numbers that each sender sends in a round of so many operations.
    pub(crate) fn share(&self, operations: u64) -> u64 {
        operations.div_ceil(self.senders)
    }
}

/// A kind of channel of a runtime in blocking style.
pub(crate) trait Wire: 'static {
    /// An end that sends.
    type Sender: Clone + Send + 'static;
    /// An end that receives.
    type Receiver: Send + 'static;

    /// Both ends, with room for so many numbers, or for any.
    fn channel(room: Option<usize>) -> anyhow::Result<(Self::Sender, Self::Receiver)>;
    /// Sends a number, blocking while there is no room.
    fn send(sender: &Self::Sender, number: u64) -> anyhow::Result<()>;
    /// Receives a number, blocking until there is one; `None`: all senders are gone.
    fn receive(receiver: &Self::Receiver) -> Option<u64>;
    /// Another receiver for the same channel.
    fn another(_receiver: &Self::Receiver) -> anyhow::Result<Self::Receiver> {
        bail!("this channel has one receiver")
    }
}

/// Fibres that send and receive.
pub(crate) fn blocking<B: Blocking, W: Wire>(asked: Stream) -> anyhow::Result<Sample> {
    B::enter(asked.processors, move || {
        calibrate(asked.seconds, FEWEST, |operations| {
            let share = asked.share(operations);
            let (sender, receiver) = W::channel(asked.room)?;
            let mut ends = vec![receiver];
            for _ in 1..asked.receivers {
                ends.push(W::another(&ends[0])?);
            }
            let watch = Stopwatch::start()?;
            let receivers: Vec<_> = ends
                .into_iter()
                .map(|end| B::spawn(move || drain::<W>(&end)))
                .collect();
            let senders: Vec<_> = (0..asked.senders)
                .map(|_| {
                    let sender = sender.clone();
                    B::spawn(move || (0..share).try_for_each(|number| W::send(&sender, number)))
                })
                .collect();
            drop(sender);
            for sender in senders {
                B::join(sender)?;
            }
            let received: u64 = receivers.into_iter().map(B::join).sum();
            let sample = watch.stop(share * asked.senders)?;
            ensure!(received == share * asked.senders, "numbers were lost");
            Ok(sample)
        })
    })
}

/// Receives all there is; how many numbers that was.
fn drain<W: Wire>(end: &W::Receiver) -> u64 {
    let mut count = 0;
    while W::receive(end).is_some() {
        count += 1;
    }
    count
}
