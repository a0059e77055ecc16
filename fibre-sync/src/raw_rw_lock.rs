//! The read-write lock without a value: readers share it, a writer excludes all others.
//!
//! A caller that comes while others *wait for their turn* stands behind them, and readers and
//! writers take turns (*phase-fair*, Brandenburg and Anderson, Real-Time Systems 46(1), 2010): the
//! last reader that goes wakes the writer that has waited longest, a writer that goes wakes all
//! waiting readers, or the next writer if there are none.
//!
//! But they do not hand the lock over: they free it, and the woken callers compete with running
//! ones (*barging*). If a lock belonged to fibres that do not run yet, all callers would wait until
//! these do. Each caller would be woken by another one, and each turn would cost a wake-up from
//! processor to processor (a *convoy*). If turns are short, a woken fibre finds the lock free.
//!
//! If turns are long, it may be woken for nothing. It waits again, in front of the others, and is
//! *urgent* now: while any waiter is urgent, the lock is handed over. So nobody is overtaken for
//! long. A waiter loses one turn to barging callers. From then on, at most one writer overtakes a
//! waiting reader. The writers that came before it, and as many batches of readers, overtake a
//! waiting writer. Each batch has only the readers that had come when it began.
//!
//! A woken reader joins other readers although a writer waits: it was woken for this phase.
//!
//! Before a caller blocks, it tries for a moment, and lets other fibres of its processor go first,
//! as with the mutex. Readers that find no writer change one word that all of them share. So each
//! reader of a lock that is read on many processors at once pays for a transfer of its cache line.
//! Only a counter for each processor, and with it a larger lock, would save that.
//!
//! A waiter that gives up leaves the lock as if it had never come: the last writer to give up wakes
//! the readers that waited behind it.
//!
//! # The last touch
//!
//! While a holder releases the lock, another caller may take it, release it, and free its memory.
//! So a release ends with one store. Without a queue, that store frees the word. With a queue, it
//! frees the queue's lock: a claimed waiter has not been resumed yet, and the lock outlives that
//! waiter. If all waiters have given up, the holder clears `QUEUED` and begins anew.

use crate::contention::{Contended, Ending};
use crate::faults;
use crate::lock::attempt::try_and_yield;
use crate::rw_word::{Entry, Return, RwWord};
use crate::wait_list::{Claimed, ListWait, Locked, Place, WaitList};
use fibre_core::internal::{Outcome, ShortGuard, may_spin_briefly, yield_point};
use fibre_core::sync::{AtomicBool, Ordering, planted};
use fibre_core::{Limit, WaitKind, WaitObject, in_fibre};

/// How often a fibre yields before it blocks.
const YIELDS: u32 = 2;

/// Wake value: the lock is the waiter's.
const HANDED: u32 = 0;
/// Wake value: the waiter competes for the lock.
const FREED: u32 = 1;
/// Wake value: the waiter competes for the lock, and marks the word for others in the queue.
const FREED_BEFORE_OTHERS: u32 = 2;

/// What a caller wants the lock for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// To read.
    Read,
    /// To read, before all waiters if others read already.
    Join,
    /// To write.
    Write,
}

/// A read-write lock without a value and without guards, for wrappers in languages without borrows.
///
/// All zeros is a free lock; it has 32 bytes. There is no owner: any fibre or thread may give back
/// what another one took. But only a held lock may be released. Rust code uses
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
    /// Whether a reader in the queue was woken for nothing. Under the queue's lock, as the next
    /// one; they lie here because there is room.
    urgent_reader: AtomicBool,
    /// Whether a writer in the queue was woken for nothing.
    urgent_writer: AtomicBool,
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
    /// The list of those that come for this purpose.
    fn list(&mut self, purpose: Purpose) -> &mut WaitList {
        match purpose {
            Purpose::Read | Purpose::Join => &mut self.readers,
            Purpose::Write => &mut self.writers,
        }
    }

    /// Whether both lists are empty.
    fn is_empty(&self) -> bool {
        self.readers.is_empty() && self.writers.is_empty()
    }
}

fibre_core::end_of_frame!(RawRwLock: word, urgent_reader, urgent_writer, queue);

impl RawRwLock {
    fibre_core::const_outside_models! {
        /// A free lock.
        #[must_use]
        pub const fn new() -> Self {
            Self {
                word: RwWord::new(),
                urgent_reader: AtomicBool::new(false),
                urgent_writer: AtomicBool::new(false),
                queue: Locked::new(Queue {
                    readers: WaitList::new(),
                    writers: WaitList::new(),
                }),
            }
        }
    }

    /// Takes the lock for reading. Returns `false` if the limit came first. Blocks the fibre, or
    /// the thread if the caller is not a fibre. A holder that reads again may wait for ever, for a
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
        self.word.try_read() || self.lock_contended(Purpose::Read, awaited(), limit)
    }

    /// Takes the lock for reading, unless a writer has it or waits for it. Blocks nothing.
    #[inline]
    #[must_use = "`false` means that the lock has not been taken"]
    pub fn try_read(&self) -> bool {
        self.word.try_read()
    }

    /// [`read`](Self::read) that joins the present readers, even if a writer waits. So a reader may
    /// read again, and an unbroken chain of readers keeps writers waiting.
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
        self.try_read_joining() || self.lock_contended(Purpose::Join, awaited(), limit)
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
        self.word.join(false)
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
        self.word.try_write() || self.lock_contended(Purpose::Write, awaited(), limit)
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
            self.pass_on(false);
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
            self.pass_on(true);
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

    /// Turns writing into reading, without another writer in between. The waiting readers may come
    /// in, too. Blocks nothing.
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

    /// Whether the lock is held, or waited for in its queue, at this moment. A waiter that has been
    /// woken and has not come yet is in neither.
    #[must_use]
    pub fn is_in_use(&self) -> bool {
        !self.word.is_free() || !self.queue.lock().is_empty()
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

    /// Waits for the lock, and counts the wait where contention is recorded.
    #[cold]
    #[track_caller]
    fn lock_contended(&self, purpose: Purpose, awaited: WaitObject, limit: Limit) -> bool {
        let full = purpose != Purpose::Write && self.word.is_full();
        assert!(!full, "a read-write lock with 2^29 readers");
        let contended = Contended::begin();
        let ending = self.await_lock(purpose, awaited, limit);
        contended.end(ending);
        ending != Ending::GaveUp
    }

    /// Waits for the lock.
    fn await_lock(&self, purpose: Purpose, awaited: WaitObject, limit: Limit) -> Ending {
        let yields = match limit {
            Limit::None if in_fibre() => YIELDS,
            _ => 0,
        };
        if attempt(yields, || self.try_woken(purpose, false)) {
            return Ending::Taken;
        }
        let mut place = Place::Last;
        loop {
            match self.wait(purpose, ListWait::new(awaited, limit).at(place)) {
                Outcome::NotParked => return Ending::Taken,
                Outcome::Woken(HANDED) => return Ending::HandedOver,
                Outcome::TimedOut | Outcome::Cancelled => return Ending::GaveUp,
                Outcome::Woken(freed) => {
                    let mark = freed == FREED_BEFORE_OTHERS;
                    let take = || self.try_woken(purpose, mark);
                    if take() || attempt(0, take) {
                        return Ending::Taken;
                    }
                }
            }
            place = Place::First;
        }
    }

    /// Takes the lock if it is free for this purpose, without the queue. With `mark`, the caller
    /// has been woken and may have left others there.
    fn try_woken(&self, purpose: Purpose, mark: bool) -> bool {
        match purpose {
            Purpose::Read | Purpose::Join => self.word.try_read_woken(mark),
            Purpose::Write => self.word.try_write_woken(mark),
        }
    }

    /// Waits in the queue, unless the lock is free for this purpose.
    fn wait(&self, purpose: Purpose, wait: ListWait) -> Outcome {
        let mut woken = Claimed::none();
        let in_vain = wait.place() == Place::First;
        let enter = |queue: &mut ShortGuard<'_, Queue>| {
            self.enter(queue, purpose, in_vain) == Entry::Queued
        };
        let leave = |queue: &mut ShortGuard<'_, Queue>, _| woken = self.settle(queue);
        // SAFETY: the lists are in `self`, which is borrowed, and nobody replaces them.
        let outcome = unsafe {
            wait.under(
                || self.queue.lock(),
                |queue| std::ptr::from_mut(queue.list(purpose)),
                enter,
                || (),
                leave,
            )
        };
        woken.resume();
        outcome
    }

    /// Takes the lock, or marks it for a caller that enters the queue, again if it was woken
    /// `in_vain`.
    fn enter(&self, queue: &Queue, purpose: Purpose, in_vain: bool) -> Entry {
        if queue.is_empty() && self.word.has_queue() {
            self.word.nobody_waits();
        }
        let (entry, urgent) = if purpose == Purpose::Write {
            let entry = self.word.write_or_queue(!queue.is_empty());
            (entry, &self.urgent_writer)
        } else {
            let writers = !queue.writers.is_empty();
            let joins = in_vain || purpose == Purpose::Join || !writers;
            let entry = self.word.read_or_queue(joins, writers);
            (entry, &self.urgent_reader)
        };
        if in_vain && entry == Entry::Queued {
            urgent.store(true, Ordering::Relaxed);
        }
        entry
    }

    /// After a waiter has given up: makes the word what it would be if that waiter had not come.
    /// Returns those to resume.
    fn settle(&self, queue: &mut Queue) -> Claimed {
        if !self.word.has_queue() || !queue.writers.is_empty() {
            return Claimed::none();
        }
        if !self.word.is_written() {
            // The readers waited only behind that writer.
            if planted(faults::rw_lock::GIVING_UP_FORGETS_READERS_BEHIND) {
                return Claimed::none();
            }
            self.word.nobody_waits();
            return queue.readers.claim_all(FREED);
        }
        if queue.readers.is_empty() {
            self.word.nobody_waits();
        }
        Claimed::none()
    }

    /// Gives the lock back after reading or writing when the queue has waiters: wakes those that
    /// are next.
    #[cold]
    fn pass_on(&self, written: bool) {
        loop {
            let mut queue = self.queue.lock();
            if self.word.is_to_be_passed_on() {
                let next = self.next(&mut queue, written);
                if !next.is_empty() {
                    if !planted(faults::rw_lock::UNLOCKS_AFTER_RESUME) {
                        drop(queue);
                    }
                    return next.resume();
                }
                self.word.nobody_waits();
            }
            drop(queue);
            let given_back = match written {
                true => self.word.end_write(),
                false => self.word.end_read(),
            };
            if given_back == Return::Done {
                return;
            }
        }
    }

    /// Frees the lock for those that are next, or hands it to them if somebody is urgent: after
    /// readers a writer, after a writer all readers, if there are such.
    fn next(&self, queue: &mut Queue, written: bool) -> Claimed {
        let urgent =
            |flag: &AtomicBool, list: &WaitList| flag.load(Ordering::Relaxed) && !list.is_empty();
        let hands = urgent(&self.urgent_reader, &queue.readers)
            || urgent(&self.urgent_writer, &queue.writers);
        let (first, second) = match written {
            true => (Purpose::Read, Purpose::Write),
            false => (Purpose::Write, Purpose::Read),
        };
        let next = self.claim(queue, first, hands);
        match next.is_empty() {
            true => self.claim(queue, second, hands),
            false => next,
        }
    }

    /// Claims the first writer, or all readers, and leaves the lock to them.
    fn claim(&self, queue: &mut Queue, purpose: Purpose, hands: bool) -> Claimed {
        let writes = purpose == Purpose::Write;
        let token = match (hands, writes || !queue.writers.is_empty()) {
            (true, _) => HANDED,
            (false, false) => FREED,
            (false, true) => FREED_BEFORE_OTHERS,
        };
        let mut claimed = Claimed::none();
        if writes {
            let writers = &mut queue.writers;
            while !writers.is_empty() && !writers.claim_first_of_many(token, &mut claimed) {}
        } else {
            claimed = queue.readers.claim_all(token);
        }
        match (claimed.len(), hands) {
            (0, _) => {}
            (_, true) if planted(faults::rw_lock::HANDED_OVER_IS_FREE_TOO) => self.word.free(),
            (_, false) => self.word.free(),
            (_, true) if writes => {
                self.urgent_writer.store(false, Ordering::Relaxed);
                self.word.hand_to_writer(!queue.is_empty());
            }
            (readers, true) => {
                self.urgent_reader.store(false, Ordering::Relaxed);
                self.word.hand_to_readers(readers, !queue.is_empty());
            }
        }
        claimed
    }

    /// Lets waiting readers join a writer that goes on as a reader, when the queue has waiters.
    #[cold]
    fn downgrade_contended(&self) {
        let mut queue = self.queue.lock();
        let readers = queue.readers.claim_all(FREED);
        self.word.hand_to_readers(1, !queue.is_empty());
        drop(queue);
        readers.resume();
    }
}

/// Tries for a moment, and after each of so many yields, to take the lock.
fn attempt(yields: u32, take: impl Fn() -> bool) -> bool {
    may_spin_briefly() && try_and_yield(yields, take).is_some()
}
