//! Who has a descriptor's number.
//!
//! ```text
//!   FREE ──take──> TAKEN ──prepared──> OWNED ──leave──> TAKEN ──all told──> FREE
//! ```
//!
//! What is in a slot is about its owner. Onlookers, who wait at a slot's gates without owning the number, have to
//! know of a change of owners, as nobody would wake them for what they wait for. So the slot is no owner's while it
//! is changed: a new owner comes when it has been prepared, and one that goes is seen to have gone before
//! onlookers are woken. These look, each time before they wait, whether the owner is still the same, by its
//! *generation*: how many owners the number has had.
//!
//! # Memory ordering
//!
//! States are released and acquired. Who reads OWNED has the generation, and the slot as it was prepared. Who is woken
//! by an owner that goes, or sees its event, reads TAKEN, FREE, or a later generation.

use fibre_core::sync::{AtomicU8, AtomicU32, Ordering, planted};

/// Nobody owns the number.
const FREE: u8 = 0;
/// Somebody is about to own the number, or to leave it.
const TAKEN: u8 = 1;
/// Somebody owns the number.
const OWNED: u8 = 2;

/// See the module text.
#[derive(Debug)]
pub struct Ownership {
    /// One of the states above.
    state: AtomicU8,
    /// How many owners there have been.
    generation: AtomicU32,
}

impl Default for Ownership {
    fn default() -> Self {
        Self::new()
    }
}

impl Ownership {
    /// Of a number that nobody has had.
    #[must_use]
    pub fn new() -> Self {
        Self {
            state: AtomicU8::new(FREE),
            generation: AtomicU32::new(0),
        }
    }

    /// Makes the number a new owner's, for whom `prepare` prepares the slot; whoever had it has gone or been
    /// forgotten. Returns the generation.
    pub fn take(&self, prepare: impl FnOnce()) -> u32 {
        let hasty = planted("ownership: a new owner is seen before its slot is prepared");
        self.state.store(TAKEN, Ordering::Release);
        if !hasty {
            prepare();
            return self.come();
        }
        let generation = self.come();
        prepare();
        generation
    }

    /// [`take`](Self::take), unless somebody has it; says whether nobody had.
    #[must_use]
    pub fn try_take(&self, prepare: impl FnOnce()) -> bool {
        let was = self
            .state
            .compare_exchange(FREE, TAKEN, Ordering::AcqRel, Ordering::Relaxed);
        if was.is_ok() {
            self.take(prepare);
        }
        was.is_ok()
    }

    /// Says that the new owner is there.
    fn come(&self) -> u32 {
        let before = self.generation.fetch_add(1, Ordering::AcqRel);
        self.state.store(OWNED, Ordering::Release);
        before.wrapping_add(1)
    }

    /// Says that the owner goes; `tell` wakes onlookers. The next owner comes after that.
    pub fn leave(&self, tell: impl FnOnce()) {
        let gone = if planted("ownership: onlookers are told before the owner has gone") {
            OWNED
        } else {
            TAKEN
        };
        self.state.store(gone, Ordering::Release);
        tell();
        self.state.store(FREE, Ordering::Release);
    }

    /// [`leave`](Self::leave) for any owner there is, by one who need not be it; says whether there was one. Of two
    /// who do so at once, one does.
    pub fn evict(&self, tell: impl FnOnce()) -> bool {
        let was = self
            .state
            .compare_exchange(OWNED, TAKEN, Ordering::AcqRel, Ordering::Relaxed);
        if was.is_ok() {
            self.leave(tell);
        }
        was.is_ok()
    }

    /// The generation of the present owner, if there is one.
    pub fn owner(&self) -> Option<u32> {
        loop {
            let generation = self.generation();
            if self.state.load(Ordering::Acquire) != OWNED {
                return None;
            }
            // It was this one's state, unless another owner has come between the two loads.
            if self.is_last(generation) || planted("ownership: of two loads, the first may be old")
            {
                return Some(generation);
            }
        }
    }

    /// Whether the owner of this generation is the present one. For who has acquired what came after that one's going,
    /// it is not: the state is read first, so that it cannot be a later owner's.
    #[must_use]
    pub fn is_owner(&self, generation: u32) -> bool {
        self.state.load(Ordering::Acquire) == OWNED && self.generation() == generation
    }

    /// How many owners there have been: for the owner, its generation.
    pub fn generation(&self) -> u32 {
        self.generation.load(Ordering::Acquire)
    }

    /// Whether no owner has come after the one of this generation.
    #[inline]
    pub fn is_last(&self, generation: u32) -> bool {
        self.generation() == generation
    }
}
