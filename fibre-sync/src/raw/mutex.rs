//! A mutex as pthreads have it, of three kinds.
//!
//! The lock is the one of [`Mutex`](crate::Mutex). A normal mutex is that and nothing else. The
//! other kinds know who has it: by the caller's number, which fibres and threads take from one
//! space, and which nobody has had before. The owner alone writes the number and the depth, so who finds
//! its own number there has the lock, and whoever finds another one, or an old one, has not.

use crate::lock::{DefaultLock, RawLock};
use crate::raw::error::{Error, Result};
use crate::raw::wait::Wait;
use fibre_core::caller_id;
use fibre_core::sync::{AtomicU32, AtomicU64, Ordering};

/// What a mutex does when its owner locks it again, and who may unlock it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// Its owner waits for ever; nobody checks who unlocks.
    Normal = 0,
    /// [`Error::Deadlock`]; who is not the owner cannot unlock ([`Error::NotOwner`]).
    ErrorCheck = 1,
    /// Its owner has it once more, and has to unlock it as often; nobody else can.
    Recursive = 2,
}

/// In the place of the kind, once destroyed.
const DESTROYED: u32 = KIND;

/// The part of a mutex' kind that is the kind.
const KIND: u32 = 0xff;
/// One who waits for a condition.
const ONE_WAITS: u32 = KIND + 1;

/// `pthread_mutex_t`. See [`raw`](crate::raw).
///
/// ```
/// use fibre_sync::raw::{Error, Kind, Mutex, Wait};
///
/// static MUTEX: Mutex = Mutex::new(Kind::ErrorCheck);
///
/// MUTEX.lock(Wait::FOREVER)?;
/// assert_eq!(MUTEX.lock(Wait::FOREVER), Err(Error::Deadlock));
/// // SAFETY: locked above.
/// unsafe { MUTEX.unlock()? };
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
#[repr(C)]
pub struct Mutex {
    lock: DefaultLock,
    /// The number of the one that has it; zero if nobody has, or in a normal one.
    owner: AtomicU64,
    /// How often the owner has locked it again.
    depth: AtomicU32,
    /// A [`Kind`], or destroyed; and above [`KIND`], how many wait for a condition and will lock again,
    /// which only the one changes that has the lock.
    kind: AtomicU32,
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Mutex>() == 40 && align_of::<Mutex>() == 8);

#[cfg(loom)]
impl fibre_core::sync::EndOfFrame for Mutex {
    fn end_of_frame(&mut self) {
        self.lock.end_of_frame();
        self.owner.end_of_frame();
        self.depth.end_of_frame();
        self.kind.end_of_frame();
    }
}

impl Default for Mutex {
    fn default() -> Self {
        Self::new(Kind::Normal)
    }
}

impl Mutex {
    /// A free mutex. A normal one is all zeros.
    #[cfg(loom)]
    #[must_use]
    pub fn new(kind: Kind) -> Self {
        Self {
            lock: DefaultLock::default(),
            owner: AtomicU64::new(0),
            depth: AtomicU32::new(0),
            kind: AtomicU32::new(kind as u32),
        }
    }

    /// A free mutex. A normal one is all zeros.
    #[cfg(not(loom))]
    #[must_use]
    pub const fn new(kind: Kind) -> Self {
        Self {
            lock: DefaultLock::FREE,
            owner: AtomicU64::new(0),
            depth: AtomicU32::new(0),
            kind: AtomicU32::new(kind as u32),
        }
    }

    /// Waits until the mutex is the caller's. Blocks the fibre, or the thread if the caller is not
    /// a fibre.
    ///
    /// # Errors
    ///
    /// [`TimedOut`](Error::TimedOut) and [`Cancelled`](Error::Cancelled) as `wait` has it;
    /// [`Deadlock`](Error::Deadlock) if it is the caller's and checks that; [`Again`](Error::Again) if it
    /// is recursive and has been locked 2³² times; [`Invalid`](Error::Invalid) if destroyed.
    #[inline]
    pub fn lock(&self, wait: Wait) -> Result {
        if self.kind()? == Kind::Normal {
            return wait.run(|limit| self.lock.lock_within(limit));
        }
        self.lock_as_owner(Error::Deadlock, || {
            wait.run(|limit| self.lock.lock_within(limit))
        })
    }

    /// Takes the mutex if it is free, or the caller's and recursive. Blocks nothing.
    ///
    /// # Errors
    ///
    /// [`Busy`](Error::Busy), also if it is the caller's and not recursive; others as for
    /// [`lock`](Self::lock).
    #[inline]
    pub fn try_lock(&self) -> Result {
        let try_lock = || match self.lock.try_lock() {
            true => Ok(()),
            false => Err(Error::Busy),
        };
        if self.kind()? == Kind::Normal {
            return try_lock();
        }
        self.lock_as_owner(Error::Busy, try_lock)
    }

    /// Gives the mutex back, or one level of it. Blocks nothing.
    ///
    /// # Errors
    ///
    /// [`NotOwner`](Error::NotOwner) if it is not the caller's and checks that;
    /// [`Invalid`](Error::Invalid) if destroyed.
    ///
    /// # Safety
    ///
    /// A normal mutex is locked, and the data that it guards is the caller's to give back.
    #[inline]
    pub unsafe fn unlock(&self) -> Result {
        if self.kind()? == Kind::Normal || self.leave()? {
            // SAFETY: the caller's, as it says or as has been checked.
            unsafe { self.lock.unlock() };
        }
        Ok(())
    }

    /// [`unlock`](Self::unlock) for one who is about to wait and can be woken already.
    ///
    /// # Safety
    ///
    /// As for [`unlock`](Self::unlock).
    pub(crate) unsafe fn unlock_to_wait(&self) -> Result {
        if self.kind()? == Kind::Normal || self.leave()? {
            // SAFETY: as in `unlock`.
            unsafe { self.lock.unlock_to_wait() };
        }
        Ok(())
    }

    /// Ends the use of the mutex. Blocks nothing.
    ///
    /// Somebody who is about to lock it, and waits or has just been woken for it, is not noticed, as by
    /// glibc; POSIX forbids to destroy it then.
    ///
    /// # Errors
    ///
    /// [`Busy`](Error::Busy) if somebody has it, or waits for a condition with it;
    /// [`Invalid`](Error::Invalid) if destroyed.
    pub fn destroy(&self) -> Result {
        self.kind()?;
        if self.lock.is_locked() || self.kind.load(Ordering::Relaxed) >= ONE_WAITS {
            return Err(Error::Busy);
        }
        self.kind.store(DESTROYED, Ordering::Relaxed);
        Ok(())
    }

    /// Notes that the caller, who has the lock, is about to wait for a condition with it.
    pub(crate) fn begin_wait(&self) {
        self.add_to_kind(ONE_WAITS);
    }

    /// Notes that the caller, who has the lock again, has waited.
    pub(crate) fn end_wait(&self) {
        self.add_to_kind(ONE_WAITS.wrapping_neg());
    }

    /// Changes the number of those who wait. Nobody else does meanwhile.
    fn add_to_kind(&self, change: u32) {
        let kind = self.kind.load(Ordering::Relaxed);
        self.kind
            .store(kind.wrapping_add(change), Ordering::Relaxed);
    }

    /// Whether the caller has it, as far as can be checked.
    pub(crate) fn check_owner(&self) -> Result {
        match self.kind()? {
            Kind::Normal => Ok(()),
            _ if self.owner.load(Ordering::Relaxed) == caller_id() => Ok(()),
            _ => Err(Error::NotOwner),
        }
    }

    /// Its kind, unless it has been destroyed.
    #[inline]
    fn kind(&self) -> Result<Kind> {
        match self.kind.load(Ordering::Relaxed) & KIND {
            0 => Ok(Kind::Normal),
            1 => Ok(Kind::ErrorCheck),
            2 => Ok(Kind::Recursive),
            _ => Err(Error::Invalid),
        }
    }

    /// Takes a mutex that knows its owner. `own`: what it fails with if that is the caller.
    fn lock_as_owner(&self, own: Error, lock: impl FnOnce() -> Result) -> Result {
        let me = caller_id();
        if self.owner.load(Ordering::Relaxed) != me {
            lock()?;
            self.owner.store(me, Ordering::Relaxed);
            return Ok(());
        }
        if self.kind()? != Kind::Recursive {
            return Err(own);
        }
        let depth = self.depth.load(Ordering::Relaxed);
        let depth = depth.checked_add(1).ok_or(Error::Again)?;
        self.depth.store(depth, Ordering::Relaxed);
        Ok(())
    }

    /// Gives back one level of a mutex that knows its owner; says whether it was the last one.
    fn leave(&self) -> Result<bool> {
        self.check_owner()?;
        match self.depth.load(Ordering::Relaxed).checked_sub(1) {
            Some(depth) => self.depth.store(depth, Ordering::Relaxed),
            None => {
                self.owner.store(0, Ordering::Relaxed);
                return Ok(true);
            }
        }
        Ok(false)
    }
}
