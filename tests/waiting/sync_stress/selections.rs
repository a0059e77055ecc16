//! Selections among channels of several capacities, beside plain sending and receiving.

use super::ledger::{Ledger, Value};
use super::passing::{ATTEMPTS, Ended, SEND, recv_in, send_in};
use super::subject::{Manner, Role, Subject};
use crate::support::Random;
use fibre::channel::{Receiver, Select, SelectedOperation, Sender, bounded};

/// Room in the channels.
const CAPACITIES: [usize; 3] = [0, 1, 0];

/// The role of those who receive. The third one sends or receives, and then does the other.
const RECEIVE: usize = 1;

/// Channels among which everybody may choose. Whoever receives patiently does so from all of
/// them, so no sender waits in vain.
pub struct Exchange {
    channels: Vec<(Sender<Value>, Receiver<Value>)>,
    ledger: Ledger,
    turns: usize,
}

/// Chooses in a manner.
fn select_in<'s>(select: &'s mut Select<'_>, manner: Manner) -> Option<SelectedOperation<'s>> {
    match manner {
        Manner::Forever => Some(select.select()),
        Manner::Try => select.try_select().ok(),
        Manner::Timeout(timeout) => select.select_timeout(timeout).ok(),
        Manner::Within(limit) => select.select_within(limit).ok(),
    }
}

/// What a selection has done.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Chosen {
    /// It sent.
    Sent,
    /// It received.
    Received,
}

impl Exchange {
    /// Any of the channels.
    fn any(&self, random: &mut Random) -> &(Sender<Value>, Receiver<Value>) {
        &self.channels[random.below(self.channels.len())]
    }

    /// Selects among all channels, to receive, to send, or both.
    fn select(&self, receives: bool, sends: bool, manner: Manner) -> Option<Chosen> {
        let mut select = Select::new();
        // In the order of the operations: the channel, and the number of the value.
        let mut arms = Vec::new();
        for (sender, receiver) in &self.channels {
            if receives {
                select.recv(receiver);
                arms.push((sender, receiver, None));
            }
            if sends {
                let value = self.ledger.value();
                arms.push((sender, receiver, Some(value.number)));
                select.send(sender, value);
            }
        }
        let chosen = select_in(&mut select, manner).map(|operation| {
            let index = operation.index();
            let (sender, receiver, number) = arms[index];
            if number.is_some() {
                operation.send(sender).expect("nobody has closed it");
                (index, Chosen::Sent)
            } else {
                let value = operation.recv(receiver).expect("nobody has closed it");
                self.ledger.received(value);
                (index, Chosen::Received)
            }
        });
        for (index, (sender, _, number)) in arms.into_iter().enumerate() {
            let Some(number) = number else { continue };
            let back = select.take_back(index, sender);
            let sent = chosen == Some((index, Chosen::Sent));
            assert_eq!(back.is_none(), sent, "of an arm that was not chosen");
            if let Some(value) = back {
                self.ledger.came_back(number, value);
            }
        }
        chosen.map(|(_, chosen)| chosen)
    }

    /// Sends, into any channel or to anybody.
    fn send(&self, manner: Manner, random: &mut Random) -> bool {
        if random.one_in(2) {
            return self.select(false, true, manner).is_some();
        }
        let (sender, _) = self.any(random);
        matches!(send_in(sender, &self.ledger, manner), Ended::Done(()))
    }

    /// Receives, from any channel, or if it may take long, from anybody.
    fn receive(&self, manner: Manner, random: &mut Random) -> bool {
        if !matches!(manner, Manner::Try) || random.one_in(2) {
            return self.select(true, false, manner).is_some();
        }
        let (_, receiver) = self.any(random);
        match recv_in(receiver, manner) {
            Ended::Done(value) => {
                self.ledger.received(value);
                true
            }
            Ended::InVain | Ended::Closed => false,
        }
    }

    /// Sends or receives, whichever comes first, and then does the other.
    fn swap(&self, manner: Manner) -> bool {
        let Some(chosen) = self.select(true, true, manner) else {
            return false;
        };
        let receives = chosen == Chosen::Sent;
        self.select(receives, !receives, Manner::Forever);
        true
    }
}

impl Subject for Exchange {
    fn new(_: &mut Random, turns: usize) -> Self {
        Self {
            channels: CAPACITIES.map(bounded).into(),
            ledger: Ledger::new(3 * CAPACITIES.len() * ATTEMPTS * turns),
            turns: turns / 2,
        }
    }

    fn roles(&self) -> Vec<Role> {
        ["send", "receive", "swap"]
            .map(|name| Role::new(name, self.turns))
            .into()
    }

    fn turn(&self, role: usize, manner: Manner, random: &mut Random) -> bool {
        match role {
            SEND => self.send(manner, random),
            RECEIVE => self.receive(manner, random),
            _ => self.swap(manner),
        }
    }

    fn check(&self) {
        assert!(self.channels.iter().all(|(sender, _)| sender.is_empty()));
        assert_eq!(self.ledger.close(), 2 * self.turns);
    }
}
