//! A colour that is alive: its cell, which everybody finds it by, and its slot at a processor.
//!
//! The *cell* says where the colour is: the processor that is its home, and the slot there. It
//! changes only under the lock of the home, so whoever holds a processor's lock and reads that this
//! is the home may use the slot. The *slot* has the events, and is protected by that lock.
//!
//! # Memory ordering
//!
//! A poster may read that a thief is the home, and take the thief's lock, while the thief still has
//! its victim's. So the home is stored with release after the slot has become none, and loaded with
//! acquire. Everything else is ordered by the locks.

use crate::colour::Colour;
use crate::slab::{NONE, Slab};
use fibre_core::sync::{AtomicU32, AtomicUsize, Ordering, planted};
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

/// What the queues have to know about an event.
pub trait Load {
    /// How much time it adds to what its colour has left: nanoseconds by [`SCALE`], divided by its
    /// handler's penalty.
    fn weight(&self) -> u64;

    /// Whether it has been posted, and does not come from a descriptor, timer or signal.
    fn is_posted(&self) -> bool;
}

/// Into how many parts a nanosecond is divided, so that penalties leave something.
pub const SCALE: u64 = 1024;

/// Capacity beyond this is given back when a slot is free.
const KEPT: usize = 64;

/// Where a colour is.
pub(crate) struct Cell {
    pub(crate) colour: Colour,
    home: AtomicUsize,
    slot: AtomicU32,
}

/// What a cell says about its slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spot {
    /// It has none, as it is new.
    New,
    /// It has none, as a thief has taken it from one processor and not brought it to the next.
    UnderWay,
    /// It has this one.
    At(u32),
}

/// The number that stands for [`Spot::UnderWay`].
const UNDER_WAY: u32 = NONE - 1;

impl Cell {
    /// A new colour.
    pub(crate) fn new(colour: Colour, home: usize) -> Self {
        Self {
            colour,
            home: AtomicUsize::new(home),
            slot: AtomicU32::new(NONE),
        }
    }

    /// The processor where it is, as of a moment ago unless the caller holds the lock of that one.
    pub(crate) fn home(&self) -> usize {
        // Acquire: a caller that sees a thief here sees, too, that the slot is gone.
        self.home.load(Ordering::Acquire)
    }

    /// Its slot there. The caller holds the lock of the home.
    pub(crate) fn spot(&self) -> Spot {
        match self.slot.load(Ordering::Relaxed) {
            NONE => Spot::New,
            UNDER_WAY => Spot::UnderWay,
            slot => Spot::At(slot),
        }
    }

    /// Changes the slot. The caller holds the lock of the home.
    pub(crate) fn set_spot(&self, spot: Spot) {
        let slot = match spot {
            Spot::New => NONE,
            Spot::UnderWay => UNDER_WAY,
            Spot::At(slot) => slot,
        };
        self.slot.store(slot, Ordering::Relaxed);
    }

    /// Sends it on its way to a thief. The caller holds the lock of the home that it leaves.
    pub(crate) fn leave_for(&self, thief: usize) {
        self.set_spot(Spot::UnderWay);
        let order = if planted(crate::faults::scheduler::LEAVES_IN_DISORDER) {
            Ordering::Relaxed
        } else {
            Ordering::Release
        };
        self.home.store(thief, order);
    }
}

impl fmt::Debug for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cell")
            .field("colour", &self.colour)
            .field("home", &self.home())
            .finish_non_exhaustive()
    }
}

/// What becomes of a slot next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// It has no events.
    Resting,
    /// It has events, and waits for its turn.
    Ready,
    /// One of its events runs; thieves leave it alone.
    Running,
}

/// A colour at its home.
pub(crate) struct Slot<E> {
    /// `None` in slots that are not used.
    pub(crate) cell: Option<Arc<Cell>>,
    pub(crate) phase: Phase,
    /// Events that are queued; not those that run.
    pub(crate) pending: usize,
    /// These events, where each colour has a queue.
    pub(crate) events: VecDeque<E>,
    /// The weights of these events.
    pub(crate) left: u64,
    /// The interval of the stealing-queue that it is in.
    pub(crate) interval: Option<u8>,
}

impl<E> Slot<E> {
    /// Gives a colour a slot to rest in.
    pub(crate) fn adopt(slots: &mut Slab<Self>, cell: Arc<Cell>) -> u32 {
        let renew = |slot: &mut Self, cell| slot.cell = Some(cell);
        let make = |cell| Self {
            cell: Some(cell),
            phase: Phase::Resting,
            pending: 0,
            events: VecDeque::new(),
            left: 0,
            interval: None,
        };
        slots.insert(cell, renew, make)
    }

    /// Takes the colour out of a slot that is in no chain, with its events.
    pub(crate) fn vacate(slots: &mut Slab<Self>, number: u32) -> (Option<Arc<Cell>>, VecDeque<E>) {
        let slot = slots.get_mut(number);
        let cell = slot.cell.take();
        let events = if slot.events.is_empty() {
            slot.events.shrink_to(KEPT);
            VecDeque::new()
        } else {
            std::mem::take(&mut slot.events)
        };
        slot.phase = Phase::Resting;
        slot.pending = 0;
        slot.left = 0;
        slot.interval = None;
        slots.free(number);
        (cell, events)
    }
}
