//! BANG: many to one. Each of S senders sends M numbers to one receiver, which answers none.
//! Source: BenchErl, `bang.erl`.

use anyhow::ensure;
use fibre_actors::{Actor, ActorRef, Actors, Context, Reply};

use super::{Program, conduct, tell};

/// The program and its parameters.
#[derive(Debug, Clone)]
pub struct Bang {
    /// How many senders there are.
    pub senders: usize,
    /// How many numbers each sends.
    pub numbers: u64,
}

impl Default for Bang {
    fn default() -> Self {
        Self {
            senders: 512,
            numbers: 2000,
        }
    }
}

/// What the receiver has got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// How many numbers.
    pub received: u64,
    /// What they add up to.
    pub sum: u64,
}

impl Program for Bang {
    type Outcome = Outcome;

    fn small() -> Self {
        Self {
            senders: 20,
            numbers: 50,
        }
    }

    fn messages(&self) -> u64 {
        self.senders as u64 * self.numbers
    }

    fn run(&self, actors: &Actors) -> anyhow::Result<Outcome> {
        conduct(actors, Master(self.clone()), |reply| reply)
    }

    fn check(&self, outcome: &Outcome) -> anyhow::Result<()> {
        let right = Outcome {
            received: self.messages(),
            sum: self.senders as u64 * (self.numbers * (self.numbers - 1) / 2),
        };
        ensure!(*outcome == right, "{outcome:?} instead of {right:?}");
        Ok(())
    }
}

/// The actor that spawns the others.
struct Master(Bang);

impl Actor for Master {
    type Message = Reply<Outcome>;

    fn handle(&mut self, reply: Reply<Outcome>, context: &mut Context<'_, Self>) {
        let receiver = context.spawn(Receiver {
            left: self.0.messages(),
            sum: 0,
            received: 0,
            reply: Some(reply),
        });
        let sender = |_| context.spawn(Sender(receiver.clone()));
        let senders: Vec<_> = (0..self.0.senders).map(sender).collect();
        for sender in &senders {
            tell(sender, self.0.numbers);
        }
    }
}

/// The actor that gets all numbers.
struct Receiver {
    left: u64,
    received: u64,
    sum: u64,
    reply: Option<Reply<Outcome>>,
}

impl Actor for Receiver {
    type Message = u64;

    fn handle(&mut self, number: u64, _: &mut Context<'_, Self>) {
        self.received += 1;
        self.sum += number;
        self.left -= 1;
        if self.left == 0
            && let Some(reply) = self.reply.take()
        {
            let (received, sum) = (self.received, self.sum);
            reply.send(Outcome { received, sum });
        }
    }
}

/// An actor that sends so many numbers when it is told to.
struct Sender(ActorRef<u64>);

impl Actor for Sender {
    type Message = u64;

    fn handle(&mut self, numbers: u64, _: &mut Context<'_, Self>) {
        for number in 0..numbers {
            tell(&self.0, number);
        }
    }
}
