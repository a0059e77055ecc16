//! The hook that links a fibre into a queue, and what queues must know of a fibre.

use crate::sync::{AtomicBool, AtomicPtr, AtomicU8, Ordering};
use std::ptr::{self, NonNull};

/// The basic queue of a logical one to which a node goes. The order is that in which they are
/// looked at.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Level {
    /// Before the others.
    High,
    /// The level of a node that was given none.
    #[default]
    Normal,
    /// After the others.
    Low,
    /// Only if no other fibre is found anywhere in the cluster.
    Background,
}

/// How many levels there are.
pub const LEVELS: usize = 4;

impl Level {
    /// The levels that take part in a turn, in the order of that turn: the higher ones
    /// first, but each of the others leads once in 64 turns, so that nothing starves.
    #[must_use]
    pub fn in_turn(turn: u32) -> [Self; 3] {
        match turn % 64 {
            0 => [Self::Low, Self::Normal, Self::High],
            32 => [Self::Normal, Self::Low, Self::High],
            _ => [Self::High, Self::Normal, Self::Low],
        }
    }
}

/// The node was told to stay with one processor.
const AFFINE: u8 = 1;

/// The node must stay on its kernel thread for the time being.
const UNWINDING: u8 = 2;

/// The fibre is in a call that nothing unwinds.
const FIRM: u8 = 1;

/// The end of the cluster spares the fibre until its limit.
const SPARED: u8 = 2;

/// The hook. All but `next` belongs to the owner of the node: the consumer that took it from a
/// queue, or the fibre while it runs; so `bonds` needs no ordering of its own.
#[derive(Debug)]
pub struct Link {
    /// The node behind this one; null at the end or while a push is in flight. In a two-ended queue
    /// both neighbours, and no pointer. Outside of queues always null: a search for stuck fibres
    /// would take the name of an earlier neighbour for a reference.
    next: AtomicPtr<Link>,
    /// The node's priority.
    level: Level,
    /// The bonds that keep it from being moved between processors: a set of the bits above.
    bonds: AtomicU8,
    /// Whether it goes before the others once it arrives where it runs.
    hurried: AtomicBool,
    /// Whether nothing stands in for the fibre's calls of the C library. It lies here because there
    /// is room.
    plain: AtomicBool,
    /// Whether the fibre has been resumed out of turn, to leave its wait. It lies here because
    /// there is room.
    roused: AtomicBool,
    /// What the end of the cluster must not do to the fibre: a set of the bits above. It lies here
    /// because there is room.
    exemptions: AtomicU8,
}

impl Link {
    /// A link that hangs nowhere, of normal priority and free to move.
    #[must_use]
    pub fn new() -> Self {
        Self::with(Level::Normal, false)
    }

    /// A link of this priority; an `affine` one never leaves its processor.
    #[must_use]
    pub fn with(level: Level, affine: bool) -> Self {
        Self {
            next: AtomicPtr::new(ptr::null_mut()),
            level,
            bonds: AtomicU8::new(if affine { AFFINE } else { 0 }),
            hurried: AtomicBool::new(false),
            plain: AtomicBool::new(false),
            roused: AtomicBool::new(false),
            exemptions: AtomicU8::new(0),
        }
    }

    /// The node's priority.
    #[inline]
    pub fn level(&self) -> Level {
        self.level
    }

    /// Whether placement need not treat it specially.
    #[inline]
    pub fn is_ordinary(&self) -> bool {
        self.level == Level::Normal && self.may_move()
    }

    /// Whether it may be moved to another processor.
    #[inline]
    pub fn may_move(&self) -> bool {
        self.bonds.load(Ordering::Relaxed) == 0
    }

    /// Whether it was told to stay with one processor.
    pub fn is_affine(&self) -> bool {
        self.bonds.load(Ordering::Relaxed) & AFFINE != 0
    }

    /// Ties it to its kernel thread for the time being, or releases it.
    #[inline]
    pub fn set_unwinding(&self, unwinding: bool) {
        let others = self.bonds.load(Ordering::Relaxed) & !UNWINDING;
        let bonds = if unwinding {
            others | UNWINDING
        } else {
            others
        };
        self.bonds.store(bonds, Ordering::Relaxed);
    }

    /// Whether nothing stands in for the fibre's calls of the C library.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.plain.load(Ordering::Relaxed)
    }

    /// Sets that, and returns what was set before.
    #[inline]
    pub fn set_plain(&self, plain: bool) -> bool {
        let before = self.is_plain();
        self.plain.store(plain, Ordering::Relaxed);
        before
    }

    /// Whether the fibre's panics, if it has any, keep it on its kernel thread.
    pub fn is_unwinding(&self) -> bool {
        self.bonds.load(Ordering::Relaxed) & UNWINDING != 0
    }

    /// Notes that the fibre is about to be resumed out of turn.
    pub fn rouse(&self) {
        self.roused.store(true, Ordering::Relaxed);
    }

    /// Whether the fibre has been resumed out of turn.
    #[inline(always)]
    pub fn is_roused(&self) -> bool {
        self.roused.load(Ordering::Relaxed)
    }

    /// Whether the fibre has been resumed out of turn, this once.
    pub fn take_rousing(&self) -> bool {
        self.roused.swap(false, Ordering::Relaxed)
    }

    /// Whether the fibre is in a call that nothing unwinds.
    #[inline]
    pub fn is_firm(&self) -> bool {
        self.exemptions.load(Ordering::Relaxed) & FIRM != 0
    }

    /// Sets that, and returns what was set before.
    pub fn set_firm(&self, firm: bool) -> bool {
        let before = self.is_firm();
        self.exempt(Self::exemptions(firm, self.is_spared()));
        before
    }

    /// Whether the end of the cluster spares the fibre until its limit.
    #[inline]
    pub fn is_spared(&self) -> bool {
        self.exemptions.load(Ordering::Relaxed) & SPARED != 0
    }

    /// Sets that.
    pub fn set_spared(&self, spared: bool) {
        self.exempt(Self::exemptions(self.is_firm(), spared));
    }

    /// What is set for a fibre that is `firm`, `spared`, or both.
    pub fn exemptions(firm: bool, spared: bool) -> u8 {
        (u8::from(firm) * FIRM) | (u8::from(spared) * SPARED)
    }

    /// Sets [these](Self::exemptions).
    #[inline]
    pub fn exempt(&self, exemptions: u8) {
        self.exemptions.store(exemptions, Ordering::Relaxed);
    }

    /// Has it go before the others once it arrives where it runs.
    pub fn hurry(&self) {
        self.hurried.store(true, Ordering::Relaxed);
    }

    /// Whether it goes before the others, this once.
    #[inline]
    pub fn take_hurry(&self) -> bool {
        let hurried = self.hurried.load(Ordering::Relaxed);
        if hurried {
            self.hurried.store(false, Ordering::Relaxed);
        }
        hurried
    }

    /// The node behind this one, if a producer has published it.
    #[inline]
    pub fn next(&self, order: Ordering) -> Option<NonNull<Link>> {
        NonNull::new(self.next.load(order))
    }

    /// Publishes `node` as the one behind this one.
    #[inline]
    pub(super) fn set_next(&self, node: *mut Link, order: Ordering) {
        self.next.store(node, order);
    }

    /// Forgets the neighbours. A consumer calls it for each node that it has taken out.
    #[inline]
    pub(super) fn unlink(&self) {
        self.next.store(ptr::null_mut(), Ordering::Relaxed);
    }

    /// Checks, in builds with such checks, that the node is in no queue. A push calls it.
    #[inline]
    pub(super) fn check_unlinked(&self) {
        debug_assert!(
            self.next.load(Ordering::Relaxed).is_null(),
            "a node is pushed that is in a queue, or that nobody has unlinked"
        );
    }
}

impl Default for Link {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn each_level_leads_now_and_then() {
        use Level::{High, Low, Normal};
        for round in [0, 64, 6400] {
            assert_eq!(Level::in_turn(round), [Low, Normal, High]);
            assert_eq!(Level::in_turn(round + 32), [Normal, Low, High]);
            for turn in (1..32).chain(33..64) {
                assert_eq!(Level::in_turn(round + turn), [High, Normal, Low]);
            }
        }
    }

    #[test]
    fn bonds_are_independent() {
        for (level, affine) in [
            (Level::Normal, false),
            (Level::Normal, true),
            (Level::Low, false),
            (Level::High, true),
        ] {
            let link = Link::with(level, affine);
            assert_eq!(link.level(), level);
            // Each twice: setting is no toggling.
            for unwinding in [false, false, true, true, false] {
                link.set_unwinding(unwinding);
                assert_eq!(link.is_affine(), affine);
                assert_eq!(link.may_move(), !affine && !unwinding);
                let ordinary = level == Level::Normal && link.may_move();
                assert_eq!(link.is_ordinary(), ordinary);
            }
        }
        assert!(Link::new().is_ordinary());
    }

    #[test]
    fn exemptions_are_independent() {
        let link = Link::new();
        assert!(!link.is_firm() && !link.is_spared());
        for firm in [true, false, true] {
            for spared in [true, true, false] {
                let before = link.is_firm();
                assert_eq!(link.set_firm(firm), before);
                link.set_spared(spared);
                assert_eq!((link.is_firm(), link.is_spared()), (firm, spared));
                let child = Link::new();
                child.exempt(Link::exemptions(firm, spared));
                assert_eq!((child.is_firm(), child.is_spared()), (firm, spared));
            }
        }
    }

    #[test]
    fn a_hurry_is_taken_once() {
        let link = Link::new();
        assert!(!link.take_hurry());
        link.hurry();
        assert!(link.take_hurry() && !link.take_hurry());
    }
}
