//! APSP: all shortest paths of a graph, after Floyd and Warshall. The matrix of distances is cut
//! into blocks, each an actor, which sends its block to all blocks of its row and of its column
//! before the first round and after each. Source: Savina, `apsp`.
//!
//! A block may be one round ahead of another. So what it gets is kept by round and source; Savina
//! keeps it by source alone, where a block that is ahead overwrites what is still needed.

use std::sync::Arc;

use anyhow::ensure;
use fibre_actors::{Actor, ActorRef, Actors, Context, Reply};

use super::savina::PseudoRandom;
use super::{Program, conduct, tell};

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

/// The numbers of a block, row by row.
type Numbers = Arc<[i64]>;

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
        let side = self.side();
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
    /// How many blocks are in a row.
    fn side(&self) -> usize {
        self.nodes / self.block
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
    fn cut(&self, matrix: &[i64], place: Place) -> Numbers {
        let rows = (0..self.block).flat_map(|row| {
            let begin = (place.row * self.block + row) * self.nodes + place.column * self.block;
            &matrix[begin..begin + self.block]
        });
        rows.copied().collect()
    }

    /// Puts the numbers of one block into a matrix.
    fn paste(&self, matrix: &mut [i64], place: Place, numbers: &[i64]) {
        for (row, numbers) in numbers.chunks(self.block).enumerate() {
            let begin = (place.row * self.block + row) * self.nodes + place.column * self.block;
            matrix[begin..begin + self.block].copy_from_slice(numbers);
        }
    }
}

/// Where a block is, counted in blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    row: usize,
    column: usize,
}

impl Place {
    /// The place of the block of this number.
    fn of(number: usize, side: usize) -> Self {
        Self {
            row: number / side,
            column: number % side,
        }
    }

    /// The number of the block.
    fn number(self, side: usize) -> usize {
        self.row * side + self.column
    }

    /// Whether another block is in the same row or column.
    fn is_beside(self, other: Self) -> bool {
        self != other && (self.row == other.row || self.column == other.column)
    }
}

/// What the master is sent.
enum Report {
    Begin(Reply<Outcome>),
    /// A block has its distances.
    Done {
        place: Place,
        numbers: Numbers,
        received: u64,
    },
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
        let side = self.program.side();
        let block = |number| {
            let place = Place::of(number, side);
            let numbers = self.program.cut(&graph, place);
            context.spawn(Block::new(&self.program, place, numbers, context.myself()))
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
            Report::Done {
                place,
                numbers,
                received,
            } => {
                let matrix = &mut self.outcome.distances;
                self.program.paste(matrix, place, &numbers);
                self.outcome.received += received;
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
    Block {
        round: usize,
        from: Place,
        numbers: Numbers,
    },
}

/// A block of the matrix.
struct Block {
    program: Apsp,
    place: Place,
    numbers: Numbers,
    master: ActorRef<Report>,
    /// Whether it knows the blocks beside it.
    begun: bool,
    /// The blocks beside it.
    beside: Vec<ActorRef<Message>>,
    /// The round that comes next.
    round: usize,
    /// What has been received for this round and for the next one, by the number of the source.
    inputs: [Vec<Option<Numbers>>; 2],
    /// How many inputs each of the two has.
    counts: [usize; 2],
    received: u64,
}

impl Block {
    /// A block that has not begun.
    fn new(program: &Apsp, place: Place, numbers: Numbers, master: ActorRef<Report>) -> Self {
        let none = vec![None; program.side().pow(2)];
        Self {
            program: program.clone(),
            place,
            numbers,
            master,
            begun: false,
            beside: Vec::new(),
            round: 0,
            inputs: [none.clone(), none],
            counts: [0; 2],
            received: 0,
        }
    }

    /// How many blocks are beside each.
    fn awaited(&self) -> usize {
        2 * (self.program.side() - 1)
    }

    /// Sends the block, as it is before the next round, to those beside it.
    fn publish(&self) {
        for block in &self.beside {
            tell(
                block,
                Message::Block {
                    round: self.round,
                    from: self.place,
                    numbers: Arc::clone(&self.numbers),
                },
            );
        }
    }

    /// Keeps what another block has sent.
    fn keep(&mut self, round: usize, from: Place, numbers: Numbers) {
        assert!(
            round == self.round || round == self.round + 1,
            "round {round} comes in round {}",
            self.round
        );
        let half = round % 2;
        let input = &mut self.inputs[half][from.number(self.program.side())];
        assert!(input.replace(numbers).is_none(), "a block comes twice");
        self.counts[half] += 1;
        self.received += 1;
    }

    /// Makes all rounds for which everything is there.
    fn advance(&mut self) {
        while self.begun && self.counts[self.round % 2] == self.awaited() {
            if self.round == self.program.nodes {
                // What was received last serves no round.
                tell(
                    &self.master,
                    Report::Done {
                        place: self.place,
                        numbers: Arc::clone(&self.numbers),
                        received: self.received,
                    },
                );
                self.begun = false; // nothing more comes
                return;
            }
            self.numbers = self.shorten();
            let half = self.round % 2;
            self.inputs[half].fill(None);
            self.counts[half] = 0;
            self.round += 1;
            self.publish();
        }
    }

    /// The block after this round, in which paths may go by way of one more node.
    fn shorten(&self) -> Numbers {
        let size = self.program.block;
        let (home, line) = (self.round / size, self.round % size);
        let to = self.input(Place {
            row: self.place.row,
            column: home,
        });
        let onwards = &self.input(Place {
            row: home,
            column: self.place.column,
        })[line * size..][..size];
        let rows = self.numbers.chunks(size).zip(to.chunks(size));
        let shorter = rows.flat_map(|(row, to)| {
            let to = to[line];
            let pairs = row.iter().zip(onwards);
            pairs.map(move |(&old, &onward)| old.min(to + onward))
        });
        shorter.collect()
    }

    /// The numbers of a block of the same row or column, before this round.
    fn input(&self, place: Place) -> &[i64] {
        if place == self.place {
            return &self.numbers;
        }
        let input = &self.inputs[self.round % 2][place.number(self.program.side())];
        input.as_deref().unwrap_or_default()
    }
}

impl Actor for Block {
    type Message = Message;

    fn handle(&mut self, message: Message, _: &mut Context<'_, Self>) {
        match message {
            Message::Begin(beside) => {
                self.beside = beside;
                self.begun = true;
                self.publish();
            }
            Message::Block {
                round,
                from,
                numbers,
            } => self.keep(round, from, numbers),
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
