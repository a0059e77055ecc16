//! A mutex that blocks fibres.
//!
//! One word says whether it is free, held, or held with others waiting; the others
//! stand in a [`WaitList`]. Unlocking frees the word and wakes the one that has waited
//! longest, who competes with whoever comes by (*blocking with barging*, thesis section
//! 3.3): a running fibre that needs the lock need not wait for a sleeping one to wake up.
//!
//! Barging alone starves. Who was woken in vain waits in front of the others, and once
//! it has waited for [`PATIENCE`] in all, it asks for the baton: the next unlock does not
//! free the word but hands it over (as Go's mutex does).
//!
//! A fibre that finds what it locks free would never leave its processor, and those it
//! woke there would starve; so locking is a point at which it lets them run from time to
//! time ([`yield_point`]). And one that finds the mutex taken spins for a moment before
//! it blocks, if its processor has nothing else to do: else all fibres of a processor end
//! up waiting behind another one that runs and barges, and the processor sleeps.
//!
//! Who waits always marks the word `CONTENDED` before it sleeps, and acquires it as
//! `CONTENDED`, because there may be more of its kind; a woken one that finds the
//! mutex taken marks it again. So the holder of a mutex that somebody waits for
//! always finds the mark, except while a woken one is on its way, who then is the
//! one to mark it.
//!
//! # Memory ordering
//!
//! Acquire on taking the word, release on freeing it. A contended unlock frees the word
//! or hands it over under the list's lock; a hand-over travels by the waiter's claim.
//! The guard's borrow of the mutex keeps both alive until the unlock is done. (A lock
//! without lifetimes, as C needs it, has to mind who may free it meanwhile.)

use crate::wait_list::{Locked, Place, WaitList, wait_at};
use fibre_core::sync::{AtomicU32, Ordering, has_passed};
use fibre_core::{Cancelled, Limit, Outcome, cancellation_point, may_spin, yield_point};
use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::time::{Duration, Instant};

/// Nobody has it.
const FREE: u32 = 0;
/// Somebody has it.
const HELD: u32 = 1;
/// Somebody has it, and somebody may wait for it.
const CONTENDED: u32 = 2;

/// Mutual exclusion for fibres and threads. There is no poisoning: after a panic of
/// the holder the mutex is simply free.
///
/// ```
/// use fibre_sync::Mutex;
///
/// let counter = Mutex::new(0);
/// fibre_core::scope(|scope| {
///     for _ in 0..10 {
///         scope.spawn(|| *counter.lock() += 1);
///     }
/// });
/// assert_eq!(*counter.lock(), 10);
/// ```
#[derive(Default)]
pub struct Mutex<T: ?Sized> {
    raw: RawMutex,
    value: UnsafeCell<T>,
}

// SAFETY: the lock hands the value from one fibre or thread to the next.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: as above; sharing the mutex gives exclusive access only.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

/// How long a waiter lets others go first.
const PATIENCE: Duration = Duration::from_millis(1);

/// The last and longest of the pauses in a spin, in `spin_loop` hints. The sum of all is
/// about as long as blocking and being woken take.
const LONGEST_PAUSE: u32 = 64;

/// What a waiter is woken with: the word is free, come and get it.
const FREED: u32 = 0;
/// What a waiter is woken with: the word is yours.
const HANDED: u32 = 1;

/// The lock without a value.
#[derive(Debug, Default)]
struct RawMutex {
    word: AtomicU32,
    queue: Locked<Queue>,
}

/// Those who wait.
#[derive(Debug, Default)]
struct Queue {
    waiting: WaitList,
    /// Whether the first one has asked for the baton.
    impatient: bool,
}

#[cfg(loom)]
impl fibre_core::sync::EndOfFrame for RawMutex {
    fn end_of_frame(&mut self) {
        self.word.end_of_frame();
        self.queue.end_of_frame();
    }
}

#[cfg(loom)]
impl<T> fibre_core::sync::EndOfFrame for Mutex<T> {
    fn end_of_frame(&mut self) {
        self.raw.end_of_frame();
    }
}

impl RawMutex {
    /// Takes the lock if it is free.
    #[inline]
    fn try_lock(&self) -> bool {
        self.word
            .compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    /// Takes the lock; `false`: the limit came first.
    #[inline]
    fn lock_within(&self, limit: Limit) -> bool {
        yield_point();
        self.try_lock() || self.lock_contended(limit)
    }

    /// Tries for a moment, less and less often: who looks takes the word's cache line from
    /// the holder, and whoever gets the lock at once takes it all the way over.
    fn spin(&self) -> bool {
        let mut pause = 1;
        while pause <= LONGEST_PAUSE && may_spin() {
            (0..pause).for_each(|_| std::hint::spin_loop());
            if self.word.load(Ordering::Relaxed) == FREE && self.try_lock() {
                return true;
            }
            pause *= 2;
        }
        false
    }

    /// Waits for the lock.
    #[cold]
    fn lock_contended(&self, limit: Limit) -> bool {
        if self.spin() {
            return true;
        }
        let mut place = Place::Last;
        let mut since = None;
        loop {
            let impatient = since.is_some_and(|since| has_passed(PATIENCE, since));
            let enter = |queue: &mut Queue| {
                let wait = self.word.swap(CONTENDED, Ordering::Acquire) != FREE;
                queue.impatient |= wait && impatient;
                wait
            };
            since = since.or_else(|| Some(Instant::now()));
            // SAFETY: the list is in `self`, which is borrowed, and nobody replaces it.
            let outcome = unsafe {
                wait_at(
                    place,
                    &self.queue,
                    |queue| &mut queue.waiting,
                    limit,
                    enter,
                    || (),
                )
            };
            match outcome {
                Outcome::NotParked | Outcome::Woken(HANDED) => return true,
                Outcome::TimedOut | Outcome::Cancelled => return false,
                Outcome::Woken(_freed) => place = Place::First,
            }
        }
    }

    /// Gives the lock back.
    #[inline]
    fn unlock(&self) {
        let alone = self
            .word
            .compare_exchange(HELD, FREE, Ordering::Release, Ordering::Relaxed);
        if alone.is_err() {
            self.unlock_contended();
        }
    }

    /// Frees the word, or hands it over, and lets the one go on that has waited longest.
    #[cold]
    fn unlock_contended(&self) {
        let mut queue = self.queue.lock();
        let hand_over = std::mem::take(&mut queue.impatient);
        let first = queue
            .waiting
            .claim_first(if hand_over { HANDED } else { FREED });
        if !hand_over || first.is_none() {
            self.word.store(FREE, Ordering::Release);
        }
        drop(queue);
        if let Some(first) = first {
            first.resume();
        }
    }
}

impl<T> Mutex<T> {
    /// A free mutex that holds `value`.
    #[cfg(loom)]
    pub fn new(value: T) -> Self {
        Self {
            raw: RawMutex::default(),
            value: UnsafeCell::new(value),
        }
    }

    /// A free mutex that holds `value`.
    #[cfg(not(loom))]
    pub const fn new(value: T) -> Self {
        let queue = Queue {
            waiting: WaitList::new(),
            impatient: false,
        };
        let raw = RawMutex {
            word: AtomicU32::new(FREE),
            queue: Locked::new(queue),
        };
        Self {
            raw,
            value: UnsafeCell::new(value),
        }
    }

    /// Takes the value out.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits until the mutex is the caller's. Blocks the fibre, or the thread if the
    /// caller is not a fibre. Locking a mutex that one holds waits for ever.
    ///
    /// Other fibres of the processor may run before it returns even if the mutex is free
    /// (see [`fibre_core::yield_point`]). So do not call it with a lock of `std` held
    /// that those could want: they would block the kernel thread.
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        // Without a limit this cannot fail.
        self.raw.lock_within(Limit::None);
        self.guard()
    }

    /// Takes the mutex if it is free. Blocks nothing.
    #[inline]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.raw.try_lock().then(|| self.guard())
    }

    /// Like [`lock`](Self::lock), but gives up at `deadline`, or when the fibre is
    /// cancelled. A deadline in the past, and a cancelled fibre, try once.
    pub fn lock_until(&self, deadline: Instant) -> Option<MutexGuard<'_, T>> {
        self.raw
            .lock_within(Limit::Deadline(deadline))
            .then(|| self.guard())
    }

    /// Like [`lock`](Self::lock), but ends when the fibre is cancelled. A thread cannot be.
    ///
    /// ```
    /// let mutex = fibre_sync::Mutex::new(0);
    /// let held = mutex.lock();
    /// fibre_core::scope(|scope| {
    ///     let waits = scope.spawn(|| mutex.lock_cancellable().is_err());
    ///     waits.cancel();
    ///     assert!(waits.join().unwrap());
    /// });
    /// drop(held);
    /// ```
    ///
    /// # Errors
    ///
    /// [`Cancelled`]; then the mutex is not the caller's.
    pub fn lock_cancellable(&self) -> Result<MutexGuard<'_, T>, Cancelled> {
        cancellation_point()?;
        match self.raw.lock_within(Limit::Cancellation) {
            true => Ok(self.guard()),
            false => Err(Cancelled),
        }
    }

    /// The value, without locking: the borrow shows that nobody else has the mutex.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    /// The proof of a lock that has just been taken.
    #[inline]
    fn guard(&self) -> MutexGuard<'_, T> {
        MutexGuard {
            mutex: self,
            _not_send: PhantomData,
        }
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.try_lock() {
            Some(value) => f.debug_tuple("Mutex").field(&&*value).finish(),
            None => f.write_str("Mutex(<locked>)"),
        }
    }
}

/// Access to a locked [`Mutex`]'s value; dropping it unlocks.
#[must_use = "the mutex is unlocked when the guard is dropped"]
pub struct MutexGuard<'a, T: ?Sized> {
    mutex: &'a Mutex<T>,
    /// A guard is unlocked by the fibre that locked.
    _not_send: PhantomData<*const ()>,
}

// SAFETY: a shared guard gives shared access to the value.
unsafe impl<T: ?Sized + Sync> Sync for MutexGuard<'_, T> {}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    /// Unlocks, runs nothing of the caller, and leaves a guard that must be relocked
    /// before it is used; for the condition variable.
    pub(crate) fn unlock_for_wait(&self) {
        self.mutex.raw.unlock();
    }

    /// Undoes [`unlock_for_wait`](Self::unlock_for_wait).
    pub(crate) fn relock(&self) {
        self.mutex.raw.lock_within(Limit::None);
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the lock is ours.
        unsafe { &*self.mutex.value.get() }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the lock is ours.
        unsafe { &mut *self.mutex.value.get() }
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.mutex.raw.unlock();
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
