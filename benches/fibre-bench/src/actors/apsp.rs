//! APSP: all shortest paths of a graph, after Floyd and Warshall. The matrix of distances is cut
//! into blocks, each an actor, which sends its block to all blocks of its row and of its column
//! before the first round and after each. Source: Savina, `apsp`.
//!
//! What a block computes, and when, lies in `rounds`.

pub(crate) mod rounds;

use anyhow::ensure;
use fibre_actors::{Actor, ActorRef, Actors, Context, Reply};

use super::savina::PseudoRandom;
use super::{Program, conduct, tell};
use rounds::{End, Numbers, Place, Rounds, Sent, Shape};

/// The program and its parameters.
#[derive(Debug, Clone)]
pub struct Apsp {
    /// How many nodes the graph has.
    pub nodes: usize,
    /// How many rows and columns a block has; the nodes are a multiple of it.
    pub block: usize,
    /// The largest weight of an edge.
    pub weight: u64,
    /// What is added to the seed of the graph.
    pub seed: u64,
}

impl Default for Apsp {
    fn default() -> Self {
        Self {
            nodes: 300,
            block: 50,
            weight: 100,
            seed: 0,
        }
    }
}

/// What has been computed and counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The distances, row by row.
    pub distances: Vec<i64>,
    /// Blocks that blocks have got from each other.
    pub received: u64,
}

impl Program for Apsp {
    type Outcome = Outcome;

    fn small() -> Self {
        Self {
            nodes: 48,
            block: 12,
            ..Self::default()
        }
    }

    fn messages(&self) -> u64 {
        let side = self.shape().side();
        (side * side * 2 * (side - 1) * (self.nodes + 1)) as u64
    }

    fn run(&self, actors: &Actors) -> anyhow::Result<Outcome> {
        ensure!(
            self.nodes.is_multiple_of(self.block),
            "{} nodes are not a multiple of {}",
            self.nodes,
            self.block
        );
        conduct(actors, Master::new(self), Report::Begin)
    }

    fn check(&self, outcome: &Outcome) -> anyhow::Result<()> {
        ensure!(
            outcome.received == self.messages(),
            "{} blocks were received instead of {}",
            outcome.received,
            self.messages()
        );
        ensure!(outcome.distances == self.distances(), "wrong distances");
        Ok(())
    }
}

impl Apsp {
    /// How the matrix is cut.
    pub(crate) fn shape(&self) -> Shape {
        Shape {
            nodes: self.nodes,
            block: self.block,
        }
    }

    /// The weights of the edges, row by row.
    #[must_use]
    pub fn graph(&self) -> Vec<i64> {
        let nodes = self.nodes;
        let mut random = PseudoRandom::new(nodes as u64 + self.seed);
        let mut graph = vec![0; nodes * nodes];
        for row in 0..nodes {
            for column in row + 1..nodes {
                let weight = random.below(self.weight).cast_signed() + 1;
                graph[row * nodes + column] = weight;
                graph[column * nodes + row] = weight;
            }
        }
        graph
    }

    /// The distances, computed in one go.
    #[must_use]
    pub fn distances(&self) -> Vec<i64> {
        let nodes = self.nodes;
        let mut distances = self.graph();
        for via in 0..nodes {
            let onwards = distances[via * nodes..][..nodes].to_vec();
            for row in distances.chunks_mut(nodes) {
                let there = row[via];
                for (distance, onward) in row.iter_mut().zip(&onwards) {
                    *distance = (*distance).min(there + onward);
                }
            }
        }
        distances
    }

    /// The numbers of one block of a matrix.
    pub(crate) fn cut(&self, matrix: &[i64], place: Place) -> Numbers {
        let rows = (0..self.block).flat_map(|row| {
            let begin = (place.row * self.block + row) * self.nodes + place.column * self.block;
            &matrix[begin..begin + self.block]
        });
        rows.copied().collect()
    }

    /// Puts the numbers of one block into a matrix.
    pub(crate) fn paste(&self, matrix: &mut [i64], place: Place, numbers: &[i64]) {
        for (row, numbers) in numbers.chunks(self.block).enumerate() {
            let begin = (place.row * self.block + row) * self.nodes + place.column * self.block;
            matrix[begin..begin + self.block].copy_from_slice(numbers);
        }
    }
}

/// What the master is sent.
enum Report {
    Begin(Reply<Outcome>),
    /// A block has its distances.
    Done(End),
}

/// The actor that cuts the matrix into blocks, and puts it together.
struct Master {
    program: Apsp,
    left: usize,
    outcome: Outcome,
    reply: Option<Reply<Outcome>>,
    blocks: Vec<ActorRef<Message>>,
}

impl Master {
    /// A master that has not begun.
    fn new(program: &Apsp) -> Self {
        Self {
            program: program.clone(),
            left: 0,
            outcome: Outcome {
                distances: Vec::new(),
                received: 0,
            },
            reply: None,
            blocks: Vec::new(),
        }
    }

    /// Spawns the blocks, and has them begin.
    fn begin(&mut self, context: &Context<'_, Self>) {
        let graph = self.program.graph();
        let side = self.program.shape().side();
        let block = |number| {
            let place = Place::of(number, side);
            let numbers = self.program.cut(&graph, place);
            context.spawn(Block {
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
            tell(block, Message::Begin(beside));
        }
        self.outcome.distances = graph;
    }
}

impl Actor for Master {
    type Message = Report;

    fn handle(&mut self, report: Report, context: &mut Context<'_, Self>) {
        match report {
            Report::Begin(reply) => {
                self.reply = Some(reply);
                self.begin(context);
            }
            Report::Done(end) => {
                let matrix = &mut self.outcome.distances;
                self.program.paste(matrix, end.place, &end.numbers);
                self.outcome.received += end.received;
                self.left -= 1;
                if self.left == 0
                    && let Some(reply) = self.reply.take()
                {
                    self.blocks.iter().for_each(ActorRef::stop);
                    reply.send(Outcome {
                        distances: std::mem::take(matrix),
                        received: self.outcome.received,
                    });
                }
            }
        }
    }
}

/// What blocks are sent.
enum Message {
    /// The blocks of the same row and column.
    Begin(Vec<ActorRef<Message>>),
    /// A block as it was before this round.
    Block(Sent),
}

/// A block of the matrix.
struct Block {
    rounds: Rounds,
    master: ActorRef<Report>,
    /// The blocks beside it.
    beside: Vec<ActorRef<Message>>,
}

impl Block {
    /// Makes all rounds that everything is there for, and reports after the last one.
    fn advance(&mut self) {
        let beside = &self.beside;
        let over = self.rounds.advance(|sent| publish(beside, &sent));
        if over {
            tell(&self.master, Report::Done(self.rounds.end()));
        }
    }
}

/// Sends a block, as it is before a round, to those beside it.
fn publish(beside: &[ActorRef<Message>], sent: &Sent) {
    for block in beside {
        tell(block, Message::Block(sent.clone()));
    }
}

impl Actor for Block {
    type Message = Message;

    fn handle(&mut self, message: Message, _: &mut Context<'_, Self>) {
        match message {
            Message::Begin(beside) => {
                self.beside = beside;
                publish(&self.beside, &self.rounds.begin());
            }
            Message::Block(sent) => self.rounds.keep(sent),
        }
        self.advance();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_of_savina() {
        let program = Apsp::default();
        assert_eq!(program.graph().iter().sum::<i64>(), 4_535_482);
        let distances = program.distances();
        assert_eq!(distances.iter().sum::<i64>(), 401_700);
        assert_eq!(distances.iter().max(), Some(&9));
        assert_eq!((distances[1], distances[299]), (5, 5));
        assert_eq!(program.messages(), 108_360);
    }
}
