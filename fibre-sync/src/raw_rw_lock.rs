//! The read-write lock without a value: readers share it, a writer has it alone.
//!
//! Neither side starves, because both wait in queues and the lock is handed from *phase* to phase:
//! a caller that comes while others wait stands behind them. The last reader that goes hands the
//! lock to the writer that has waited longest. A writer that goes hands it to all waiting readers,
//! or to the next writer if there are none (*phase-fair*, Brandenburg and Anderson, Real-Time
//! Systems 46(1), 2010). So at most one writer overtakes a waiting reader. A waiting writer is
//! overtaken by the writers that came before it and by as many batches of readers, each of which
//! has only the readers that had come when it began.
//!
//! The price is that a contended lock changes hands by a wake-up, as a baton does: writers that
//! always want it may get it half as often as a mutex that allows barging. To make that rarer, a
//! caller that finds the lock taken spins for a moment, unless others wait already. Readers that
//! find no writer change one word that all of them share. So each reader of a lock that is read on
//! many processors at once pays for a transfer of its cache line. Only a counter for each
//! processor, and with it a larger lock, would save that.
//!
//! A waiter that gives up leaves the lock as if it had not come: the last writer that gives up lets
//! the readers in that waited behind it.
//!
//! # The last touch
//!
//! While a holder gives the lock back, another caller may get it, give it back, and free its
//! memory. So giving it back ends with one store. Without a queue, that store frees the word. With
//! a queue, it frees the queue's lock: the word has been handed to a waiter that has not been
//! resumed yet, and the lock outlives that waiter. If all waiters have given up, the holder clears
//! `QUEUED` and begins anew.

use crate::contention::{Contended, Ending};
use crate::faults;
use crate::rw_word::{Entry, Return, RwWord};
use crate::wait_list::{Claimed, Locked, Place, Spot, WaitList, wait_or_leave};
use fibre_core::internal::{Outcome, Resume, may_spin, yield_point};
use fibre_core::sync::planted;
use fibre_core::{Limit, WaitKind, WaitObject};

/// The last and longest of the pauses in a spin, in `spin_loop` hints.
const LONGEST_PAUSE: u32 = 64;

/// A read-write lock without a value and without guards, for wrappers in languages without borrows.
///
/// All zeros is a free lock; it has 32 bytes. There is no owner: any fibre or thread may give back
/// what another one took. But only a held lock may be given back. For Rust there is
/// [`RwLock`](crate::RwLock).
///
/// ```
/// use fibre::Limit;
/// use fibre_sync::RawRwLock;
///
/// static LOCK: RawRwLock = RawRwLock::new();
/// assert!(LOCK.read(Limit::None) && LOCK.try_read());
/// assert!(!LOCK.try_write());
/// // SAFETY: taken above, twice.
/// unsafe {
///     LOCK.unlock_read();
///     LOCK.unlock_read();
/// }
/// assert!(LOCK.try_write());
/// ```
#[repr(C)]
#[derive(Debug, Default)]
pub struct RawRwLock {
    word: RwWord,
    queue: Locked<Queue>,
}

fibre_core::layout!(RawRwLock: 32, 8);

/// The waiters.
#[derive(Debug, Default)]
struct Queue {
    readers: WaitList,
    writers: WaitList,
}

impl Queue {
    /// Whether both lists are empty.
    fn is_empty(&self) -> bool {
        self.readers.is_empty() && self.writers.is_empty()
    }
}

/// The waiters to which the lock has been handed, before they are resumed.
#[derive(Debug)]
enum Heirs {
    /// One writer.
    Writer(Resume),
    /// A batch of readers.
    Readers(Claimed),
}

impl Heirs {
    /// Resumes them.
    fn resume(self) {
        match self {
            Self::Writer(writer) => writer.resume(),
            Self::Readers(readers) => readers.resume(),
        }
    }
}

fibre_core::end_of_frame!(RawRwLock: word, queue);

impl RawRwLock {
    fibre_core::const_outside_models! {
        /// A free lock.
        #[must_use]
        pub const fn new() -> Self {
            Self {
                word: RwWord::new(),
                queue: Locked::new(Queue {
                    readers: WaitList::new(),
                    writers: WaitList::new(),
                }),
            }
        }
    }

    /// Takes the lock for reading. Returns `false` if the limit came first. Blocks the fibre, or
    /// the thread if the caller is not a fibre. A holder that reads again may wait for ever: for a
    /// writer that waits for it.
    ///
    /// # Panics
    ///
    /// With 2²⁹ readers.
    #[inline]
    #[must_use = "`false` means that the lock has not been taken"]
    #[track_caller]
    pub fn read(&self, limit: Limit) -> bool {
        self.read_for(|| self.awaited(), limit)
    }

    /// [`read`](Self::read) by a caller that is shown to wait for what `awaited` returns.
    #[inline]
    #[track_caller]
    pub(crate) fn read_for(&self, awaited: impl FnOnce() -> WaitObject, limit: Limit) -> bool {
        yield_point();
        self.word.try_read() || self.wait_to_read(awaited(), limit, || self.word.read_or_queue())
    }

    /// Takes the lock for reading, unless a writer has it or waits for it. Blocks nothing.
    #[inline]
    #[must_use = "`false` means that the lock has not been taken"]
    pub fn try_read(&self) -> bool {
        self.word.try_read()
    }

    /// [`read`](Self::read) that joins the present readers, also if a writer waits. So a reader may
    /// read again, and writers may wait for as long as there is a reader at every moment.
    ///
    /// ```
    /// use fibre::Limit;
    ///
    /// let lock = fibre_sync::RawRwLock::new();
    /// assert!(lock.read_joining(Limit::None) && lock.try_read_joining());
    /// ```
    ///
    /// # Panics
    ///
    /// With 2²⁹ readers.
    #[inline]
    #[must_use = "`false` means that the lock has not been taken"]
    #[track_caller]
    pub fn read_joining(&self, limit: Limit) -> bool {
        self.read_joining_for(|| self.awaited(), limit)
    }

    /// [`read_joining`](Self::read_joining) by a caller that is shown to wait for what `awaited`
    /// returns.
    #[inline]
    #[track_caller]
    pub(crate) fn read_joining_for(
        &self,
        awaited: impl FnOnce() -> WaitObject,
        limit: Limit,
    ) -> bool {
        yield_point();
        self.try_read_joining() || self.wait_to_read(awaited(), limit, || self.word.join_or_queue())
    }

    /// [`try_read`](Self::try_read) that joins the present readers, also if a writer waits. Blocks
    /// nothing.
    #[inline]
    #[must_use = "`false` means that the lock has not been taken"]
    pub fn try_read_joining(&self) -> bool {
        self.word.try_read() || self.word.readers() > 0 && self.join()
    }

    /// Joins the present readers, if there are any.
    #[cold]
    fn join(&self) -> bool {
        let hasty = planted(faults::rw_lock::READER_JOINS_WITHOUT_LOCK);
        let _queue = (!hasty).then(|| self.queue.lock());
        self.word.join()
    }

    /// Takes the lock for writing. Returns `false` if the limit came first. Blocks the fibre, or
    /// the thread if the caller is not a fibre.
    #[inline]
    #[must_use = "`false` means that the lock has not been taken"]
    #[track_caller]
    pub fn write(&self, limit: Limit) -> bool {
        self.write_for(|| self.awaited(), limit)
    }

    /// [`write`](Self::write) by a caller that is shown to wait for what `awaited` returns.
    #[inline]
    #[track_caller]
    pub(crate) fn write_for(&self, awaited: impl FnOnce() -> WaitObject, limit: Limit) -> bool {
        yield_point();
        self.word.try_write() || self.write_contended(awaited(), limit)
    }

    /// The object that is waited for, where nobody knows its writer.
    fn awaited(&self) -> WaitObject {
        WaitObject::new(WaitKind::RwLock, self)
    }

    /// Takes the lock for writing, if it is free. Blocks nothing.
    #[inline]
    #[must_use = "`false` means that the lock has not been taken"]
    pub fn try_write(&self) -> bool {
        self.word.try_write()
    }

    /// Gives the lock back after reading. Blocks nothing.
    ///
    /// # Safety
    ///
    /// The lock has been taken for reading, and is given back once.
    #[inline]
    pub unsafe fn unlock_read(&self) {
        if self.word.end_read() == Return::PassOn {
            self.pass_on_read();
        }
    }

    /// Gives the lock back after writing. Blocks nothing.
    ///
    /// # Safety
    ///
    /// The lock has been taken for writing, and is given back once.
    #[inline]
    pub unsafe fn unlock_write(&self) {
        if self.word.end_write() == Return::PassOn {
            self.pass_on_write();
        }
    }

    /// Gives the lock back, whether it was taken for reading or for writing. Blocks nothing.
    ///
    /// # Safety
    ///
    /// The caller has the lock, and gives it back once.
    pub unsafe fn unlock(&self) {
        // SAFETY: while the caller has the lock, no one else has it for the other purpose.
        unsafe {
            if self.is_written() {
                self.unlock_write();
            } else {
                self.unlock_read();
            }
        }
    }

    /// Turns writing into reading, without another writer in between. The waiting readers come in,
    /// too. Blocks nothing.
    ///
    /// # Safety
    ///
    /// The lock has been taken for writing; from here on it counts as taken for reading.
    #[inline]
    pub unsafe fn downgrade(&self) {
        if self.word.downgrade() == Return::PassOn {
            self.downgrade_contended();
        }
    }

    /// Whether the lock is held or waited for at this moment.
    #[must_use]
    pub fn is_in_use(&self) -> bool {
        !self.word.is_free()
    }

    /// Whether a writer has the lock at this moment.
    #[must_use]
    pub fn is_written(&self) -> bool {
        self.word.is_written()
    }

    /// How many readers have the lock at this moment.
    #[must_use]
    pub fn readers(&self) -> usize {
        self.word.readers()
    }

    /// Tries `try_it` for a moment, less and less often.
    fn spin(&self, mut try_it: impl FnMut() -> bool) -> bool {
        let mut pause = 1;
        while pause <= LONGEST_PAUSE && may_spin() && !self.word.has_queue() {
            (0..pause).for_each(|_| std::hint::spin_loop());
            if try_it() {
                return true;
            }
            pause *= 2;
        }
        false
    }

    /// Waits to read.
    #[cold]
    #[track_caller]
    fn wait_to_read(
        &self,
        awaited: WaitObject,
        limit: Limit,
        enter: impl FnOnce() -> Entry,
    ) -> bool {
        assert!(!self.word.is_full(), "a read-write lock with 2^29 readers");
        let contended = Contended::begin();
        let ending = match self.spin(|| self.word.try_read()) {
            true => Ending::Taken,
            false => self.wait(awaited, |queue| &mut queue.readers, limit, enter),
        };
        contended.end(ending);
        ending != Ending::GaveUp
    }

    /// Waits to write.
    #[cold]
    #[track_caller]
    fn write_contended(&self, awaited: WaitObject, limit: Limit) -> bool {
        let contended = Contended::begin();
        let try_it = || self.word.is_free() && self.word.try_write();
        let enter = || self.word.write_or_queue();
        let ending = match self.spin(try_it) {
            true => Ending::Taken,
            false => self.wait(awaited, |queue| &mut queue.writers, limit, enter),
        };
        contended.end(ending);
        ending != Ending::GaveUp
    }

    /// Waits in one of the lists, unless `enter` takes the lock.
    fn wait(
        &self,
        awaited: WaitObject,
        list: impl Fn(&mut Queue) -> &mut WaitList,
        limit: Limit,
        enter: impl FnOnce() -> Entry,
    ) -> Ending {
        let mut let_in = None;
        let enter = |_: &mut Queue| enter() == Entry::Queued;
        let leave = |queue: &mut Queue, _| let_in = self.settle(queue);
        // SAFETY: the lists are in `self`, which is borrowed, and nobody replaces them.
        let outcome = unsafe {
            wait_or_leave(
                Spot::new(awaited, Place::Last),
                &self.queue,
                list,
                limit,
                enter,
                || (),
                leave,
            )
        };
        let_in.into_iter().for_each(Claimed::resume);
        match outcome {
            Outcome::NotParked => Ending::Taken,
            Outcome::Woken(_) => Ending::HandedOver,
            Outcome::TimedOut | Outcome::Cancelled => Ending::GaveUp,
        }
    }

    /// After a waiter has given up: makes the word what it would be if that waiter had not come.
    fn settle(&self, queue: &mut Queue) -> Option<Claimed> {
        if !self.word.has_queue() || !queue.writers.is_empty() {
            return None;
        }
        if !self.word.is_written() {
            // The readers waited only behind that writer.
            if planted(faults::rw_lock::GIVING_UP_FORGETS_READERS_BEHIND) {
                return None;
            }
            let readers = queue.readers.claim_all(0);
            self.word.let_in(readers.len());
            return Some(readers);
        }
        if queue.readers.is_empty() {
            self.word.nobody_waits();
        }
        None
    }

    /// The last reader's hand-over, when the queue has waiters.
    #[cold]
    fn pass_on_read(&self) {
        loop {
            let mut queue = self.queue.lock();
            if self.word.is_to_be_passed_on() {
                let heirs = self.to_a_writer(&mut queue);
                if let Some(heirs) = heirs.or_else(|| self.to_the_readers(&mut queue, 0)) {
                    drop(queue);
                    return heirs.resume();
                }
                self.word.nobody_waits();
            }
            drop(queue);
            if self.word.end_read() == Return::Done {
                return;
            }
        }
    }

    /// The writer's hand-over, when the queue has waiters.
    #[cold]
    fn pass_on_write(&self) {
        loop {
            let mut queue = self.queue.lock();
            if self.word.is_to_be_passed_on() {
                let heirs = self.to_the_readers(&mut queue, 0);
                if let Some(heirs) = heirs.or_else(|| self.to_a_writer(&mut queue)) {
                    if !planted(faults::rw_lock::UNLOCKS_AFTER_RESUME) {
                        drop(queue);
                    }
                    return heirs.resume();
                }
                self.word.nobody_waits();
            }
            drop(queue);
            if self.word.end_write() == Return::Done {
                return;
            }
        }
    }

    /// The hand-over of a writer that goes on as a reader, when the queue has waiters.
    #[cold]
    fn downgrade_contended(&self) {
        let mut queue = self.queue.lock();
        let heirs = self.to_the_readers(&mut queue, 1);
        if heirs.is_none() {
            self.word.hand_to_readers(1, !queue.is_empty());
        }
        drop(queue);
        heirs.into_iter().for_each(Heirs::resume);
    }

    /// Hands the lock to the writer that has waited longest.
    fn to_a_writer(&self, queue: &mut Queue) -> Option<Heirs> {
        let writer = queue.writers.claim_first(0)?;
        self.word.hand_to_writer(!queue.is_empty());
        Some(Heirs::Writer(writer))
    }

    /// Hands the lock to all waiting readers; `others` more readers keep it.
    fn to_the_readers(&self, queue: &mut Queue, others: usize) -> Option<Heirs> {
        let readers = queue.readers.claim_all(0);
        if readers.is_empty() {
            return None;
        }
        let number = readers.len() + others;
        self.word.hand_to_readers(number, !queue.is_empty());
        Some(Heirs::Readers(readers))
    }
}
