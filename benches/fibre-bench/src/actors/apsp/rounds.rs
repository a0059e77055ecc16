//! A block of the matrix through all its rounds, without the actor around it.
//!
//! A block may be one round ahead of another. So what it gets is kept by round and source; Savina
//! keeps it by source alone, where a block that is ahead overwrites what is still needed.

use std::sync::Arc;

/// The numbers of a block, row by row.
pub(crate) type Numbers = Arc<[i64]>;

/// Where a block is, counted in blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) row: usize,
    pub(crate) column: usize,
}

impl Place {
    /// The place of the block of this number.
    pub(crate) fn of(number: usize, side: usize) -> Self {
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
    pub(crate) fn is_beside(self, other: Self) -> bool {
        self != other && (self.row == other.row || self.column == other.column)
    }
}

/// A block as it is before a round, for those beside it.
#[derive(Clone)]
pub(crate) struct Sent {
    round: usize,
    from: Place,
    numbers: Numbers,
}

/// A block after the last round.
pub(crate) struct End {
    pub(crate) place: Place,
    pub(crate) numbers: Numbers,
    /// How many blocks it has got from others.
    pub(crate) received: u64,
}

/// How a matrix is cut into blocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    /// How many rows and columns the matrix has; so many rounds there are.
    pub(crate) nodes: usize,
    /// How many rows and columns a block has.
    pub(crate) block: usize,
}

impl Shape {
    /// How many blocks are in a row.
    pub(crate) fn side(self) -> usize {
        self.nodes / self.block
    }
}

/// A block of the matrix.
pub(crate) struct Rounds {
    shape: Shape,
    place: Place,
    numbers: Numbers,
    /// Whether those beside it have been sent the block.
    begun: bool,
    /// The round that comes next.
    round: usize,
    /// What has been received for this round and for the next one, by the number of the source.
    inputs: [Vec<Option<Numbers>>; 2],
    /// How many inputs each of the two has.
    counts: [usize; 2],
    received: u64,
}

impl Rounds {
    /// A block that has not begun.
    pub(crate) fn new(shape: Shape, place: Place, numbers: Numbers) -> Self {
        let none = vec![None; shape.side().pow(2)];
        Self {
            shape,
            place,
            numbers,
            begun: false,
            round: 0,
            inputs: [none.clone(), none],
            counts: [0; 2],
            received: 0,
        }
    }

    /// Begins; returns what those beside it are to be sent.
    pub(crate) fn begin(&mut self) -> Sent {
        self.begun = true;
        self.sent()
    }

    /// Keeps what another block has sent.
    pub(crate) fn keep(&mut self, sent: Sent) {
        let Sent {
            round,
            from,
            numbers,
        } = sent;
        assert!(
            round == self.round || round == self.round + 1,
            "round {round} comes in round {}",
            self.round
        );
        let half = round % 2;
        let input = &mut self.inputs[half][from.number(self.shape.side())];
        assert!(input.replace(numbers).is_none(), "a block comes twice");
        self.counts[half] += 1;
        self.received += 1;
    }

    /// Makes all rounds that everything is there for, and hands out what those beside it are to be
    /// sent after each. Returns whether it was the last one.
    pub(crate) fn advance(&mut self, mut publish: impl FnMut(Sent)) -> bool {
        while self.begun && self.counts[self.round % 2] == self.awaited() {
            if self.round == self.shape.nodes {
                // What was received last serves no round.
                self.begun = false; // nothing more comes
                return true;
            }
            self.numbers = self.shorten();
            let half = self.round % 2;
            self.inputs[half].fill(None);
            self.counts[half] = 0;
            self.round += 1;
            publish(self.sent());
        }
        false
    }

    /// The block after the last round.
    pub(crate) fn end(&self) -> End {
        End {
            place: self.place,
            numbers: Arc::clone(&self.numbers),
            received: self.received,
        }
    }

    /// How many blocks are beside each.
    fn awaited(&self) -> usize {
        2 * (self.shape.side() - 1)
    }

    /// The block as it is before the next round.
    fn sent(&self) -> Sent {
        Sent {
            round: self.round,
            from: self.place,
            numbers: Arc::clone(&self.numbers),
        }
    }

    /// The block after this round: paths may go by way of one more node.
    fn shorten(&self) -> Numbers {
        let size = self.shape.block;
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
        let input = &self.inputs[self.round % 2][place.number(self.shape.side())];
        input.as_deref().unwrap_or_default()
    }
}
