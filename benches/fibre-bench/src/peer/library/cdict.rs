//! CDICT; see [`crate::actors::cdict`]. An answer is a message, as in Savina.

use std::collections::HashMap;

use super::{Behaviour, Context, Hosted, Library, Reply, conduct};
use crate::actors::cdict::{CDict, Outcome, Question, Value};

impl<L: Library> Hosted<L> for CDict {
    fn host() -> fn(&L::Runtime, &Self) -> anyhow::Result<Outcome> {
        |runtime, program| {
            let preloaded = (0..program.preload).map(|key| (key, vec![key; program.words].into()));
            let dictionary = |reply| Dictionary {
                program: program.clone(),
                values: preloaded.collect(),
                left: program.workers,
                outcome: Outcome::default(),
                reply,
            };
            conduct::<L, _, _>(runtime, dictionary, Request::Begin)
        }
    }
}

/// What the dictionary is sent.
enum Request<L: Library> {
    Begin,
    Write(u64, Value, L::Ref<Worker<L>>),
    Read(u64, L::Ref<Worker<L>>),
    /// A worker has asked all, and has written and read so often.
    Done {
        writes: u64,
        reads: u64,
    },
}

/// What workers are sent.
enum Answer {
    Begin,
    Written,
    Found(Option<Value>),
}

/// The actor that has the dictionary, and spawns the workers.
struct Dictionary {
    program: CDict,
    values: HashMap<u64, Value>,
    left: usize,
    outcome: Outcome,
    reply: Reply<Outcome>,
}

impl<L: Library> Behaviour<L> for Dictionary {
    type Message = Request<L>;

    fn handle(&mut self, request: Request<L>, context: &mut impl Context<L, Self>) {
        match request {
            Request::Begin => {
                for number in 0..self.program.workers {
                    let worker = L::spawn(Worker::<L> {
                        words: self.program.words,
                        questions: Box::new(self.program.asked_by(number)),
                        writes: 0,
                        reads: 0,
                        dictionary: context.myself(),
                    });
                    L::tell(&worker, Answer::Begin);
                }
            }
            Request::Write(key, value, from) => {
                self.outcome.answered += 1;
                self.values.insert(key, value);
                L::tell(&from, Answer::Written);
            }
            Request::Read(key, from) => {
                self.outcome.answered += 1;
                L::tell(&from, Answer::Found(self.values.get(&key).cloned()));
            }
            Request::Done { writes, reads } => {
                self.outcome.writes += writes;
                self.outcome.reads += reads;
                self.left -= 1;
                if self.left == 0 {
                    self.outcome.size = self.values.len() as u64;
                    self.reply.send(self.outcome);
                    context.stop();
                }
            }
        }
    }
}

/// An actor that reads and writes.
struct Worker<L: Library> {
    words: usize,
    questions: Box<dyn Iterator<Item = Question> + Send>,
    writes: u64,
    reads: u64,
    dictionary: L::Ref<Dictionary>,
}

impl<L: Library> Behaviour<L> for Worker<L> {
    type Message = Answer;

    fn handle(&mut self, answer: Answer, context: &mut impl Context<L, Self>) {
        match answer {
            Answer::Begin => {}
            Answer::Written => self.writes += 1,
            Answer::Found(value) => {
                drop(value);
                self.reads += 1;
            }
        }
        let request = match self.questions.next() {
            Some(Question::Write(key, value)) => {
                Request::Write(key, vec![value; self.words].into(), context.myself())
            }
            Some(Question::Read(key)) => Request::Read(key, context.myself()),
            None => {
                context.stop();
                let (writes, reads) = (self.writes, self.reads);
                Request::Done { writes, reads }
            }
        };
        L::tell(&self.dictionary, request);
    }
}
