//! The one place that chooses between real atomics and loom's.
//!
//! All lock-free protocols import their atomics, cells, locks and futexes from this module, so that
//! the models in `tests/loom/*.rs` run the shipped code and not a copy of it. The module also lets
//! models look into shipped code: a [`Framed`] value says when its frame ends, and [`planted`] is
//! where a model puts a fault that it must find.

#[cfg(not(loom))]
pub use self::real::*;
#[cfg(not(loom))]
pub use std::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering,
};

#[cfg(loom)]
pub use self::modelled::*;

use rustix::io::Errno;

/// A barrier for two: see `light_barrier`. An error if the kernel refused it.
pub type HeavyBarrier = fn() -> Result<(), Errno>;

/// How often a waiting thread gives its CPU away before it naps.
const YIELDS: u32 = 32;

/// Waiting for a thread that holds something for a few instructions only: a short spin, then
/// yields, since the holder may have lost its CPU, and then naps. So a wait for a holder that does
/// not get to run costs others little CPU time, and delays the waiting thread by a nap at most.
#[derive(Debug)]
pub struct Backoff {
    looks: u32,
    yields: u32,
}

impl Default for Backoff {
    fn default() -> Self {
        Self::new()
    }
}

impl Backoff {
    /// The beginning of a wait.
    #[inline]
    #[must_use]
    pub const fn new() -> Self {
        Self {
            looks: 0,
            yields: 0,
        }
    }

    /// Waits between two looks. Blocks the thread.
    pub fn wait(&mut self) {
        self.looks += 1;
        if self.looks < SPIN_LIMIT {
            spin_hint();
        } else if self.yields < YIELDS {
            self.looks = 0;
            self.yields += 1;
            thread_yield();
        } else {
            self.looks = 0;
            nap();
        }
    }
}

/// How many times a thread spins on a window of a few instructions before it gives up.
#[cfg(not(loom))]
pub const SPIN_LIMIT: u32 = 128;
/// One look is enough in a model: each further one only repeats states.
#[cfg(loom)]
pub const SPIN_LIMIT: u32 = 1;

#[cfg(not(loom))]
mod real {
    use rustix::thread::{MembarrierCommand, futex, membarrier};
    use std::ops::Deref;
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering, compiler_fence};
    use std::time::{Duration, Instant};

    pub use crate::sync::thread_mutex::{Mutex, MutexGuard};
    pub use std::cell::Cell;

    /// Whether a model has planted this fault, which it names. Outside of models none has, and the
    /// question costs nothing.
    #[inline(always)]
    #[must_use]
    pub const fn planted(_fault: &'static str) -> bool {
        false
    }

    /// Whether `time` has passed since `since`.
    #[inline]
    #[must_use]
    pub fn has_passed(time: Duration, since: Instant) -> bool {
        since.elapsed() >= time
    }

    /// A value in the frame of a waiting thread, which others reach by its address: a model notices
    /// if they do so after the frame has ended. Here it is just the value.
    #[derive(Debug)]
    pub struct Framed<T>(T);

    impl<T> Framed<T> {
        /// The value, in the caller's frame.
        #[inline(always)]
        pub const fn new(value: T) -> Self {
            Self(value)
        }
    }

    impl<T> Deref for Framed<T> {
        type Target = T;

        #[inline(always)]
        fn deref(&self) -> &T {
            &self.0
        }
    }

    /// A load that takes part in the total order of sequentially consistent operations:
    /// after a sequentially consistent read-modify-write of another word, of two
    /// threads that do so crosswise, one sees the other.
    #[inline]
    pub fn load_ordered(word: &AtomicU64) -> u64 {
        word.load(Ordering::SeqCst)
    }

    /// [`load_ordered`] for pointers.
    #[inline]
    pub fn load_ptr_ordered<T>(word: &AtomicPtr<T>) -> *mut T {
        word.load(Ordering::SeqCst)
    }

    /// Orders, together with a [`HeavyBarrier`](super::HeavyBarrier) of another thread, what this
    /// thread stored before and loads after. Costs nothing.
    #[inline]
    pub fn light_barrier() {
        compiler_fence(Ordering::SeqCst);
    }

    /// The barrier that makes every running thread of the process execute a memory barrier, if the
    /// kernel has it. It is a system call, which fails for a moment if there is no memory.
    pub fn heavy_barrier() -> Option<super::HeavyBarrier> {
        static REGISTERED: LazyLock<bool> =
            LazyLock::new(|| membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok());
        let barrier = || membarrier(MembarrierCommand::PrivateExpedited);
        REGISTERED.then_some(barrier)
    }

    /// Tells the CPU that this is a short spin.
    pub fn spin_hint() {
        std::hint::spin_loop();
    }

    /// Lets the operating system run another thread, perhaps the one that is in our way. Where a
    /// sandbox refuses the call, the caller looks again all the same.
    pub fn thread_yield() {
        // SAFETY: a call without arguments.
        let _ = unsafe { crate::sys::syscall::syscall(libc::SYS_sched_yield, [0; 6]) };
    }

    /// Sleeps for a moment, for a thread that is in our way and does not get to run.
    pub fn nap() {
        pause(Duration::from_micros(50));
    }

    /// Blocks the thread for so long, or until a signal comes. The caller may hold a lock, so this
    /// is the system call itself, and nothing stands in for it.
    pub fn pause(duration: Duration) {
        if let Ok(time) = rustix::time::Timespec::try_from(duration) {
            let _ = rustix::thread::nanosleep(&time);
        }
    }

    /// A 32-bit word that threads can sleep on.
    #[derive(Debug, Default)]
    pub struct Futex(AtomicU32);

    impl Futex {
        /// A word that holds `value`.
        pub const fn new(value: u32) -> Self {
            Self(AtomicU32::new(value))
        }

        /// Reads the word; acquires what the last release of it published.
        pub fn load(&self) -> u32 {
            self.0.load(Ordering::Acquire)
        }

        /// Replaces the word, acquiring and releasing; returns the old value.
        pub fn swap(&self, value: u32) -> u32 {
            self.0.swap(value, Ordering::AcqRel)
        }

        /// Replaces `from` by `to`; says whether the word was `from`.
        pub fn exchange(&self, from: u32, to: u32) -> bool {
            self.0
                .compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire)
                .is_ok()
        }

        /// Sleeps while the word is `expected`, at most until `deadline`.
        /// May return early: the caller looks at the word again.
        pub fn wait(&self, expected: u32, deadline: Option<Instant>) {
            let timeout = deadline.map(super::time_left);
            // Every error (EAGAIN, EINTR, ETIMEDOUT) means the same to the
            // caller: look at the word and at the clock again.
            let _ = futex::wait(&self.0, futex::Flags::PRIVATE, expected, timeout.as_ref());
        }

        /// Wakes one thread that sleeps on the word at this address.
        ///
        /// Takes a pointer because the word may be gone by now, if its owner saw the new value
        /// without sleeping: the kernel then finds no sleeper there, or wakes one that has to cope
        /// with early returns.
        pub fn wake_one(this: *const Self) {
            let _ = super::futex_wake(this.cast());
        }
    }
}

/// The time from now until `deadline`, as the kernel wants it.
#[cfg(not(loom))]
#[must_use]
pub fn time_left(deadline: std::time::Instant) -> rustix::time::Timespec {
    let left = deadline.saturating_duration_since(std::time::Instant::now());
    rustix::time::Timespec {
        tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: left.subsec_nanos().into(),
    }
}

/// `FUTEX_WAKE` on an address that is not dereferenced in this process.
#[cfg(not(loom))]
fn futex_wake(word: *const u32) -> Result<usize, Errno> {
    let operation = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    let arguments = [word.addr(), operation as usize, 1, 0, 0, 0];
    // SAFETY: FUTEX_WAKE takes the address as a key only; the kernel answers an unmapped one with
    // EFAULT.
    unsafe { crate::sys::syscall::syscall(libc::SYS_futex, arguments) }
}

#[cfg(loom)]
mod modelled {
    use crate::sync::model::memory::has_failed;
    use std::time::{Duration, Instant};

    pub use crate::sync::model::memory::{
        AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Cell, EndOfFrame,
        Framed,
    };
    pub use crate::sync::model::planted;
    pub use loom::sync::MutexGuard;
    pub use loom::sync::atomic::Ordering;

    /// Always true: time flies in models, and whatever has a beginning has lasted long enough.
    pub fn has_passed(_time: Duration, _since: Instant) -> bool {
        true
    }

    /// loom knows no total order of loads; a read-modify-write that changes nothing is
    /// in the order of its word, which is what matters here.
    pub fn load_ordered(word: &AtomicU64) -> u64 {
        word.fetch_or(0, Ordering::SeqCst)
    }

    /// [`load_ordered`] for pointers.
    pub fn load_ptr_ordered<T>(word: &AtomicPtr<T>) -> *mut T {
        let seen = word.load(Ordering::Relaxed);
        match word.compare_exchange(seen, seen, Ordering::SeqCst, Ordering::SeqCst) {
            Ok(now) | Err(now) => now,
        }
    }

    /// loom's mutex with `parking_lot`'s signature.
    #[derive(Debug, Default)]
    pub struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        /// A free mutex that holds `value`.
        pub fn new(value: T) -> Self {
            Self(loom::sync::Mutex::new(value))
        }

        /// Blocks the model thread until the mutex is its own.
        pub fn lock(&self) -> MutexGuard<'_, T> {
            match self.0.lock() {
                Ok(guard) => guard,
                Err(poisoned) => poisoned.into_inner(),
            }
        }

        /// Takes the mutex, unless another thread has it.
        pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
            self.0.try_lock().ok()
        }
    }

    /// Does the light barrier's part: against a heavy one it orders as two sequentially consistent
    /// fences do.
    pub fn light_barrier() {
        loom::sync::atomic::fence(Ordering::SeqCst);
    }

    /// The counterpart of [`light_barrier`].
    pub fn heavy_barrier() -> Option<super::HeavyBarrier> {
        Some(|| {
            loom::sync::atomic::fence(Ordering::SeqCst);
            Ok(())
        })
    }

    /// Hands control to another model thread.
    pub fn spin_hint() {
        loom::thread::yield_now();
    }

    /// Hands control to another model thread.
    pub fn thread_yield() {
        loom::thread::yield_now();
    }

    /// Hands control to another model thread.
    pub fn nap() {
        loom::thread::yield_now();
    }

    /// A futex told in loom's terms: a word under a lock, with a condition.
    #[derive(Debug)]
    pub struct Futex {
        word: loom::sync::Mutex<u32>,
        changed: loom::sync::Condvar,
    }

    #[allow(clippy::unwrap_used, reason = "a poisoned model has failed already")]
    impl Futex {
        /// A word that holds `value`.
        pub fn new(value: u32) -> Self {
            Self {
                word: loom::sync::Mutex::new(value),
                changed: loom::sync::Condvar::new(),
            }
        }

        /// Reads the word.
        pub fn load(&self) -> u32 {
            if has_failed() {
                return u32::MAX;
            }
            *self.word.lock().unwrap()
        }

        /// Replaces the word; returns the old value.
        pub fn swap(&self, value: u32) -> u32 {
            if has_failed() {
                return u32::MAX;
            }
            std::mem::replace(&mut self.word.lock().unwrap(), value)
        }

        /// Replaces `from` by `to`; says whether the word was `from`.
        pub fn exchange(&self, from: u32, to: u32) -> bool {
            if has_failed() {
                return true;
            }
            let mut word = self.word.lock().unwrap();
            let same = *word == from;
            if same {
                *word = to;
            }
            same
        }

        /// Sleeps while the word is `expected`; models have no clock.
        pub fn wait(&self, expected: u32, _deadline: Option<Instant>) {
            if has_failed() {
                return;
            }
            let mut word = self.word.lock().unwrap();
            while *word == expected {
                word = self.changed.wait(word).unwrap();
            }
        }

        /// Wakes one thread that sleeps on the word.
        pub fn wake_one(this: *const Self) {
            if !has_failed() {
                // SAFETY: models keep the word alive until all threads ended.
                unsafe { (*this).changed.notify_one() };
            }
        }
    }
}
