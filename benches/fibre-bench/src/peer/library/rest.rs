//! Actors that have nothing to do.

use super::{Behaviour, Context, Library};
use crate::measure::Sample;
use crate::peer::rest::{self, Told};

/// Spawns them, and looks at what the process does.
pub(super) fn rest<L: Library>(told: Told) -> anyhow::Result<Sample> {
    let runtime = L::start(told.processors)?;
    let idle: Vec<_> = L::within(&runtime, || {
        (0..told.actors).map(|_| L::spawn(Idle)).collect()
    });
    let sample = rest::measure(told.seconds);
    L::within(&runtime, || {
        for actor in &idle {
            L::tell(actor, ());
        }
    });
    sample
}

/// An actor that ends with the first message.
struct Idle;

impl<L: Library> Behaviour<L> for Idle {
    type Message = ();

    fn handle(&mut self, (): (), context: &mut impl Context<L, Self>) {
        context.stop();
    }
}
