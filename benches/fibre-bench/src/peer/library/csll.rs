//! CSLL; see [`crate::actors::csll`]. An answer is a message, as in Savina.

use super::{Behaviour, Context, Hosted, Library, Reply, conduct};
use crate::actors::csll::{CSll, List, Outcome, Question};

impl<L: Library> Hosted<L> for CSll {
    fn host() -> fn(&L::Runtime, &Self) -> anyhow::Result<Outcome> {
        |runtime, program| {
            let keeper = |reply| Keeper {
                program: program.clone(),
                list: List::default(),
                left: program.workers,
                outcome: Outcome::default(),
                reply,
            };
            conduct::<L, _, _>(runtime, keeper, Request::Begin)
        }
    }
}

/// What the list's actor is sent.
enum Request<L: Library> {
    Begin,
    Ask(Question, L::Ref<Worker<L>>),
    /// A worker has asked all.
    Done(Outcome),
}

/// What workers are sent.
enum Answer {
    Begin,
    Written,
    Found(bool),
    Size(usize),
}

/// The actor that has the list, and spawns the workers.
struct Keeper {
    program: CSll,
    list: List,
    left: usize,
    outcome: Outcome,
    reply: Reply<Outcome>,
}

impl Keeper {
    /// Counts a worker that has asked all; returns whether it was the last.
    fn count(&mut self, done: Outcome) -> bool {
        self.outcome.writes += done.writes;
        self.outcome.searches += done.searches;
        self.outcome.sizes += done.sizes;
        self.left -= 1;
        if self.left == 0 {
            let end = self.list.end();
            let outcome = Outcome {
                length: end.length,
                distinct: end.distinct,
                sum: end.sum,
                ..self.outcome
            };
            self.reply.send(outcome);
        }
        self.left == 0
    }
}

impl<L: Library> Behaviour<L> for Keeper {
    type Message = Request<L>;

    fn handle(&mut self, request: Request<L>, context: &mut impl Context<L, Self>) {
        match request {
            Request::Begin => {
                for number in 0..self.program.workers {
                    let worker = L::spawn(Worker::<L> {
                        questions: Box::new(self.program.asked_by(number)),
                        done: Outcome::default(),
                        keeper: context.myself(),
                    });
                    L::tell(&worker, Answer::Begin);
                }
            }
            Request::Ask(question, from) => {
                let answer = match question {
                    Question::Size => Answer::Size(self.list.size()),
                    Question::Search(number) => Answer::Found(self.list.has(number)),
                    Question::Write(number) => {
                        self.list.write(number);
                        Answer::Written
                    }
                };
                L::tell(&from, answer);
            }
            Request::Done(done) => {
                if self.count(done) {
                    context.stop();
                }
            }
        }
    }
}

/// An actor that searches and writes.
struct Worker<L: Library> {
    questions: Box<dyn Iterator<Item = Question> + Send>,
    done: Outcome,
    keeper: L::Ref<Keeper>,
}

impl<L: Library> Behaviour<L> for Worker<L> {
    type Message = Answer;

    fn handle(&mut self, answer: Answer, context: &mut impl Context<L, Self>) {
        match answer {
            Answer::Begin => {}
            Answer::Written => self.done.writes += 1,
            Answer::Found(true | false) => self.done.searches += 1,
            Answer::Size(0..) => self.done.sizes += 1,
        }
        let request = match self.questions.next() {
            Some(question) => Request::Ask(question, context.myself()),
            None => {
                context.stop();
                Request::Done(self.done)
            }
        };
        L::tell(&self.keeper, request);
    }
}
