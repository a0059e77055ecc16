//! The channels of the runtimes in blocking style, for `stream` and `channel`.

use std::sync::mpsc;

use anyhow::{Context as _, anyhow, bail};

use super::blocking::Line;
use super::workloads::stream::Wire;

/// Channels with the functions and types that crossbeam's have.
macro_rules! wire {
    ($(#[$doc:meta])* $name:ident, $($channels:ident)::+) => {
        $(#[$doc])*
        pub(super) struct $name;

        impl Wire for $name {
            type Sender = $($channels)::+::Sender<u64>;
            type Receiver = $($channels)::+::Receiver<u64>;

            fn channel(room: Option<usize>) -> anyhow::Result<(Self::Sender, Self::Receiver)> {
                Ok(match room {
                    Some(room) => $($channels)::+::bounded(room),
                    None => $($channels)::+::unbounded(),
                })
            }

            #[inline]
            fn send(sender: &Self::Sender, number: u64) -> anyhow::Result<()> {
                sender.send(number).map_err(|_| anyhow!("nobody receives"))
            }

            #[inline]
            fn receive(receiver: &Self::Receiver) -> Option<u64> {
                receiver.recv().ok()
            }

            fn another(receiver: &Self::Receiver) -> anyhow::Result<Self::Receiver> {
                Ok(receiver.clone())
            }
        }
    };
}

wire!(
    /// Our channels.
    FibreWire,
    fibre::channel
);
wire!(
    /// crossbeam's channels.
    CrossbeamWire,
    crossbeam_channel
);
wire!(
    /// flume's channels.
    FlumeWire,
    flume
);

/// std's channels, which have one receiver.
pub(super) struct StdWire;

/// The sending end of either kind.
#[derive(Clone)]
pub(super) enum StdSender {
    /// Into a channel with room for any number.
    Unbounded(mpsc::Sender<u64>),
    /// Into one with room for so many.
    Bounded(mpsc::SyncSender<u64>),
}

impl Wire for StdWire {
    type Sender = StdSender;
    type Receiver = mpsc::Receiver<u64>;

    fn channel(room: Option<usize>) -> anyhow::Result<(Self::Sender, Self::Receiver)> {
        Ok(match room {
            Some(room) => {
                let (sender, receiver) = mpsc::sync_channel(room);
                (StdSender::Bounded(sender), receiver)
            }
            None => {
                let (sender, receiver) = mpsc::channel();
                (StdSender::Unbounded(sender), receiver)
            }
        })
    }

    #[inline]
    fn send(sender: &Self::Sender, number: u64) -> anyhow::Result<()> {
        match sender {
            StdSender::Unbounded(sender) => sender.send(number)?,
            StdSender::Bounded(sender) => sender.send(number)?,
        }
        Ok(())
    }

    #[inline]
    fn receive(receiver: &Self::Receiver) -> Option<u64> {
        receiver.recv().ok()
    }
}

/// may's channels, which are unbounded.
pub(super) struct MayWire;

impl Wire for MayWire {
    type Sender = may::sync::mpmc::Sender<u64>;
    type Receiver = may::sync::mpmc::Receiver<u64>;

    fn channel(room: Option<usize>) -> anyhow::Result<(Self::Sender, Self::Receiver)> {
        if room.is_some() {
            bail!("may has unbounded channels only");
        }
        Ok(may::sync::mpmc::channel())
    }

    #[inline]
    fn send(sender: &Self::Sender, number: u64) -> anyhow::Result<()> {
        Ok(sender.send(number)?)
    }

    #[inline]
    fn receive(receiver: &Self::Receiver) -> Option<u64> {
        receiver.recv().ok()
    }

    fn another(receiver: &Self::Receiver) -> anyhow::Result<Self::Receiver> {
        Ok(receiver.clone())
    }
}

/// One end of a conversation over two channels with room for one number each.
pub(super) struct WireLine<W: Wire> {
    from: W::Receiver,
    to: W::Sender,
}

impl<W: Wire> Line for WireLine<W> {
    fn ends() -> (Self, Self) {
        let channel = || W::channel(Some(1)).unwrap_or_else(|error| panic!("no channel: {error}"));
        let ((there, from_here), (back, from_there)) = (channel(), channel());
        let near = Self {
            from: from_there,
            to: there,
        };
        let far = Self {
            from: from_here,
            to: back,
        };
        (near, far)
    }

    #[inline]
    fn send(&self, number: u64) -> anyhow::Result<()> {
        W::send(&self.to, number)
    }

    #[inline]
    fn receive(&self) -> anyhow::Result<u64> {
        W::receive(&self.from).context("the channel is closed")
    }
}
