//! NQN; see [`crate::actors::nqn`].

use super::{Behaviour, Context, Hosted, Library, Reply, conduct};
use crate::actors::nqn::{Found, NQn, Outcome, Work};

impl<L: Library> Hosted<L> for NQn {
    fn host() -> fn(&L::Runtime, &Self) -> anyhow::Result<Outcome> {
        |runtime, program| {
            let master = |reply| Master::<L> {
                program: program.clone(),
                workers: Vec::new(),
                outcome: Outcome::default(),
                reply,
            };
            conduct::<L, _, _>(runtime, master, Report::Begin)
        }
    }
}

/// What the master is sent.
enum Report {
    Begin,
    /// Something has come of a board.
    Found(Found),
    /// A board is done.
    Done,
}

/// The actor that hands boards out.
struct Master<L: Library> {
    program: NQn,
    workers: Vec<L::Ref<Worker<L>>>,
    outcome: Outcome,
    reply: Reply<Outcome>,
}

impl<L: Library> Master<L> {
    /// Gives a board to the next worker.
    fn hand_out(&mut self, work: Work) {
        let next = self.outcome.work as usize % self.workers.len();
        self.outcome.work += 1;
        L::tell(&self.workers[next], Order::Work(work));
    }
}

impl<L: Library> Behaviour<L> for Master<L> {
    type Message = Report;

    fn handle(&mut self, report: Report, context: &mut impl Context<L, Self>) {
        match report {
            Report::Begin => {
                let worker = |_| {
                    L::spawn(Worker {
                        program: self.program.clone(),
                        master: context.myself(),
                    })
                };
                self.workers = (0..self.program.workers).map(worker).collect();
                self.hand_out(self.program.first());
            }
            Report::Found(Found::Work(work)) => self.hand_out(work),
            Report::Found(Found::Solution) => self.outcome.solutions += 1,
            Report::Done => {
                self.outcome.done += 1;
                if self.outcome.done == self.outcome.work {
                    for worker in &self.workers {
                        L::tell(worker, Order::End);
                    }
                    self.reply.send(self.outcome);
                    context.stop();
                }
            }
        }
    }
}

/// What workers are sent.
enum Order {
    Work(Work),
    End,
}

/// An actor that puts queens on boards.
struct Worker<L: Library> {
    program: NQn,
    master: L::Ref<Master<L>>,
}

impl<L: Library> Behaviour<L> for Worker<L> {
    type Message = Order;

    fn handle(&mut self, order: Order, context: &mut impl Context<L, Self>) {
        let Order::Work(work) = order else {
            return context.stop();
        };
        let master = &self.master;
        self.program.work_on(&work, &mut |found| {
            L::tell(master, Report::Found(found));
        });
        L::tell(master, Report::Done);
    }
}
