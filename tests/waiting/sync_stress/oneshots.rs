//! Channels for one value: it arrives, or it is certain that it will not.

use super::ledger::{Ledger, Value};
use super::passing::{ATTEMPTS, Ended, SEND, recv_in};
use super::subject::{Manner, Role, Subject, moment};
use crate::support::Random;
use fibre::channel::{OneshotSender, oneshot};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Askers leave a sender, and answerers take one up.
pub struct Answers {
    asked: Mutex<Vec<OneshotSender<Value>>>,
    ledger: Ledger,
    /// How many were answered by dropping the sender.
    refused: AtomicUsize,
    turns: usize,
}

impl Answers {
    /// Answers one, as soon as there is one.
    fn answer(&self, random: &mut Random) {
        let sender = loop {
            let sender = self.asked.lock().unwrap().pop();
            match sender {
                Some(sender) => break sender,
                None => fibre::sleep(moment(random)),
            }
        };
        if random.one_in(4) {
            return drop(sender);
        }
        let value = self.ledger.value();
        let number = value.number;
        if let Err(error) = sender.send(value) {
            self.ledger.came_back(number, error.into_inner());
        }
    }

    /// Asks, and waits for the answer: in the manner at first, and then until it comes, or goes.
    fn ask(&self, manner: Manner, random: &mut Random) {
        let (sender, receiver) = oneshot();
        self.asked.lock().unwrap().push(sender);
        let mut ended = recv_in(receiver.as_ref(), manner);
        if let Ended::InVain = ended {
            if random.one_in(2) {
                // Leaves it to the ledger whether the value was sent just before.
                receiver.close();
            }
            ended = receiver.recv().map_or(Ended::Closed, Ended::Done);
        }
        match ended {
            Ended::Done(value) => self.ledger.received(value),
            Ended::Closed => _ = self.refused.fetch_add(1, Ordering::Relaxed),
            Ended::InVain => unreachable!("it waits for ever"),
        }
    }
}

impl Subject for Answers {
    fn new(_: &mut Random, turns: usize) -> Self {
        Self {
            asked: Mutex::default(),
            ledger: Ledger::new(ATTEMPTS * turns),
            refused: AtomicUsize::new(0),
            turns,
        }
    }

    fn roles(&self) -> Vec<Role> {
        vec![
            Role::new("answer", self.turns),
            Role::new("ask", self.turns),
        ]
    }

    fn turn(&self, role: usize, manner: Manner, random: &mut Random) -> bool {
        if role == SEND {
            self.answer(random);
        } else {
            self.ask(manner, random);
        }
        true
    }

    fn check(&self) {
        let received = self.ledger.close();
        assert_eq!(received + self.refused.load(Ordering::Relaxed), self.turns);
    }
}
