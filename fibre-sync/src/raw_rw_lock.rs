//! The read-write lock without a value: readers share it, a writer has it alone.
//!
//! Neither side starves, because both wait in queues and the lock is handed from *phase* to phase:
//! who comes while somebody waits stands behind. The last reader that goes hands the lock to the
//! writer that has waited longest; a writer that goes hands it to all readers that wait, and to the
//! next writer if there are none (*phase-fair*, Brandenburg and Anderson, Real-Time Systems
//! 46(1), 2010). So a reader that waits is overtaken by one writer at most, and a writer by the
//! writers that came before it and by as many batches of readers, of which each holds those only that had
//! come when it began.
//!
//! The price is that a lock that is always wanted changes hands by waking somebody, as a baton does:
//! writers that never leave it alone may get it half as often as the mutex that can be barged into. To make
//! that rarer, who finds it taken spins for a moment, unless somebody waits
//! already. Readers that find no writer change one word that all of them share; a lock that is read
//! on many processors at once costs them a transfer of its cache line each, which nothing but a
//! counter for each processor, and with it a larger lock, would spare them.
//!
//! Who gives up leaves the lock as if it had not come: the last writer that gives up lets the
//! readers in that waited behind it.
//!
//! # Who touches what last
//!
//! Whoever gives the lock back may be the last to know it: another one may get it, give it back,
//! and free it. So giving it back ends with one store. Without a queue that is the one that frees
//! the word. With a queue it is the one that frees the queue's lock, when the word has been handed to
//! somebody who has not yet been resumed, and whom the lock therefore outlives. If all that
//! waited have given up, the word is marked to have no queue and the giver begins anew.

use crate::contention::{Contended, Ending};
use crate::rw_word::{Entry, Return, RwWord};
use crate::wait_list::{Claimed, Locked, Place, Spot, WaitList, wait_or_leave};
use fibre_core::sync::planted;
use fibre_core::{Awaited, Limit, Outcome, Resume, WaitKind, may_spin, yield_point};

/// The last and longest of the pauses in a spin, in `spin_loop` hints.
const LONGEST_PAUSE: u32 = 64;

/// A read-write lock without a value, and without guards: what languages without borrows wrap.
///
/// All zeros is a free one; it has 32 bytes. There is no owner: any fibre or thread may give back what
/// another one took, but nobody may give back what nobody has. For Rust there is
/// [`RwLock`](crate::RwLock).
///
/// ```
/// use fibre_core::Limit;
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

#[cfg(not(loom))]
const _: () = assert!(size_of::<RawRwLock>() == 32 && align_of::<RawRwLock>() == 8);

/// Those who wait.
#[derive(Debug, Default)]
struct Queue {
    readers: WaitList,
    writers: WaitList,
}

impl Queue {
    /// Whether nobody waits.
    fn is_empty(&self) -> bool {
        self.readers.is_empty() && self.writers.is_empty()
    }
}

/// Those to whom the lock has been handed, and who do not know it yet.
#[derive(Debug)]
enum Heirs {
    /// One, to write.
    Writer(Resume),
    /// Some, to read.
    Readers(Claimed),
}

impl Heirs {
    /// Lets them go on.
    fn resume(self) {
        match self {
            Self::Writer(writer) => writer.resume(),
            Self::Readers(readers) => readers.resume(),
        }
    }
}

#[cfg(loom)]
impl fibre_core::sync::EndOfFrame for RawRwLock {
    fn end_of_frame(&mut self) {
        self.word.end_of_frame();
        self.queue.end_of_frame();
    }
}

impl RawRwLock {
    /// A free lock.
    #[cfg(loom)]
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A free lock.
    #[cfg(not(loom))]
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

    /// Takes the lock for reading; `false`: the limit came first. Blocks the fibre, or the thread if
    /// the caller is not a fibre. One who has it already and reads again may wait for ever: for a
    /// writer that waits for the caller.
    ///
    /// # Panics
    ///
    /// With 2²⁹ readers.
    #[inline]
    #[must_use = "`false` means that the lock has not been taken"]
    #[track_caller]
    pub fn read(&self, limit: Limit) -> bool {
        yield_point();
        self.word.try_read() || self.wait_to_read(limit, || self.word.read_or_queue())
    }

    /// Takes the lock for reading, unless a writer has it or waits for it. Blocks nothing.
    #[inline]
    #[must_use = "`false` means that the lock has not been taken"]
    pub fn try_read(&self) -> bool {
        self.word.try_read()
    }

    /// [`read`](Self::read) for one who joins those that read already, also if a writer waits: so one may
    /// read again what one reads, and writers may wait for as long as somebody reads at any moment.
    ///
    /// ```
    /// use fibre_core::Limit;
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
        yield_point();
        self.try_read_joining() || self.wait_to_read(limit, || self.word.join_or_queue())
    }

    /// [`try_read`](Self::try_read) for one who joins those that read already, also if a writer
    /// waits. Blocks nothing.
    #[inline]
    #[must_use = "`false` means that the lock has not been taken"]
    pub fn try_read_joining(&self) -> bool {
        self.word.try_read() || self.word.readers() > 0 && self.join()
    }

    /// Joins those that read, if somebody does.
    #[cold]
    fn join(&self) -> bool {
        let hasty = planted("read-write lock: a reader joins without the queue's lock");
        let _queue = (!hasty).then(|| self.queue.lock());
        self.word.join()
    }

    /// Takes the lock for writing; `false`: the limit came first. Blocks the fibre, or the thread if
    /// the caller is not a fibre.
    #[inline]
    #[must_use = "`false` means that the lock has not been taken"]
    #[track_caller]
    pub fn write(&self, limit: Limit) -> bool {
        yield_point();
        self.word.try_write() || self.write_contended(limit)
    }

    /// Takes the lock for writing, if nobody has it. Blocks nothing.
    #[inline]
    #[must_use = "`false` means that the lock has not been taken"]
    pub fn try_write(&self) -> bool {
        self.word.try_write()
    }

    /// Gives the lock back after reading. Blocks nothing.
    ///
    /// # Safety
    ///
    /// It has been taken for reading, and is given back once.
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
    /// It has been taken for writing, and is given back once.
    #[inline]
    pub unsafe fn unlock_write(&self) {
        if self.word.end_write() == Return::PassOn {
            self.pass_on_write();
        }
    }

    /// Gives back whichever it was taken for. Blocks nothing.
    ///
    /// # Safety
    ///
    /// The caller has it, and gives it back once.
    pub unsafe fn unlock(&self) {
        // SAFETY: while the caller has it, nobody has it for the other purpose.
        unsafe {
            if self.is_written() {
                self.unlock_write();
            } else {
                self.unlock_read();
            }
        }
    }

    /// Turns writing into reading, without anybody writing in between; the readers that wait come
    /// in, too. Blocks nothing.
    ///
    /// # Safety
    ///
    /// It has been taken for writing; from here on it is one of reading.
    #[inline]
    pub unsafe fn downgrade(&self) {
        if self.word.downgrade() == Return::PassOn {
            self.downgrade_contended();
        }
    }

    /// Whether somebody has it at this moment, or waits for it.
    #[must_use]
    pub fn is_in_use(&self) -> bool {
        !self.word.is_free()
    }

    /// Whether somebody writes at this moment.
    #[must_use]
    pub fn is_written(&self) -> bool {
        self.word.is_written()
    }

    /// How many read at this moment.
    #[must_use]
    pub fn readers(&self) -> usize {
        self.word.readers()
    }

    /// Tries for a moment, less and less often.
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
    fn wait_to_read(&self, limit: Limit, enter: impl FnOnce() -> Entry) -> bool {
        assert!(!self.word.is_full(), "a read-write lock with 2^29 readers");
        let contended = Contended::begin();
        let ending = match self.spin(|| self.word.try_read()) {
            true => Ending::Taken,
            false => self.wait(|queue| &mut queue.readers, limit, enter),
        };
        contended.end(ending);
        ending != Ending::GaveUp
    }

    /// Waits to write.
    #[cold]
    #[track_caller]
    fn write_contended(&self, limit: Limit) -> bool {
        let contended = Contended::begin();
        let try_it = || self.word.is_free() && self.word.try_write();
        let enter = || self.word.write_or_queue();
        let ending = match self.spin(try_it) {
            true => Ending::Taken,
            false => self.wait(|queue| &mut queue.writers, limit, enter),
        };
        contended.end(ending);
        ending != Ending::GaveUp
    }

    /// Waits in one of the lists, unless `enter` takes the lock.
    fn wait(
        &self,
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
                Spot::new(Awaited::new(WaitKind::RwLock, self), Place::Last),
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

    /// After somebody has given up: makes the word what it would be if that one had not come.
    fn settle(&self, queue: &mut Queue) -> Option<Claimed> {
        if !self.word.has_queue() || !queue.writers.is_empty() {
            return None;
        }
        if !self.word.is_written() {
            // They waited behind that one only.
            if planted("read-write lock: a writer that gives up forgets the readers behind it") {
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

    /// The last reader's part, when somebody waits.
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

    /// The writer's part, when somebody waits.
    #[cold]
    fn pass_on_write(&self) {
        loop {
            let mut queue = self.queue.lock();
            if self.word.is_to_be_passed_on() {
                let heirs = self.to_the_readers(&mut queue, 0);
                if let Some(heirs) = heirs.or_else(|| self.to_a_writer(&mut queue)) {
                    if !planted("read-write lock: the queue is unlocked after the resume") {
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

    /// The part of a writer that goes on as a reader, when somebody waits.
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

    /// Hands the lock to all readers that wait, and to as many others.
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
