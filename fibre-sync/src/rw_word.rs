//! The word of a read-write lock: its holders, and whether callers wait for it.
//!
//! ```text
//!   bit 0    WRITER   a writer has it
//!   bit 1    QUEUED   somebody waits; newcomers wait, too; the last holder looks at the queue
//!   bit 2 …  READER   counts the readers that have it
//! ```
//!
//! Invariants:
//!
//! 1. There are never both a writer and readers.
//! 2. While the word is `QUEUED`, the lock is held: a free word is all zeros.
//! 3. While somebody waits, the word is `QUEUED`, or a waiter has been woken and is on its way.
//!    That one sets `QUEUED` when it takes the lock, or when it waits again.
//! 4. `QUEUED` is set under the lock of the queue, or by a woken waiter as it takes the lock. It is
//!    cleared under the lock of the queue. Without that lock, a `QUEUED` word changes only when a
//!    reader leaves that is not the last one. With it, readers may join others.
//!
//! # Memory ordering
//!
//! Taking the lock acquires, unlocking releases. Leaving readers form a release sequence, so a
//! writer that takes the free word has acquired from all of them. The holder that frees a `QUEUED`
//! word, or hands it over, first reads it with acquire, and releases with the store. The new holder
//! acquires by its claim, which comes after that read.

use crate::faults;
use fibre_core::sync::{AtomicU32, Ordering, planted};

/// A writer holds the lock.
const WRITER: u32 = 1;
/// The queue has waiters.
const QUEUED: u32 = 2;
/// The unit of the count of readers.
const READER: u32 = 4;
/// At so many readers no other one comes by itself. Half of the count is left for readers that are
/// handed the lock together.
const FULL: u32 = 1 << 31;

/// What a holder that gives the lock back has to do.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Return {
    /// Nothing: the lock has been given back.
    Done,
    /// Pass the lock on, under the queue's lock: it is still the caller's.
    PassOn,
}

/// What a caller found that came under the queue's lock.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Entry {
    /// The lock is the caller's.
    Taken,
    /// The caller has to wait.
    Queued,
}

/// The word.
#[derive(Debug, Default)]
pub(crate) struct RwWord(AtomicU32);

fibre_core::end_of_frame!(RwWord: 0);

impl RwWord {
    fibre_core::const_outside_models! {
        /// The word of a free lock.
        pub(crate) const fn new() -> Self {
            Self(AtomicU32::new(0))
        }
    }

    /// Whether the lock is free.
    pub(crate) fn is_free(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    /// Whether a writer holds the lock.
    pub(crate) fn is_written(&self) -> bool {
        self.0.load(Ordering::Relaxed) & WRITER != 0
    }

    /// Whether the queue has waiters.
    pub(crate) fn has_queue(&self) -> bool {
        self.0.load(Ordering::Relaxed) & QUEUED != 0
    }

    /// How many readers hold the lock.
    pub(crate) fn readers(&self) -> usize {
        (self.0.load(Ordering::Relaxed) / READER) as usize
    }

    /// Whether there are too many readers for another one.
    pub(crate) fn is_full(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= FULL
    }

    /// Adds a reader, unless it has to wait. Returns whether it did.
    #[inline]
    pub(crate) fn try_read(&self) -> bool {
        self.try_read_as(READER)
    }

    /// [`try_read`](Self::try_read) by a woken reader; with `mark`, it may have left writers in the
    /// queue.
    pub(crate) fn try_read_woken(&self, mark: bool) -> bool {
        self.try_read_as(READER | mark_if(mark))
    }

    /// Adds this to the word, if a reader may come.
    #[inline]
    fn try_read_as(&self, reader: u32) -> bool {
        let mut now = self.0.load(Ordering::Relaxed);
        while now & (WRITER | QUEUED) == 0 && now < FULL {
            match self.exchange(now, now + reader, Ordering::Acquire) {
                Ok(_) => return true,
                Err(seen) => now = seen,
            }
        }
        false
    }

    /// Takes a free lock for a writer. Returns whether it did.
    #[inline]
    pub(crate) fn try_write(&self) -> bool {
        self.try_write_as(WRITER)
    }

    /// [`try_write`](Self::try_write) by a woken writer; with `mark`, it may have left others in
    /// the queue.
    pub(crate) fn try_write_woken(&self, mark: bool) -> bool {
        self.try_write_as(WRITER | mark_if(mark))
    }

    /// Takes a free lock by storing this word.
    #[inline]
    fn try_write_as(&self, writer: u32) -> bool {
        self.0
            .compare_exchange(0, writer, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    /// Removes a reader, unless it is the last one and the queue has waiters.
    #[inline]
    pub(crate) fn end_read(&self) -> Return {
        let mut now = self.0.load(Ordering::Relaxed);
        while now != READER | QUEUED {
            match self.exchange(now, now - READER, Ordering::Release) {
                Ok(_) => return Return::Done,
                Err(seen) => now = seen,
            }
        }
        Return::PassOn
    }

    /// Removes the writer, unless the queue has waiters.
    #[inline]
    pub(crate) fn end_write(&self) -> Return {
        self.leave_to(0)
    }

    /// Turns the writer into a reader, unless the queue has waiters.
    #[inline]
    pub(crate) fn downgrade(&self) -> Return {
        self.leave_to(READER)
    }

    /// Replaces the writer by `next`, unless the queue has waiters.
    #[inline]
    fn leave_to(&self, next: u32) -> Return {
        match self
            .0
            .compare_exchange(WRITER, next, Ordering::Release, Ordering::Relaxed)
        {
            Ok(_) => Return::Done,
            Err(_) => Return::PassOn,
        }
    }

    /// Adds a reader, or sets `QUEUED`. A reader that `joins` others does so before all waiters.
    /// With `mark`, writers are in the queue, so the word is `QUEUED` in any case. Under the
    /// queue's lock.
    pub(crate) fn read_or_queue(&self, joins: bool, mark: bool) -> Entry {
        let behind = if joins { 0 } else { QUEUED };
        loop {
            if self.try_read_woken(mark) || joins && self.join(mark) {
                return Entry::Taken;
            }
            if self.queue_if(|now| now & (WRITER | behind) != 0 || now >= FULL) {
                return Entry::Queued;
            }
        }
    }

    /// Adds a reader if others read, also if the queue has waiters. Under the queue's lock: so no
    /// holder frees the lock or hands it over meanwhile, and the last reader, which may be about
    /// to, looks again. With `mark`, others are in the queue, as for
    /// [`read_or_queue`](Self::read_or_queue).
    pub(crate) fn join(&self, mark: bool) -> bool {
        let mark = mark && !planted(faults::rw_lock::WOKEN_JOINS_AND_FORGETS);
        let mark = if mark { QUEUED } else { 0 };
        let mut now = self.0.load(Ordering::Relaxed);
        while now & WRITER == 0 && (READER..FULL).contains(&now) {
            match self.exchange(now, (now + READER) | mark, Ordering::Acquire) {
                Ok(_) => return true,
                Err(seen) => now = seen,
            }
        }
        false
    }

    /// Takes the lock for a writer, or sets `QUEUED`. With `mark`, others are in the queue, so the
    /// word is `QUEUED` in any case. Under the queue's lock.
    pub(crate) fn write_or_queue(&self, mark: bool) -> Entry {
        loop {
            if self.try_write_woken(mark) {
                return Entry::Taken;
            }
            if self.queue_if(|now| now != 0) {
                return Entry::Queued;
            }
        }
    }

    /// Sets `QUEUED`, if `waits` says of the word that the caller has to wait.
    fn queue_if(&self, waits: impl Fn(u32) -> bool) -> bool {
        let now = self.0.load(Ordering::Relaxed);
        if planted(faults::rw_lock::WAITER_LEAVES_NO_MARK) {
            return waits(now);
        }
        waits(now) && self.exchange(now, now | QUEUED, Ordering::Relaxed).is_ok()
    }

    /// Whether the only holder has to pass the lock on. Under the queue's lock, for that holder:
    /// waiters that gave up may have changed this.
    pub(crate) fn is_to_be_passed_on(&self) -> bool {
        let now = self.0.load(Ordering::Acquire);
        now == WRITER | QUEUED || now == READER | QUEUED
    }

    /// Frees the lock, which has one holder. Under the queue's lock, as all methods that follow:
    /// those that are in the queue have a woken waiter before them.
    pub(crate) fn free(&self) {
        self.0.store(0, Ordering::Release);
    }

    /// Hands the lock from its only holder to a writer.
    pub(crate) fn hand_to_writer(&self, others_wait: bool) {
        self.hand_over(WRITER, others_wait);
    }

    /// Hands the lock from its only holder to so many readers.
    pub(crate) fn hand_to_readers(&self, readers: usize, others_wait: bool) {
        self.hand_over(count_of(readers), others_wait);
    }

    /// Stores the word of the new holders.
    fn hand_over(&self, next: u32, others_wait: bool) {
        let queued = if others_wait { QUEUED } else { 0 };
        self.0.store(next | queued, Ordering::Release);
    }

    /// Clears `QUEUED`.
    pub(crate) fn nobody_waits(&self) {
        self.0.fetch_and(!QUEUED, Ordering::Relaxed);
    }

    /// A weak compare-and-swap.
    #[inline]
    fn exchange(&self, from: u32, to: u32, success: Ordering) -> Result<u32, u32> {
        self.0
            .compare_exchange_weak(from, to, success, Ordering::Relaxed)
    }
}

/// The mark, if it is to be set.
#[inline]
fn mark_if(mark: bool) -> u32 {
    if planted(faults::rw_lock::WOKEN_FORGETS_THOSE_BEHIND) {
        return 0;
    }
    if mark { QUEUED } else { 0 }
}

/// So many readers, as the word counts them.
fn count_of(readers: usize) -> u32 {
    u32::try_from(readers).unwrap_or(u32::MAX / READER) * READER
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_share_and_writers_do_not() {
        let word = RwWord::new();
        assert!(word.try_read() && word.try_read() && !word.try_write());
        assert_eq!(word.readers(), 2);
        assert_eq!([word.end_read(), word.end_read()], [Return::Done; 2]);
        assert!(word.is_free() && word.try_write());
        assert!(!word.try_read() && !word.try_write() && word.is_written());
        assert_eq!(word.downgrade(), Return::Done);
        assert!(word.try_read() && !word.is_written());
    }

    #[test]
    fn a_queue_keeps_others_out_until_it_is_passed_on() {
        let word = RwWord::new();
        assert!(word.try_read() && word.try_read());
        assert_eq!(word.write_or_queue(false), Entry::Queued);
        assert!(!word.try_read() && word.has_queue());
        assert_eq!(word.read_or_queue(false, true), Entry::Queued);
        assert_eq!(word.read_or_queue(true, true), Entry::Taken);
        assert_eq!([word.end_read(), word.end_read()], [Return::Done; 2]);
        assert_eq!(word.end_read(), Return::PassOn);
        assert!(word.is_to_be_passed_on());
        word.hand_to_writer(true);
        assert_eq!(word.end_write(), Return::PassOn);
        word.hand_to_readers(1, false);
        assert!(word.try_read());
        assert_eq!(word.readers(), 2);
    }

    #[test]
    fn who_is_woken_marks_the_word_for_those_behind() {
        let word = RwWord::new();
        for mark in [true, false] {
            assert!(word.try_write_woken(mark) && word.has_queue() == mark);
            assert_eq!(word.read_or_queue(true, false), Entry::Queued);
            assert!(word.has_queue() && word.is_to_be_passed_on());
            word.free();
            assert!(word.is_free() && word.try_read_woken(mark));
            assert!(word.try_read() != mark && word.has_queue() == mark);
            word.nobody_waits();
            while !word.is_free() {
                assert_eq!(word.end_read(), Return::Done);
            }
        }
        assert_eq!(word.write_or_queue(true), Entry::Taken);
        assert_eq!(word.end_write(), Return::PassOn);
    }

    #[test]
    fn it_is_full_long_before_the_count_overflows() {
        let word = RwWord(AtomicU32::new(FULL));
        assert!(word.is_full() && !word.try_read());
        assert_eq!(word.read_or_queue(true, false), Entry::Queued);
        assert_eq!(word.end_read(), Return::Done);
        word.nobody_waits();
        assert!(word.try_read() && word.is_full());
    }
}
