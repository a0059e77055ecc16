//! CDICT: a dictionary that workers read and write. Each worker asks the dictionary actor, and
//! waits for each answer. Source: Savina, `concdict`; thesis, figure 5.2, for values of other
//! sizes.

use std::collections::{HashMap, HashSet};

use anyhow::ensure;
use fibre_actors::{Actor, ActorRef, Actors, Context, Reply};

use super::savina::PseudoRandom;
use super::{Program, conduct, tell};

/// The program and its parameters.
#[derive(Debug, Clone)]
pub struct CDict {
    /// How many workers there are.
    pub workers: usize,
    /// How many questions each asks.
    pub questions: u64,
    /// How many of a hundred questions write.
    pub writes: u64,
    /// Machine words of a value.
    pub words: usize,
    /// How many keys, from 0 on, are there at the beginning.
    pub preload: u64,
    /// What is added to the seeds of the workers.
    pub seed: u64,
}

impl Default for CDict {
    fn default() -> Self {
        Self {
            workers: 20,
            questions: 10_000,
            writes: 10,
            words: 1,
            preload: 0,
            seed: 0,
        }
    }
}

/// What has been counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// Questions that have written.
    pub writes: u64,
    /// Questions that have read.
    pub reads: u64,
    /// Keys of the dictionary at the end.
    pub size: u64,
    /// Reads and writes that the dictionary has counted.
    pub answered: u64,
}

impl Program for CDict {
    type Outcome = Outcome;

    fn small() -> Self {
        Self {
            workers: 7,
            questions: 100,
            ..Self::default()
        }
    }

    fn messages(&self) -> u64 {
        // Questions and answers.
        2 * self.workers as u64 * self.questions
    }

    fn run(&self, actors: &Actors) -> anyhow::Result<Outcome> {
        conduct(actors, Master(self.clone()), |reply| reply)
    }

    fn check(&self, outcome: &Outcome) -> anyhow::Result<()> {
        let right = self.expected();
        ensure!(*outcome == right, "{outcome:?} instead of {right:?}");
        Ok(())
    }
}

impl CDict {
    /// What has to come out, whatever the order.
    #[must_use]
    pub fn expected(&self) -> Outcome {
        let mut right = Outcome::default();
        let mut keys: HashSet<u64> = (0..self.preload).collect();
        for worker in 0..self.workers {
            for question in self.asked_by(worker) {
                match question {
                    Question::Write(key, _) => {
                        right.writes += 1;
                        keys.insert(key);
                    }
                    Question::Read(_) => right.reads += 1,
                }
            }
        }
        right.size = keys.len() as u64;
        right.answered = right.writes + right.reads;
        right
    }

    /// What a worker asks.
    pub(crate) fn asked_by(&self, worker: usize) -> impl Iterator<Item = Question> + use<> {
        let seed = worker as u64 + self.questions + self.writes + self.seed;
        let mut random = PseudoRandom::new(seed);
        let writes = self.writes;
        (0..self.questions).map(move |_| match random.below(100) < writes {
            true => Question::Write(random.draw(), random.draw()),
            false => Question::Read(random.draw()),
        })
    }
}

/// What a worker wants.
pub(crate) enum Question {
    Write(u64, u64),
    Read(u64),
}

/// A value of the dictionary.
pub(crate) type Value = Box<[u64]>;

/// The actor that spawns the others.
struct Master(CDict);

impl Actor for Master {
    type Message = Reply<Outcome>;

    fn handle(&mut self, reply: Reply<Outcome>, context: &mut Context<'_, Self>) {
        let program = &self.0;
        let preloaded = (0..program.preload).map(|key| (key, vec![key; program.words].into()));
        let dictionary = context.spawn(Dictionary {
            values: preloaded.collect(),
            answered: 0,
        });
        let worker = |number| {
            let (program, dictionary) = (program.clone(), dictionary.clone());
            context.spawn(Worker {
                program,
                number,
                dictionary,
            })
        };
        let workers: Vec<_> = (0..program.workers).map(worker).collect();
        let (answers, all) = fibre::channel::unbounded();
        for worker in &workers {
            tell(worker, answers.clone());
        }
        drop(answers);
        let mut outcome = Outcome::default();
        for (writes, reads) in all.iter() {
            outcome.writes += writes;
            outcome.reads += reads;
        }
        if let Ok((size, answered)) = context.ask(&dictionary, Request::Count) {
            (outcome.size, outcome.answered) = (size as u64, answered);
            reply.send(outcome);
        }
    }
}

/// What the dictionary is sent.
enum Request {
    Write(u64, Value, Reply<()>),
    Read(u64, Reply<Option<Value>>),
    /// How many keys are there, and how many requests have been answered?
    Count(Reply<(usize, u64)>),
}

/// The actor that has the dictionary.
struct Dictionary {
    values: HashMap<u64, Value>,
    answered: u64,
}

impl Actor for Dictionary {
    type Message = Request;

    fn handle(&mut self, request: Request, _: &mut Context<'_, Self>) {
        self.answered += 1;
        match request {
            Request::Write(key, value, reply) => {
                self.values.insert(key, value);
                reply.send(());
            }
            Request::Read(key, reply) => reply.send(self.values.get(&key).cloned()),
            Request::Count(reply) => reply.send((self.values.len(), self.answered - 1)),
        }
    }
}

/// An actor that reads and writes, and says how often it has done either.
struct Worker {
    program: CDict,
    number: usize,
    dictionary: ActorRef<Request>,
}

impl Actor for Worker {
    type Message = fibre::channel::Sender<(u64, u64)>;

    fn handle(&mut self, answers: Self::Message, context: &mut Context<'_, Self>) {
        let (mut writes, mut reads) = (0, 0);
        for question in self.program.asked_by(self.number) {
            match question {
                Question::Write(key, value) => {
                    let value: Value = vec![value; self.program.words].into();
                    let write = |reply| Request::Write(key, value, reply);
                    writes += u64::from(context.ask(&self.dictionary, write).is_ok());
                }
                Question::Read(key) => {
                    let read = |reply| Request::Read(key, reply);
                    reads += u64::from(context.ask(&self.dictionary, read).is_ok());
                }
            }
        }
        // The master is gone only if it has failed.
        answers.send((writes, reads)).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_those_of_savina() {
        let right = Outcome {
            writes: 19_981,
            reads: 180_019,
            size: 3156,
            answered: 200_000,
        };
        assert_eq!(CDict::default().expected(), right);
        let preloaded = CDict {
            preload: 524_287,
            ..CDict::default()
        };
        assert_eq!(preloaded.expected().size, 524_287);
    }
}
