//! NQN: N queens on a board of N × N. No queen may take another. A master hands boards out to
//! workers in turn. A worker puts one more queen on a board and gives the master the boards that
//! come out, or from a number of queens on finds all solutions by itself. Source: Savina,
//! `nqueenk`.
//!
//! The mailboxes have no priorities, so that of a board is sent along and serves nothing.

use anyhow::ensure;
use fibre_actors::{Actor, ActorRef, Actors, Context, Reply};

use super::{Program, conduct, tell};

/// The most rows that a board may have.
pub const MOST_ROWS: usize = 16;

/// How many solutions a board of each size has, from 0 on (OEIS A000170).
const SOLUTIONS: [u64; MOST_ROWS + 1] = [
    1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14_200, 73_712, 365_596, 2_279_184, 14_772_512,
];

/// The program and its parameters.
#[derive(Debug, Clone)]
pub struct NQn {
    /// How many workers there are.
    pub workers: usize,
    /// Rows of the board, [`MOST_ROWS`] at most.
    pub size: usize,
    /// From how many queens on a worker finds the solutions by itself.
    pub threshold: usize,
    /// The priority of the first board; each queen lowers it by one.
    pub priority: u32,
}

impl Default for NQn {
    fn default() -> Self {
        Self {
            workers: 20,
            size: 12,
            threshold: 4,
            priority: 10,
        }
    }
}

/// What has been counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// Solutions that were found.
    pub solutions: u64,
    /// Boards that were handed out.
    pub work: u64,
    /// Boards that are done.
    pub done: u64,
}

impl Program for NQn {
    type Outcome = Outcome;

    fn small() -> Self {
        Self {
            workers: 7,
            size: 7,
            threshold: 2,
            ..Self::default()
        }
    }

    fn messages(&self) -> u64 {
        // A board goes to the master, but for the first, and to a worker.
        let right = self.expected();
        2 * right.work - 1 + right.done + right.solutions
    }

    fn run(&self, actors: &Actors) -> anyhow::Result<Outcome> {
        ensure!(self.size < SOLUTIONS.len(), "{} rows", self.size);
        conduct(actors, Master::new(self), Report::Begin)
    }

    fn check(&self, outcome: &Outcome) -> anyhow::Result<()> {
        let right = self.expected();
        ensure!(*outcome == right, "{outcome:?} instead of {right:?}");
        Ok(())
    }
}

impl NQn {
    /// What has to come out.
    #[must_use]
    pub fn expected(&self) -> Outcome {
        let mut board = Vec::new();
        let work = boards(&mut board, self.size, self.threshold.min(self.size));
        Outcome {
            solutions: SOLUTIONS.get(self.size).copied().unwrap_or_default(),
            work,
            done: work,
        }
    }
}

impl NQn {
    /// The empty board.
    pub(crate) fn first(&self) -> Work {
        Work {
            board: Vec::new(),
            priority: self.priority,
        }
    }

    /// Finds what comes of a board: boards with one more queen, or all solutions.
    pub(crate) fn work_on(&self, work: &Work, found: &mut impl FnMut(Found)) {
        let queens = work.board.len();
        if queens >= self.threshold.min(self.size) {
            // On the worker's stack: boards of two workers may lie in one cache line of the heap,
            // which would then be written by two processors.
            let mut board = [0; MOST_ROWS];
            board[..queens].copy_from_slice(&work.board);
            self.solve(&mut board[..self.size], queens, found);
        } else {
            self.split(work, found);
        }
    }

    /// Finds all solutions with these `queens` in a board's first rows.
    fn solve(&self, board: &mut [u8], queens: usize, found: &mut impl FnMut(Found)) {
        if queens == board.len() {
            found(Found::Solution);
            return;
        }
        for column in 0..self.size as u8 {
            board[queens] = column;
            if is_valid(&board[..=queens]) {
                self.solve(board, queens + 1, found);
            }
        }
    }

    /// Finds the boards with one more queen.
    fn split(&self, work: &Work, found: &mut impl FnMut(Found)) {
        for column in 0..self.size as u8 {
            let board = [&work.board[..], &[column]].concat();
            if is_valid(&board) {
                let priority = work.priority.saturating_sub(1);
                found(Found::Work(Work { board, priority }));
            }
        }
    }
}

/// How many boards have this one's queens and at most `limit` of them, itself included.
fn boards(board: &mut Vec<u8>, size: usize, limit: usize) -> u64 {
    let mut count = 1;
    if board.len() < limit {
        for column in 0..size as u8 {
            board.push(column);
            if is_valid(board) {
                count += boards(board, size, limit);
            }
            board.pop();
        }
    }
    count
}

/// Whether no queen of a board can take another. A board has the column of the queen of each row.
fn is_valid(board: &[u8]) -> bool {
    let columns = |row: usize| i32::from(board[row]);
    let rows = 0..board.len();
    rows.clone().all(|row| {
        rows.clone().skip(row + 1).all(|other| {
            let apart = columns(row).abs_diff(columns(other)) as usize;
            apart != 0 && apart != other - row
        })
    })
}

/// A board, and how soon it ought to be worked on.
pub(crate) struct Work {
    board: Vec<u8>,
    priority: u32,
}

/// What comes of a board.
pub(crate) enum Found {
    Solution,
    /// A board with one more queen.
    Work(Work),
}

/// What the master is sent.
enum Report {
    Begin(Reply<Outcome>),
    /// One more board.
    Work(Work),
    /// A solution.
    Solution,
    /// A board is done; what has come of it was sent before.
    Done,
}

/// The actor that hands boards out.
struct Master {
    program: NQn,
    workers: Vec<ActorRef<Work>>,
    outcome: Outcome,
    reply: Option<Reply<Outcome>>,
}

impl Master {
    /// A master that has not begun.
    fn new(program: &NQn) -> Self {
        Self {
            program: program.clone(),
            workers: Vec::new(),
            outcome: Outcome::default(),
            reply: None,
        }
    }

    /// Spawns the workers, and hands out the empty board.
    fn begin(&mut self, context: &Context<'_, Self>) {
        let worker = |_| {
            context.spawn(Worker {
                program: self.program.clone(),
                master: context.myself(),
            })
        };
        self.workers = (0..self.program.workers).map(worker).collect();
        self.hand_out(self.program.first());
    }

    /// Gives a board to the next worker.
    fn hand_out(&mut self, work: Work) {
        let next = self.outcome.work as usize % self.workers.len();
        self.outcome.work += 1;
        tell(&self.workers[next], work);
    }

    /// Counts a board that is done. When all are, answers.
    fn count(&mut self) {
        self.outcome.done += 1;
        if self.outcome.done == self.outcome.work
            && let Some(reply) = self.reply.take()
        {
            self.workers.iter().for_each(ActorRef::stop);
            reply.send(self.outcome);
        }
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
            Report::Work(work) => self.hand_out(work),
            Report::Solution => self.outcome.solutions += 1,
            Report::Done => self.count(),
        }
    }
}

/// An actor that puts queens on boards.
struct Worker {
    program: NQn,
    master: ActorRef<Report>,
}

impl Worker {
    /// Gives the master what it has found.
    fn report(&self, found: Found) {
        let report = match found {
            Found::Solution => Report::Solution,
            Found::Work(work) => Report::Work(work),
        };
        tell(&self.master, report);
    }
}

impl Actor for Worker {
    type Message = Work;

    fn handle(&mut self, work: Work, _: &mut Context<'_, Self>) {
        self.program.work_on(&work, &mut |found| self.report(found));
        tell(&self.master, Report::Done);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_those_of_savina() {
        let right = Outcome {
            solutions: 14_200,
            work: 1 + 12 + 110 + 756 + 4080,
            done: 4959,
        };
        assert_eq!(NQn::default().expected(), right);
    }

    #[test]
    fn solutions_are_the_boards_with_all_queens() {
        for (size, &solutions) in SOLUTIONS.iter().enumerate().take(8).skip(1) {
            let all = boards(&mut Vec::new(), size, size);
            let less = boards(&mut Vec::new(), size, size - 1);
            assert_eq!(all - less, solutions);
        }
    }
}
