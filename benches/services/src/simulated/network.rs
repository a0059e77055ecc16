//! A link that is bad for a while, as the seed has it.

use fibre_test::Sim;
use std::time::Duration;

/// So many milliseconds.
pub(crate) fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// Whether something happens that does so once in so many times.
pub(crate) fn once_in(sim: &Sim, times: u64) -> bool {
    sim.draw(0..times) == 0
}

/// When all planned faults are over.
pub(crate) const HEALED: Duration = Duration::from_secs(30);

/// Makes the link between two hosts a bad one; returns whether nothing on it can fail.
pub(crate) fn spoil(sim: &Sim, one: &str, other: &str) -> bool {
    let link = sim.link(one, other).latency(ms(0)..ms(1 + sim.draw(0..20)));
    if once_in(sim, 2) {
        let _ = link
            .clone()
            .short_rate(0.3)
            .window(64 + sim.draw(0..64) as usize * 64);
    }
    let mut is_sound = !once_in(sim, 3);
    if !is_sound {
        let _ = link.drop_rate(0.05);
    }
    for _ in 0..sim.draw(0..3) {
        let (later, lasts) = (sim.after(ms(sim.draw(0..15_000))), ms(sim.draw(1..15_000)));
        match sim.draw(0..3) {
            0 => drop(later.partition(one, other).heal_after(lasts)),
            1 => drop(later.hold(one, other).release_after(lasts)),
            _ => drop(later.reset(one, other)),
        }
        is_sound = false;
    }
    is_sound
}
