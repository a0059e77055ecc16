//! TRAPR; see [`crate::actors::trapr`].

use anyhow::ensure;

use super::{Behaviour, Context, Hosted, Library, Reply, conduct};
use crate::actors::trapr::{Outcome, Part, TrapR};

impl<L: Library> Hosted<L> for TrapR {
    fn host() -> fn(&L::Runtime, &Self) -> anyhow::Result<Outcome> {
        |runtime, program| {
            ensure!(program.pieces.is_multiple_of(program.workers), "odd parts");
            let master = |reply| Master {
                program: program.clone(),
                integrals: vec![0.0; program.workers as usize],
                parts: 0,
                reply,
            };
            conduct::<L, _, _>(runtime, master, Report::Begin)
        }
    }
}

/// What the master is sent.
enum Report {
    Begin,
    /// The integral of the part of this number.
    Done(usize, f64),
}

/// The actor that spawns the others.
struct Master {
    program: TrapR,
    integrals: Vec<f64>,
    parts: u64,
    reply: Reply<Outcome>,
}

impl<L: Library> Behaviour<L> for Master {
    type Message = Report;

    fn handle(&mut self, report: Report, context: &mut impl Context<L, Self>) {
        let (number, integral) = match report {
            Report::Begin => {
                for part in self.program.parts() {
                    L::tell(&L::spawn(Worker::<L>(context.myself())), part);
                }
                return;
            }
            Report::Done(number, integral) => (number, integral),
        };
        self.integrals[number] = integral;
        self.parts += 1;
        if self.parts == self.program.workers {
            let outcome = Outcome {
                integral: self.integrals.iter().sum(),
                parts: self.parts,
            };
            self.reply.send(outcome);
            context.stop();
        }
    }
}

/// An actor that computes a part.
struct Worker<L: Library>(L::Ref<Master>);

impl<L: Library> Behaviour<L> for Worker<L> {
    type Message = Part;

    fn handle(&mut self, part: Part, context: &mut impl Context<L, Self>) {
        L::tell(&self.0, Report::Done(part.number, part.integral()));
        context.stop();
    }
}
