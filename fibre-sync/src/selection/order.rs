//! Which arm of a selection is tried first.
//!
//! A fair selection tries its arms in a random order, so each ready arm is equally likely to be
//! chosen, however many arms are not ready. (A random start in a fixed order would favour an arm
//! that follows one that is never ready.)

use std::sync::atomic::{AtomicU32, Ordering};

/// The order of trying arms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Another one each time.
    Fair,
    /// As they are written.
    Biased,
}

/// Multiples of this, the golden ratio, are spread evenly, also if a caller takes only every second
/// or third of them.
const GOLDEN: u32 = 0x9e37_79b9;

impl Order {
    /// Puts the arms into this order; `number` says which one an arm is.
    pub(crate) fn arrange<A>(self, arms: &mut [A], number: impl Fn(&A) -> usize) {
        match self {
            Self::Biased => arms.sort_unstable_by_key(number),
            Self::Fair => shuffle(arms),
        }
    }
}

/// Shuffles the arms.
fn shuffle<A>(arms: &mut [A]) {
    // Whatever a model does has to repeat.
    if cfg!(loom) {
        return;
    }
    let mut draw = draw();
    for last in (1..arms.len()).rev() {
        let fraction = u64::from(draw) * (last as u64 + 1);
        // At most `last`, hence in the range of `usize`.
        arms.swap(last, (fraction >> 32) as usize);
        // What is left of the draw is as even as it was, if coarser; the factor refills it.
        draw = (fraction as u32).wrapping_mul(GOLDEN) ^ (fraction as u32 >> 15);
    }
}

/// What the count of selections is multiplied by: [`GOLDEN`], or zero once
/// [`ask_directors`] has been called.
static FACTOR: AtomicU32 = AtomicU32::new(GOLDEN);

/// Has clusters under test draw by their directors from now on. Blocks nothing.
pub fn ask_directors() {
    FACTOR.store(0, Ordering::Relaxed);
}

/// A number that differs from time to time. It needs neither a thread-local nor a seed, as the
/// generator of a crate would.
fn draw() -> u32 {
    /// How many selections there have been, more or less: a lost count does no harm.
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.load(Ordering::Relaxed);
    COUNT.store(count.wrapping_add(1), Ordering::Relaxed);
    let draw = count.wrapping_mul(FACTOR.load(Ordering::Relaxed));
    if draw == 0 {
        return drawn_by_director(count);
    }
    draw
}

/// [`draw`] where a director may have to decide.
#[cold]
fn drawn_by_director(count: u32) -> u32 {
    #[cfg(not(loom))]
    if let Some(draw) = fibre_core::internal::with_director(|director| director.draw()) {
        return draw;
    }
    count.wrapping_mul(GOLDEN)
}
