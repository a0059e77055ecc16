//! CSLL: a sorted linked list that workers search and add to. Each asks the actor that has the
//! list, and waits for each answer. Source: Savina, `concsll`.

use anyhow::ensure;
use fibre_actors::{Actor, ActorRef, Actors, Context, Reply};

use super::savina::PseudoRandom;
use super::{Program, conduct, tell};

/// The program and its parameters.
#[derive(Debug, Clone)]
pub struct CSll {
    /// How many workers there are.
    pub workers: usize,
    /// How many questions each asks.
    pub questions: u64,
    /// How many of a hundred questions write.
    pub writes: u64,
    /// How many of a hundred questions are for the size.
    pub sizes: u64,
    /// What is added to the seeds of the workers.
    pub seed: u64,
}

impl Default for CSll {
    fn default() -> Self {
        Self {
            workers: 20,
            questions: 8000,
            writes: 10,
            sizes: 1,
            seed: 0,
        }
    }
}

/// What has been counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// Questions that have written.
    pub writes: u64,
    /// Questions that have searched.
    pub searches: u64,
    /// Questions for the size.
    pub sizes: u64,
    /// Numbers in the list at the end.
    pub length: u64,
    /// Different numbers in the list at the end, if it is sorted.
    pub distinct: u64,
    /// What the numbers add up to.
    pub sum: u64,
}

impl Program for CSll {
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

impl CSll {
    /// What has to come out, whatever the order.
    #[must_use]
    pub fn expected(&self) -> Outcome {
        let mut right = Outcome::default();
        let mut numbers = Vec::new();
        for worker in 0..self.workers {
            for question in self.asked_by(worker) {
                match question {
                    Question::Size => right.sizes += 1,
                    Question::Search(_) => right.searches += 1,
                    Question::Write(number) => {
                        right.writes += 1;
                        numbers.push(number);
                    }
                }
            }
        }
        right.length = numbers.len() as u64;
        right.sum = numbers.iter().sum();
        numbers.sort_unstable();
        numbers.dedup();
        right.distinct = numbers.len() as u64;
        right
    }

    /// What a worker asks.
    pub(crate) fn asked_by(&self, worker: usize) -> impl Iterator<Item = Question> + use<> {
        let seed = worker as u64 + self.questions + self.writes + self.sizes + self.seed;
        let mut random = PseudoRandom::new(seed);
        let (writes, sizes) = (self.writes, self.sizes);
        (0..self.questions).map(move |_| match random.below(100) {
            drawn if drawn < sizes => Question::Size,
            drawn if drawn < sizes + writes => Question::Write(random.draw()),
            _ => Question::Search(random.draw()),
        })
    }
}

/// What a worker wants.
pub(crate) enum Question {
    Size,
    Search(u64),
    Write(u64),
}

/// The actor that spawns the others.
struct Master(CSll);

impl Actor for Master {
    type Message = Reply<Outcome>;

    fn handle(&mut self, reply: Reply<Outcome>, context: &mut Context<'_, Self>) {
        let list = context.spawn(List::default());
        let worker = |number| {
            let (program, list) = (self.0.clone(), list.clone());
            context.spawn(Worker {
                program,
                number,
                list,
            })
        };
        let workers: Vec<_> = (0..self.0.workers).map(worker).collect();
        let (answers, all) = fibre::channel::unbounded();
        for worker in &workers {
            tell(worker, answers.clone());
        }
        drop(answers);
        let mut outcome = Outcome::default();
        for part in all.iter() {
            outcome.writes += part.writes;
            outcome.searches += part.searches;
            outcome.sizes += part.sizes;
        }
        if let Ok(end) = context.ask(&list, Request::End) {
            reply.send(Outcome {
                length: end.length,
                distinct: end.distinct,
                sum: end.sum,
                ..outcome
            });
        }
    }
}

/// What the list is sent.
pub(crate) enum Request {
    Write(u64, Reply<()>),
    /// Is this number in the list?
    Search(u64, Reply<bool>),
    Size(Reply<usize>),
    /// What has become of it? Counts length, different numbers and sum.
    End(Reply<Outcome>),
}

/// The number of a node, counted from one; zero means no node.
type Link = u32;

/// A number in the list.
struct Node {
    number: u64,
    next: Link,
}

/// The actor that has the list. The nodes lie in the order they were written, so the way through
/// the list is as it is among nodes of an allocator.
#[derive(Default)]
pub(crate) struct List {
    first: Link,
    nodes: Vec<Node>,
}

impl List {
    /// The node of a link.
    fn node(&self, link: Link) -> Option<&Node> {
        self.nodes.get((link as usize).wrapping_sub(1))
    }

    /// The last node with a number below this one, or none, and the one after it.
    fn place_of(&self, number: u64) -> (Link, Link) {
        let (mut before, mut here) = (0, self.first);
        while let Some(node) = self.node(here)
            && node.number < number
        {
            (before, here) = (here, node.next);
        }
        (before, here)
    }

    /// Adds a number, before those that are equal.
    pub(crate) fn write(&mut self, number: u64) {
        let (before, next) = self.place_of(number);
        self.nodes.push(Node { number, next });
        let new = self.nodes.len() as Link;
        match self.nodes.get_mut((before as usize).wrapping_sub(1)) {
            Some(node) => node.next = new,
            None => self.first = new,
        }
    }

    /// How many numbers are there.
    pub(crate) fn size(&self) -> usize {
        self.nodes.len()
    }

    /// Whether a number is there.
    pub(crate) fn has(&self, number: u64) -> bool {
        let (_, here) = self.place_of(number);
        self.node(here).is_some_and(|node| node.number == number)
    }

    /// What the list has become, by a walk through it.
    pub(crate) fn end(&self) -> Outcome {
        let mut end = Outcome::default();
        let (mut here, mut last) = (self.first, None);
        while let Some(node) = self.node(here) {
            end.length += 1;
            end.sum += node.number;
            end.distinct += u64::from(last != Some(node.number));
            assert!(last.is_none_or(|last| last <= node.number), "not sorted");
            last = Some(node.number);
            here = node.next;
        }
        end
    }
}

impl Actor for List {
    type Message = Request;

    fn handle(&mut self, request: Request, _: &mut Context<'_, Self>) {
        match request {
            Request::Write(number, reply) => {
                self.write(number);
                reply.send(());
            }
            Request::Search(number, reply) => reply.send(self.has(number)),
            Request::Size(reply) => reply.send(self.size()),
            Request::End(reply) => reply.send(self.end()),
        }
    }
}

/// An actor that searches and writes, and says how often it has done either.
struct Worker {
    program: CSll,
    number: usize,
    list: ActorRef<Request>,
}

impl Actor for Worker {
    type Message = fibre::channel::Sender<Outcome>;

    fn handle(&mut self, answers: Self::Message, context: &mut Context<'_, Self>) {
        let mut done = Outcome::default();
        for question in self.program.asked_by(self.number) {
            match question {
                Question::Size => {
                    done.sizes += u64::from(context.ask(&self.list, Request::Size).is_ok());
                }
                Question::Search(number) => {
                    let search = |reply| Request::Search(number, reply);
                    done.searches += u64::from(context.ask(&self.list, search).is_ok());
                }
                Question::Write(number) => {
                    let write = |reply| Request::Write(number, reply);
                    done.writes += u64::from(context.ask(&self.list, write).is_ok());
                }
            }
        }
        // The master is gone only if it has failed.
        answers.send(done).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_those_of_savina() {
        let right = CSll::default().expected();
        assert_eq!(
            (right.writes, right.searches, right.sizes, right.distinct),
            (16_126, 143_864, 10, 3345)
        );
        assert_eq!(right.length, right.writes);
    }

    #[test]
    fn the_list_is_sorted_and_keeps_what_is_equal() {
        let mut list = List::default();
        for number in [5, 1, 9, 5, 0] {
            list.write(number);
        }
        let end = list.end();
        assert_eq!((end.length, end.distinct, end.sum), (5, 4, 20));
        assert!(list.has(9) && list.has(0) && !list.has(4) && !list.has(10));
    }
}
