//! TRAPR: an integral by the trapezoidal rule. Each worker gets one message with a part of the
//! range, and answers with its integral. Source: Savina, `trapezoid`.

use anyhow::ensure;
use fibre_actors::{Actor, Actors, Context, Reply};

use super::{Program, conduct, tell};

/// The lower end of the range.
const FROM: f64 = 1.0;
/// The upper end of the range.
const TO: f64 = 5.0;
/// The integral.
const INTEGRAL: f64 = 0.271_080_751_953_077_5;

/// The program and its parameters.
#[derive(Debug, Clone)]
pub struct TrapR {
    /// How many trapezoids there are; a multiple of the workers.
    pub pieces: u64,
    /// How many workers there are.
    pub workers: u64,
}

impl Default for TrapR {
    fn default() -> Self {
        Self {
            pieces: 10_000_000,
            workers: 100,
        }
    }
}

/// What has been computed and counted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcome {
    /// The sum of all parts, in the order of the range.
    pub integral: f64,
    /// How many parts there were.
    pub parts: u64,
}

impl Program for TrapR {
    type Outcome = Outcome;

    fn small() -> Self {
        Self {
            pieces: 20_000,
            workers: 100,
        }
    }

    fn messages(&self) -> u64 {
        // To each worker and back.
        2 * self.workers
    }

    fn run(&self, actors: &Actors) -> anyhow::Result<Outcome> {
        ensure!(
            self.pieces.is_multiple_of(self.workers),
            "{} pieces are not a multiple of {}",
            self.pieces,
            self.workers
        );
        conduct(actors, Master(self.clone()), |reply| reply)
    }

    fn check(&self, outcome: &Outcome) -> anyhow::Result<()> {
        ensure!(
            outcome.parts == self.workers,
            "{} parts instead of {}",
            outcome.parts,
            self.workers
        );
        let off = (outcome.integral - INTEGRAL).abs();
        ensure!(
            off <= self.error(),
            "{} instead of {INTEGRAL}",
            outcome.integral
        );
        Ok(())
    }
}

impl TrapR {
    /// The parts of the range, one for each worker.
    pub(crate) fn parts(&self) -> impl Iterator<Item = Part> + use<> {
        let Self { pieces, workers } = *self;
        let each = (TO - FROM) / workers as f64;
        (0..workers as usize).map(move |number| Part {
            number,
            from: FROM + number as f64 * each,
            height: (TO - FROM) / pieces as f64,
            pieces: pieces / workers,
        })
    }

    /// How far the sum may be off: the rule's error, h² · (f′(5) − f′(1)) / 12, where neither
    /// derivative is above 200, and what rounding does.
    fn error(&self) -> f64 {
        let height = (TO - FROM) / self.pieces as f64;
        1e-9_f64.max(34.0 * height * height)
    }
}

/// The function.
#[inline]
fn function(x: f64) -> f64 {
    let a = (x.powi(3) - 1.0).sin() / (x + 1.0);
    a * (1.0 + (2.0 * x).sqrt().exp()).sqrt()
}

/// A part of the range.
pub(crate) struct Part {
    pub(crate) number: usize,
    from: f64,
    height: f64,
    pieces: u64,
}

impl Part {
    /// Its integral.
    pub(crate) fn integral(&self) -> f64 {
        let trapezoid = |piece: u64| {
            let left = self.from + piece as f64 * self.height;
            let right = left + self.height;
            0.5 * (function(left) + function(right)) * self.height
        };
        (0..self.pieces).map(trapezoid).sum()
    }
}

/// A part for a worker, and where its number and its integral go.
type Order = (Part, fibre::channel::Sender<(usize, f64)>);

/// The actor that spawns the others.
struct Master(TrapR);

impl Actor for Master {
    type Message = Reply<Outcome>;

    fn handle(&mut self, reply: Reply<Outcome>, context: &mut Context<'_, Self>) {
        let (to, all) = fibre::channel::unbounded();
        for part in self.0.parts() {
            tell(&context.spawn(Worker), (part, to.clone()));
        }
        drop(to);
        let mut integrals = vec![0.0; self.0.workers as usize];
        let mut parts = 0;
        for (number, integral) in all.iter() {
            integrals[number] = integral;
            parts += 1;
        }
        reply.send(Outcome {
            integral: integrals.iter().sum(),
            parts,
        });
    }
}

/// An actor that computes a part.
struct Worker;

impl Actor for Worker {
    type Message = Order;

    fn handle(&mut self, (part, to): Order, _: &mut Context<'_, Self>) {
        // The master is gone only if it has failed.
        to.send((part.number, part.integral())).ok();
    }
}
