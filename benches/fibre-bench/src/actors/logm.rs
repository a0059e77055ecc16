//! LOGM: the logistic map, x → rate · x · (1 − x). A worker for each series asks the computer of
//! its rate for the next term, again and again; all requests for terms are queued before. Source:
//! Savina, `logmap`.
//!
//! While a worker waits for an answer, thousands of requests lie in its mailbox. Actors that may
//! not block have to put each of them aside; a worker here asks, and its mailbox stays as it is.

use anyhow::ensure;
use fibre_actors::{Actor, ActorRef, Actors, Context, Reply};

use super::{Program, conduct, tell};

/// The rate of the first series.
const RATE: f64 = 3.46;
/// How much a series' rate and first term are above those of the one before.
const INCREMENT: f64 = 0.0025;

/// The program and its parameters.
#[derive(Debug, Clone)]
pub struct LogM {
    /// How many terms each series has.
    pub terms: u64,
    /// How many series there are.
    pub series: usize,
}

impl Default for LogM {
    fn default() -> Self {
        Self {
            terms: 25_000,
            series: 10,
        }
    }
}

/// What has been computed and counted.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The last term of each series.
    pub last: Vec<f64>,
    /// Terms that workers were asked for.
    pub next_terms: u64,
    /// Terms that computers were asked for.
    pub computes: u64,
    /// Answers that workers have got.
    pub results: u64,
}

impl Outcome {
    /// The sum of the last terms, in the order of the series.
    #[must_use]
    pub fn sum(&self) -> f64 {
        self.last.iter().sum()
    }
}

impl Program for LogM {
    type Outcome = Outcome;

    fn small() -> Self {
        Self {
            terms: 200,
            series: 10,
        }
    }

    fn messages(&self) -> u64 {
        // A request for a term, one to its computer, and an answer.
        3 * self.terms * self.series as u64
    }

    fn run(&self, actors: &Actors) -> anyhow::Result<Outcome> {
        conduct(actors, Master(self.clone()), |reply| reply)
    }

    fn check(&self, outcome: &Outcome) -> anyhow::Result<()> {
        let all = self.terms * self.series as u64;
        let right = Outcome {
            last: (0..self.series).map(|index| self.last(index)).collect(),
            next_terms: all,
            computes: all,
            results: all,
        };
        ensure!(*outcome == right, "{outcome:?} instead of {right:?}");
        Ok(())
    }
}

impl LogM {
    /// The last term of a series, computed in one go.
    fn last(&self, index: usize) -> f64 {
        let (rate, first) = start(index);
        (0..self.terms).fold(first, |term, _| next(rate, term))
    }
}

/// The rate and the first term of a series.
#[must_use]
pub fn start(index: usize) -> (f64, f64) {
    let above = index as f64 * INCREMENT;
    (RATE + above, above)
}

/// The map itself.
#[must_use]
#[inline]
pub fn next(rate: f64, term: f64) -> f64 {
    rate * term * (1.0 - term)
}

/// The actor that spawns the others and queues the requests.
struct Master(LogM);

impl Actor for Master {
    type Message = Reply<Outcome>;

    fn handle(&mut self, reply: Reply<Outcome>, context: &mut Context<'_, Self>) {
        let start = |index| {
            let (rate, term) = start(index);
            let computer = context.spawn(Computer { rate, computed: 0 });
            let worker = context.spawn(Worker::new(term, computer.clone()));
            (worker, computer)
        };
        let pairs: Vec<_> = (0..self.0.series).map(start).collect();
        for _ in 0..self.0.terms {
            for (worker, _) in &pairs {
                tell(worker, Request::NextTerm);
            }
        }
        let mut outcome = Outcome {
            last: Vec::new(),
            next_terms: 0,
            computes: 0,
            results: 0,
        };
        for (worker, computer) in &pairs {
            let Ok(end) = context.ask(worker, Request::End) else {
                return; // the one that asked is told
            };
            let Ok(computed) = context.ask(computer, Compute::Count) else {
                return;
            };
            outcome.last.push(end.term);
            outcome.next_terms += end.next_terms;
            outcome.results += end.results;
            outcome.computes += computed;
        }
        reply.send(outcome);
    }
}

/// What workers are sent.
enum Request {
    NextTerm,
    /// There are no more requests: what has come out?
    End(Reply<End>),
}

/// What a worker has at the end.
struct End {
    term: f64,
    next_terms: u64,
    results: u64,
}

/// The actor of a series.
struct Worker {
    term: f64,
    computer: ActorRef<Compute>,
    next_terms: u64,
    results: u64,
}

impl Worker {
    /// The worker of a series that begins with this term.
    fn new(term: f64, computer: ActorRef<Compute>) -> Self {
        Self {
            term,
            computer,
            next_terms: 0,
            results: 0,
        }
    }
}

impl Actor for Worker {
    type Message = Request;

    fn handle(&mut self, request: Request, context: &mut Context<'_, Self>) {
        match request {
            Request::NextTerm => {
                self.next_terms += 1;
                let term = self.term;
                if let Ok(next) = context.ask(&self.computer, |reply| Compute::Next(term, reply)) {
                    self.term = next;
                    self.results += 1;
                }
            }
            Request::End(reply) => reply.send(End {
                term: self.term,
                next_terms: self.next_terms,
                results: self.results,
            }),
        }
    }
}

/// What computers are sent.
enum Compute {
    /// What comes after this term?
    Next(f64, Reply<f64>),
    /// How many terms have been computed?
    Count(Reply<u64>),
}

/// The actor that knows a rate.
struct Computer {
    rate: f64,
    computed: u64,
}

impl Actor for Computer {
    type Message = Compute;

    fn handle(&mut self, compute: Compute, _: &mut Context<'_, Self>) {
        match compute {
            Compute::Next(term, reply) => {
                self.computed += 1;
                reply.send(next(self.rate, term));
            }
            Compute::Count(reply) => reply.send(self.computed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_that_of_savina() {
        let map = LogM::default();
        let sum: f64 = (0..map.series).map(|index| map.last(index)).sum();
        assert!((sum - 6.387_835_144_604_12).abs() < 1e-12, "{sum}");
    }
}
