//! Stacks, the slabs of the stacks of one class, and the stack of each address.
//!
//! A [`Slab`] is the record of one mapping. Records are never freed: a mapping that is given up
//! leaves its record to the next one of its class. So they form a list that only grows at its head,
//! and a signal handler can walk it without a lock.
//!
//! # Memory ordering
//!
//! `HEAD` is released by the thread that hangs a record in front, and acquired by walkers: they see
//! the record's constants. `start` is stored with release after the mapping exists and loaded with
//! acquire; a walker that meets a mapping on its way out reads an address that is not in use.
//! Everything else in a record is changed under its class's lock ([`super::pool`]) and needs no
//! order of its own.
//!
//! # Invariants
//!
//! 1. A mapping is given up only under its class's lock, and only while the pool has all of its
//!    stacks. So it stays while a caller holds the lock, and while one of its stacks is outside of
//!    the pool.

use super::size::{GUARD_SIZE, class_size, page_size};
use super::system::Piece;
use std::alloc::{Layout, alloc};
use std::num::NonZeroUsize;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

/// The most stacks that one slab holds: as many as a word has bits.
pub(super) const STACKS_PER_SLAB: usize = 64;

/// The most bytes that a slab has, unless a single stack has more.
const SLAB_LENGTH: usize = 32 << 20;

const _: () = assert!(align_of::<Slab>() >= STACKS_PER_SLAB);

/// Distinct colours; the last one still leaves half of the top page.
pub(super) const COLOURS: usize = 32;

/// Bytes above a stack's base, where its owner's address lies and, behind it, the thread pointer
/// of its thread block.
const OWNER_WORD: usize = 16;

/// Bytes at the top of each stack that come on top of the size that was asked for: owner word,
/// colour, and the runtime's frames below the base: at least [`ENTRY`] are left for these.
const HEADROOM: usize = 4096;

/// Bytes for the frames between a stack's base and the function that the fibre is to run.
pub(super) const ENTRY: usize = HEADROOM - COLOURS * 64 - OWNER_WORD;

// Builds that optimise nothing use 930 for a fibre of the C library.
const _: () = assert!(ENTRY >= 2000);

/// The head of the list of all records.
static HEAD: AtomicPtr<Slab> = AtomicPtr::new(ptr::null_mut());

/// The record of one mapping. Aligned so that a stack's number fits below its address.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Slab {
    /// The address where the mapping begins; zero while there is none.
    start: AtomicUsize,
    /// The size class of its stacks.
    pub(super) class: usize,
    /// The colour of its first stack.
    colour: usize,
    /// How many stacks have a guard by now: the first ones.
    pub(super) made: AtomicUsize,
    /// A bit for each stack that the pool has.
    pub(super) free: AtomicU64,
    /// How many guards were made by `mprotect`.
    pub(super) protected: AtomicUsize,
    /// The record that was hung in before.
    next: *mut Self,
}

// SAFETY: the only pointer is to a record that is never freed; the rest is atomic.
unsafe impl Sync for Slab {}
// SAFETY: the same.
unsafe impl Send for Slab {}

impl Slab {
    /// Makes a record without a mapping, in the list. `None`: the allocator has no memory for it.
    pub(super) fn register(class: usize, colour: usize) -> Option<&'static Self> {
        // SAFETY: the layout is not empty.
        let memory = NonNull::new(unsafe { alloc(Layout::new::<Self>()) })?.cast::<Self>();
        // SAFETY: fresh memory, written before it is referred to, and never freed.
        let slab = unsafe {
            memory.write(Self {
                start: AtomicUsize::new(0),
                class,
                colour,
                made: AtomicUsize::new(0),
                free: AtomicU64::new(0),
                protected: AtomicUsize::new(0),
                next: ptr::null_mut(),
            });
            &mut *memory.as_ptr()
        };
        let mut head = HEAD.load(Ordering::Relaxed);
        loop {
            slab.next = head;
            match HEAD.compare_exchange(head, slab, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return Some(slab),
                Err(now) => head = now,
            }
        }
    }

    /// Notes the address of the mapping; zero: there is none any more.
    pub(super) fn set_start(&self, start: usize) {
        self.made.store(0, Ordering::Relaxed);
        self.free.store(0, Ordering::Relaxed);
        self.start.store(start, Ordering::Release);
    }

    /// Bytes of each stack that a fibre may count on.
    pub(super) fn stack_size(&self) -> usize {
        class_size(self.class)
    }

    /// Bytes from one stack to the next.
    fn stride(&self) -> usize {
        GUARD_SIZE + length(self.class)
    }

    /// How many stacks it has room for.
    pub(super) fn capacity(&self) -> usize {
        capacity(self.class)
    }

    /// The whole mapping.
    pub(super) fn whole(&self) -> Piece {
        Piece {
            start: self.start.load(Ordering::Acquire),
            length: self.stride() * self.capacity(),
        }
    }

    /// The guard of a stack.
    pub(super) fn guard(&self, index: usize) -> Piece {
        Piece {
            start: self.start.load(Ordering::Acquire) + index * self.stride(),
            length: GUARD_SIZE,
        }
    }

    /// The stack at an index. The caller has seen to it that it has no other owner.
    pub(super) fn stack(&'static self, index: usize) -> Stack {
        Stack {
            base: NonZeroUsize::new(self.base(index)).unwrap_or(NonZeroUsize::MIN),
            slab: self,
        }
    }

    /// One past the highest byte that a fibre may use.
    fn base(&self, index: usize) -> usize {
        let colour = (self.colour + index) % COLOURS * 64;
        self.guard(index).start + self.stride() - colour - OWNER_WORD
    }

    /// The index of the stack that an address belongs to, or with the guard that it belongs to.
    pub(super) fn index_of(&self, address: usize) -> usize {
        (address - self.start.load(Ordering::Acquire)) / self.stride()
    }

    /// The fibre that is on a stack; null for none. A hint, unless the caller knows that the stack
    /// stays as it is. Touches the stack's top page.
    ///
    /// # Safety
    ///
    /// The mapping exists and stays meanwhile (invariant 1). The overflow report, which cannot take
    /// a lock, may do without that: if the mapping goes, the read faults, and the report ends in
    /// the way that it was about to end the process.
    pub(super) unsafe fn owner(&self, index: usize) -> *const () {
        let base = self.base(index);
        // SAFETY: the caller keeps the mapping, and the word above the base lies in that. That is
        // an atomic for all its users.
        unsafe { (*ptr::with_exposed_provenance::<AtomicPtr<()>>(base)).load(Ordering::Relaxed) }
    }
}

/// The bytes between the guard of a stack of this class and what lies above it: whole pages.
fn length(class: usize) -> usize {
    let length = class_size(class) + HEADROOM;
    // Where pages are no larger than the headroom, it is a multiple of them.
    match page_size() {
        ..=HEADROOM => length,
        page => length.next_multiple_of(page),
    }
}

/// How many stacks a slab of this class holds, even if as many bytes as one needs do not exist.
fn capacity(class: usize) -> usize {
    let stride = length(class).saturating_add(GUARD_SIZE);
    (SLAB_LENGTH / stride).clamp(1, STACKS_PER_SLAB)
}

/// Bytes of a slab of this class; `None`: more than there are addresses.
pub(super) fn slab_length(class: usize) -> Option<usize> {
    let stride = length(class).checked_add(GUARD_SIZE)?;
    stride.checked_mul(capacity(class))
}

/// The word above a stack's base. See [`Stack::set_owner`].
fn owner_word(base: NonZeroUsize) -> NonNull<AtomicPtr<()>> {
    let place = ptr::with_exposed_provenance_mut(base.get());
    NonNull::new(place).unwrap_or(NonNull::dangling())
}

/// All records. Async-signal-safe.
pub(super) fn all() -> impl Iterator<Item = &'static Slab> {
    let mut next = HEAD.load(Ordering::Acquire);
    std::iter::from_fn(move || {
        // SAFETY: records are never freed.
        let slab: &'static Slab = unsafe { next.as_ref() }?;
        next = slab.next;
        Some(slab)
    })
}

/// The slab and the number of the stack that an address belongs to, be it the stack's or its
/// guard's. Async-signal-safe.
pub(super) fn find(address: usize) -> Option<(&'static Slab, usize)> {
    let slab = all().find(|slab| {
        let whole = slab.whole();
        whole.start != 0 && address.wrapping_sub(whole.start) < whole.length
    })?;
    Some((slab, slab.index_of(address)))
}

/// A stack, owned. Every fibre has one in its control block, so it holds only what cannot be
/// found out.
#[derive(Debug)]
pub(crate) struct Stack {
    /// One past the highest usable byte; 16-byte aligned.
    base: NonZeroUsize,
    /// The slab that it lies in.
    pub(super) slab: &'static Slab,
}

impl Stack {
    /// Where the address is that it begins at.
    pub(super) const BASE: usize = std::mem::offset_of!(Self, base);

    /// Where the word of its thread block is, from that address on.
    pub(crate) const THREAD_WORD: usize = size_of::<usize>();

    /// One past the highest byte that a fibre may use: where it begins, as it grows down. A
    /// multiple of 16.
    #[inline(always)]
    pub(super) fn base(&self) -> NonZeroUsize {
        self.base
    }

    /// The bytes between its guard and what lies above it.
    #[must_use]
    pub(crate) fn length(&self) -> usize {
        length(self.slab.class)
    }

    /// The stack as a word, which is more than [`STACKS_PER_SLAB`].
    pub(crate) fn into_word(self) -> u64 {
        let index = self.slab.index_of(self.base.get() - 1);
        (ptr::from_ref(self.slab).expose_provenance() | index) as u64
    }

    /// The stack that became this word.
    ///
    /// # Safety
    ///
    /// It came from [`into_word`](Self::into_word), and becomes a stack once.
    pub(crate) unsafe fn from_word(word: u64) -> Self {
        let (record, index) = (
            word as usize & !(STACKS_PER_SLAB - 1),
            word as usize % STACKS_PER_SLAB,
        );
        // SAFETY: the address of a record, which is never freed and aligned to as many bytes as a
        // slab may have stacks.
        let slab: &'static Slab = unsafe { &*ptr::with_exposed_provenance(record) };
        slab.stack(index)
    }

    /// The stack's size class.
    #[inline]
    pub(super) fn class(&self) -> usize {
        self.slab.class
    }

    /// The addresses that only an overflow touches.
    #[must_use]
    pub(crate) fn guard(&self) -> std::ops::Range<usize> {
        let guard = self.slab.guard(self.slab.index_of(self.base.get() - 1));
        guard.start..guard.start + guard.length
    }

    /// Notes the fibre that is on it, for overflow reports; null for none.
    #[inline]
    pub(crate) fn set_owner(&self, owner: *const ()) {
        // SAFETY: the stack is here.
        unsafe { self.owner_word().set(owner) };
    }

    /// The word behind that of the owner: the thread pointer of the stack's thread block, or zero.
    /// Touches the stack's top page.
    #[inline(always)]
    pub(super) fn thread_word(&self) -> &AtomicUsize {
        let place = self.base.get() + Self::THREAD_WORD;
        // SAFETY: the stack is here; the word is an atomic for all its users, and nobody else's.
        unsafe { &*ptr::with_exposed_provenance(place) }
    }

    /// The word that says which fibre is on it.
    #[inline]
    pub(crate) fn owner_word(&self) -> OwnerWord {
        OwnerWord(owner_word(self.base))
    }
}

/// The word above a stack that says which fibre is on it. See [`Stack::set_owner`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnerWord(NonNull<AtomicPtr<()>>);

impl OwnerWord {
    /// Notes the fibre that is on the stack; null for none.
    ///
    /// # Safety
    ///
    /// The stack exists.
    #[inline]
    pub(crate) unsafe fn set(self, owner: *const ()) {
        // SAFETY: the word above the base of a stack, which lives as long as that.
        unsafe { self.0.as_ref() }.store(owner.cast_mut(), Ordering::Relaxed);
    }
}
