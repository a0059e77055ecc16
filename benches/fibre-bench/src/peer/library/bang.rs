//! BANG; see [`crate::actors::bang`].

use super::{Behaviour, Context, Hosted, Library, Reply, conduct};
use crate::actors::Program as _;
use crate::actors::bang::{Bang, Outcome};

impl<L: Library> Hosted<L> for Bang {
    fn host() -> fn(&L::Runtime, &Self) -> anyhow::Result<Outcome> {
        |runtime, program| {
            let receiver = |reply| Receiver {
                program: program.clone(),
                left: program.messages(),
                outcome: Outcome {
                    received: 0,
                    sum: 0,
                },
                reply,
            };
            conduct::<L, _, _>(runtime, receiver, Message::Begin)
        }
    }
}

/// What the receiver is sent.
enum Message {
    Begin,
    Number(u64),
}

/// The actor that spawns the senders, and gets all numbers.
struct Receiver {
    program: Bang,
    left: u64,
    outcome: Outcome,
    reply: Reply<Outcome>,
}

impl<L: Library> Behaviour<L> for Receiver {
    type Message = Message;

    fn handle(&mut self, message: Message, context: &mut impl Context<L, Self>) {
        match message {
            Message::Begin => {
                let sender = |_| L::spawn(Sender::<L>(context.myself()));
                let senders: Vec<_> = (0..self.program.senders).map(sender).collect();
                for sender in &senders {
                    L::tell(sender, self.program.numbers);
                }
            }
            Message::Number(number) => {
                self.outcome.received += 1;
                self.outcome.sum += number;
                self.left -= 1;
                if self.left == 0 {
                    self.reply.send(self.outcome);
                    context.stop();
                }
            }
        }
    }
}

/// An actor that sends so many numbers when it is told to.
struct Sender<L: Library>(L::Ref<Receiver>);

impl<L: Library> Behaviour<L> for Sender<L> {
    type Message = u64;

    fn handle(&mut self, numbers: u64, context: &mut impl Context<L, Self>) {
        for number in 0..numbers {
            L::tell(&self.0, Message::Number(number));
        }
        context.stop();
    }
}
