//! Channels of every capacity: each value arrives once, or comes back; and so it is when they are
//! closed amidst it all.

use super::course::{Row, row, run};
use super::ledger::{Ledger, Value};
use super::oneshots::Answers;
use super::passing::{ATTEMPTS, Ended, SEND, recv_in, send_in};
use super::selections::Exchange;
use super::subject::{Manner, Role, Subject};
use crate::support::Random;
use fibre::channel::{Receiver, Sender, bounded};

/// A channel with room for so many values, which may be closed at some moment.
struct Values<const CAPACITY: usize, const CLOSES: bool> {
    sender: Sender<Value>,
    receiver: Receiver<Value>,
    ledger: Ledger,
    turns: usize,
}

impl<const CAPACITY: usize, const CLOSES: bool> Values<CAPACITY, CLOSES> {
    /// How many values nobody receives: as many as there is room for, so that each value that
    /// is received must let another one in.
    fn left(&self) -> usize {
        CAPACITY.min(self.turns / 2)
    }
}

impl<const CAPACITY: usize, const CLOSES: bool> Subject for Values<CAPACITY, CLOSES> {
    fn new(_: &mut Random, turns: usize) -> Self {
        let (sender, receiver) = bounded(CAPACITY);
        Self {
            sender,
            receiver,
            ledger: Ledger::new(ATTEMPTS * turns),
            turns,
        }
    }

    fn roles(&self) -> Vec<Role> {
        let role = match CLOSES {
            true => Role::until_finish,
            false => Role::new,
        };
        let receives = self.turns - self.left();
        vec![role("send", self.turns), role("receive", receives)]
    }

    fn turn(&self, role: usize, manner: Manner, _: &mut Random) -> bool {
        let closed = if role == SEND {
            match send_in(&self.sender, &self.ledger, manner) {
                Ended::Done(()) => return true,
                Ended::InVain => return false,
                Ended::Closed => true,
            }
        } else {
            match recv_in(&self.receiver, manner) {
                Ended::Done(value) => {
                    self.ledger.received(value);
                    return true;
                }
                Ended::InVain => return false,
                Ended::Closed => true,
            }
        };
        assert!(CLOSES, "nobody has closed it");
        closed
    }

    fn finish(&self) {
        if CLOSES {
            assert!(self.receiver.close());
        }
    }

    fn check(&self) {
        assert!(CLOSES || self.receiver.len() == self.left());
        let left = self.receiver.try_iter();
        left.for_each(|value| self.ledger.received(value));
        let received = self.ledger.close();
        assert!(CLOSES || received == self.turns);
    }
}

/// All kinds.
const ROWS: &[Row] = &[
    row::<Values<0, false>>("channel, rendezvous"),
    row::<Values<1, false>>("channel for one value"),
    row::<Values<3, false>>("channel for three values"),
    row::<Values<{ usize::MAX }, false>>("channel, unbounded"),
    row::<Values<0, true>>("channel, rendezvous, closed"),
    row::<Values<2, true>>("channel for two values, closed"),
    row::<Values<{ usize::MAX }, true>>("channel, unbounded, closed"),
    row::<Answers>("channel, oneshot"),
    row::<Exchange>("selection"),
];

#[test]
fn channels() {
    run(ROWS);
}
