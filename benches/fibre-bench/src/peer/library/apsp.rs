//! APSP; see [`crate::actors::apsp`].

use anyhow::ensure;

use super::{Behaviour, Context, Hosted, Library, Reply, conduct};
use crate::actors::apsp::rounds::{End, Place, Rounds, Sent};
use crate::actors::apsp::{Apsp, Outcome};

impl<L: Library> Hosted<L> for Apsp {
    fn host() -> fn(&L::Runtime, &Self) -> anyhow::Result<Outcome> {
        |runtime, program| {
            ensure!(program.nodes.is_multiple_of(program.block), "odd blocks");
            let master = |reply| Master::<L> {
                program: program.clone(),
                left: 0,
                distances: Vec::new(),
                received: 0,
                reply,
                blocks: Vec::new(),
            };
            conduct::<L, _, _>(runtime, master, Report::Begin)
        }
    }
}

/// What the master is sent.
enum Report {
    Begin,
    /// A block has its distances.
    Done(End),
}

/// The actor that cuts the matrix into blocks, and puts it together.
struct Master<L: Library> {
    program: Apsp,
    left: usize,
    distances: Vec<i64>,
    received: u64,
    reply: Reply<Outcome>,
    blocks: Vec<L::Ref<Block<L>>>,
}

impl<L: Library> Master<L> {
    /// Spawns the blocks, and has them begin.
    fn begin(&mut self, context: &impl Context<L, Self>) {
        let graph = self.program.graph();
        let side = self.program.shape().side();
        let block = |number| {
            let place = Place::of(number, side);
            let numbers = self.program.cut(&graph, place);
            L::spawn(Block {
                rounds: Rounds::new(self.program.shape(), place, numbers),
                master: context.myself(),
                beside: Vec::new(),
            })
        };
        self.blocks = (0..side * side).map(block).collect();
        self.left = self.blocks.len();
        for (number, block) in self.blocks.iter().enumerate() {
            let place = Place::of(number, side);
            let others = self.blocks.iter().enumerate();
            let beside = others.filter(|&(other, _)| place.is_beside(Place::of(other, side)));
            let beside = beside.map(|(_, block)| block.clone()).collect();
            L::tell(block, Message::Begin(beside));
        }
        self.distances = graph;
    }
}

impl<L: Library> Behaviour<L> for Master<L> {
    type Message = Report;

    fn handle(&mut self, report: Report, context: &mut impl Context<L, Self>) {
        let end = match report {
            Report::Begin => return self.begin(context),
            Report::Done(end) => end,
        };
        self.program
            .paste(&mut self.distances, end.place, &end.numbers);
        self.received += end.received;
        self.left -= 1;
        if self.left == 0 {
            for block in &self.blocks {
                L::tell(block, Message::End);
            }
            let outcome = Outcome {
                distances: std::mem::take(&mut self.distances),
                received: self.received,
            };
            self.reply.send(outcome);
            context.stop();
        }
    }
}

/// What blocks are sent.
enum Message<L: Library> {
    /// The blocks of the same row and column.
    Begin(Vec<L::Ref<Block<L>>>),
    /// A block as it was before a round.
    Block(Sent),
    End,
}

/// A block of the matrix.
struct Block<L: Library> {
    rounds: Rounds,
    master: L::Ref<Master<L>>,
    /// The blocks beside it.
    beside: Vec<L::Ref<Self>>,
}

impl<L: Library> Behaviour<L> for Block<L> {
    type Message = Message<L>;

    fn handle(&mut self, message: Message<L>, context: &mut impl Context<L, Self>) {
        match message {
            Message::Begin(beside) => {
                self.beside = beside;
                publish::<L>(&self.beside, &self.rounds.begin());
            }
            Message::Block(sent) => self.rounds.keep(sent),
            Message::End => {
                self.beside.clear();
                return context.stop();
            }
        }
        let beside = &self.beside;
        if self.rounds.advance(|sent| publish::<L>(beside, &sent)) {
            L::tell(&self.master, Report::Done(self.rounds.end()));
        }
    }
}

/// Sends a block, as it is before a round, to those beside it.
fn publish<L: Library>(beside: &[L::Ref<Block<L>>], sent: &Sent) {
    for block in beside {
        L::tell(block, Message::Block(sent.clone()));
    }
}
