//! The mutex of pthreads, of three kinds.
//!
//! The lock is the one of [`Mutex`](crate::Mutex). A normal mutex is that and nothing else. The
//! other kinds know their owner by its number. Fibres and threads take numbers from one space, and
//! no number is used twice. Only the owner writes the number and the depth. So a caller that finds
//! its own number there has the lock, and a caller that finds another number, or an old one, does
//! not.
//!
//! When deadlocks are looked for (`FIBRE_DEADLOCK`), normal mutexes note their owner, too, though
//! nobody checks it. A bit of the mutex's make says so, and without it a mutex takes no more
//! instructions. It is set when the mutex is made, or, if the mutex is all zeros, by the first
//! caller that waits for it. The owner at that time is not known.

use crate::lock::{Barging, Baton, Exchange, RawLock, Settled, SpinThenBlock, spin_for};
use crate::raw::error::{Error, Result};
use crate::raw::wait::Wait;
use fibre_core::internal::{are_deadlocks_looked_for, caller_id, yield_point};
use fibre_core::sync::{AtomicU32, AtomicU64, Ordering};
use fibre_core::{WaitKind, WaitObject};
use std::mem::offset_of;

/// What a mutex does when its owner locks it again, and which callers may unlock it. The numbers
/// are glibc's.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// The owner waits for ever; the unlocker is not checked.
    #[default]
    Normal = 0,
    /// The owner has it once more, and has to unlock it as often; no other caller can.
    Recursive = 1,
    /// [`Error::Deadlock`]; a caller that is not the owner cannot unlock ([`Error::NotOwner`]).
    ErrorCheck = 2,
    /// Like [`Normal`](Self::Normal): glibc's spins for a moment before it blocks, as our default
    /// does anyway.
    Adaptive = 3,
}

impl Kind {
    /// The kind with this number, if there is one.
    #[must_use]
    pub const fn from_number(number: u32) -> Option<Self> {
        match number {
            0 => Some(Self::Normal),
            1 => Some(Self::Recursive),
            2 => Some(Self::ErrorCheck),
            3 => Some(Self::Adaptive),
            _ => None,
        }
    }
}

/// The lock that a mutex uses: a place in the barging spectrum. See [`lock`](crate::lock).
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Variant {
    /// A [`Hybrid`](crate::lock::Hybrid) that is [`Settled`]: blocks with barging, and is handed
    /// over to a starving waiter.
    #[default]
    Hybrid = 0,
    /// [`Barging`]: blocks at once.
    Barging = 1,
    /// [`SpinThenBlock`].
    SpinThenBlock = 2,
    /// [`Baton`]: first come, first served.
    Baton = 3,
    /// [`Exchange`]: the same, and the next one runs at once.
    Exchange = 4,
    /// Never blocks: [`Spinning`](crate::lock::Spinning).
    Spinning = 5,
}

impl Variant {
    /// The variant with this number, if there is one.
    #[must_use]
    pub const fn from_number(number: u32) -> Option<Self> {
        match number {
            0 => Some(Self::Hybrid),
            1 => Some(Self::Barging),
            2 => Some(Self::SpinThenBlock),
            3 => Some(Self::Baton),
            4 => Some(Self::Exchange),
            5 => Some(Self::Spinning),
            _ => None,
        }
    }
}

/// The part of a mutex's make that is the kind.
const KIND: u32 = 0x3;
/// One variant further; there is room for 63.
const VARIANT: u32 = KIND + 1;
/// The bit of a make that notes its owner for reports. No variant is that high.
const NOTED: u32 = 0x40;
/// Instead of kind and variant, once destroyed.
const DESTROYED: u32 = 0xff;
/// Kind and variant.
const MAKE: u32 = 0xff;
/// In the same place, of a mutex that the system's library has made for several processes: glibc's
/// `PTHREAD_MUTEX_PSHARED_BIT`. No variant of ours is that high.
const FOREIGN: u32 = 0x80;
/// The unit of the count of waiters for a condition.
const ONE_WAITS: u32 = MAKE + 1;

/// `pthread_mutex_t`. See [`raw`](crate::raw).
///
/// ```
/// use fibre::sync::raw::{Error, Kind, Mutex, Wait};
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
    lock: Settled,
    /// A [`Kind`] and a [`Variant`], or destroyed; and above [`MAKE`], how many wait for a
    /// condition and will lock again, which only the one changes that has the lock.
    make: AtomicU32,
    /// How often the owner has locked it again.
    depth: AtomicU32,
    /// The owner's number; zero if the mutex is free, or a normal one.
    owner: AtomicU64,
}

// The kind is where glibc's initialisers put it.
fibre_core::layout!(Mutex: 32, 8, make at 16);

fibre_core::end_of_frame!(Mutex: lock, make, depth, owner);

/// Kind and variant of a mutex.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Make(u32);

impl Make {
    /// The make of a normal mutex of the default lock.
    const PLAIN: Self = Self(0);

    /// What it does when its owner locks it again.
    fn kind(self) -> Kind {
        Kind::from_number(self.0 & KIND).unwrap_or_default()
    }

    /// Whether it knows its owner.
    #[inline]
    fn has_owner(self) -> bool {
        matches!(self.kind(), Kind::Recursive | Kind::ErrorCheck)
    }

    /// Whether it notes its owner for reports only.
    #[inline]
    fn notes_owner(self) -> bool {
        self.0 & NOTED != 0 && !self.has_owner()
    }

    /// What it is made of.
    fn variant(self) -> Variant {
        Variant::from_number((self.0 & !NOTED) / VARIANT).unwrap_or_default()
    }
}

impl Default for Mutex {
    fn default() -> Self {
        Self::new(Kind::Normal)
    }
}

impl Mutex {
    fibre_core::const_outside_models! {
        /// A free mutex made of the default lock. A normal one is all zeros.
        #[must_use]
        pub const fn new(kind: Kind) -> Self {
            Self::with_variant(kind, Variant::Hybrid)
        }

        /// A free mutex made of any lock.
        #[must_use]
        pub const fn with_variant(kind: Kind, variant: Variant) -> Self {
            Self {
                lock: fibre_core::const_or!(Settled::FREE, Settled::default()),
                make: AtomicU32::new(kind as u32 + variant as u32 * VARIANT),
                depth: AtomicU32::new(0),
                owner: AtomicU64::new(0),
            }
        }
    }

    /// Waits until the mutex is the caller's. Blocks the fibre, or the thread if the caller is not
    /// a fibre.
    ///
    /// # Errors
    ///
    /// [`TimedOut`](Error::TimedOut) and [`Cancelled`](Error::Cancelled) as `wait` has it;
    /// [`Deadlock`](Error::Deadlock) if it is the caller's and checks that; [`Again`](Error::Again)
    /// if it is recursive and has been locked 2³² times; [`Invalid`](Error::Invalid) if destroyed.
    #[inline(always)]
    pub fn lock(&self, wait: Wait) -> Result {
        match self.make()? {
            Make::PLAIN => wait.run(|limit| self.lock.lock_for(|| self.awaited(), limit)),
            make if make.has_owner() => {
                self.lock_as_owner(Error::Deadlock, || self.lock_variant(make.variant(), wait))
            }
            make => {
                self.lock_variant(make.variant(), wait)?;
                self.note_owner(make);
                Ok(())
            }
        }
    }

    /// Makes a normal mutex note its owner, if deadlocks are looked for. Nobody else uses it yet.
    pub fn note_owners(&mut self) {
        if are_deadlocks_looked_for() {
            self.begin_to_note();
        }
    }

    /// Sets the bit of those that note their owner.
    fn begin_to_note(&self) {
        self.make.fetch_or(NOTED, Ordering::Relaxed);
    }

    /// Notes the caller, which has just got the mutex, if this make does that.
    #[inline]
    fn note_owner(&self, make: Make) {
        if make.notes_owner() {
            self.owner.store(caller_id(), Ordering::Relaxed);
        }
    }

    /// Undoes [`note_owner`](Self::note_owner), before the mutex is given back.
    #[inline]
    fn forget_owner(&self, make: Make) {
        if make.notes_owner() {
            self.owner.store(0, Ordering::Relaxed);
        }
    }

    /// The object that callers are shown to wait for, with its owner.
    #[cold]
    fn awaited(&self) -> WaitObject {
        if are_deadlocks_looked_for() {
            self.begin_to_note();
        }
        let awaited = WaitObject::new(WaitKind::Mutex, self).closed();
        // SAFETY: an atomic number, in the object.
        unsafe { awaited.owned(offset_of!(Self, owner)) }
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
        match self.make()? {
            Make::PLAIN => try_lock(),
            make if make.has_owner() => self.lock_as_owner(Error::Busy, try_lock),
            make => {
                try_lock()?;
                self.note_owner(make);
                Ok(())
            }
        }
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
        let make = self.make()?;
        if make != Make::PLAIN {
            // SAFETY: passed on.
            return unsafe { self.unlock_variant(make) };
        }
        // SAFETY: the caller's, as it says.
        unsafe { self.lock.unlock() };
        Ok(())
    }

    /// [`unlock`](Self::unlock) for a caller that is about to wait and can be woken already.
    ///
    /// # Safety
    ///
    /// As for [`unlock`](Self::unlock).
    #[inline]
    pub(crate) unsafe fn unlock_to_wait(&self) -> Result {
        let make = self.make()?;
        if make == Make::PLAIN {
            // SAFETY: the caller's, as it says.
            unsafe { self.lock.unlock_to_wait() };
            return Ok(());
        }
        self.forget_owner(make);
        if !make.has_owner() || self.leave()? {
            // SAFETY: the caller's, as it says or as has been checked.
            unsafe {
                match make.variant() {
                    Variant::Hybrid => self.lock.unlock_to_wait(),
                    Variant::Baton | Variant::Exchange => self.baton().unlock_to_wait(),
                    _ => self.barging().unlock_to_wait(),
                }
            }
        }
        Ok(())
    }

    /// Whether an unlock may let another fibre run at once, and so leave the stack.
    #[inline]
    #[must_use]
    pub fn switches_on_unlock(&self) -> bool {
        let make = self.make.load(Ordering::Relaxed) & MAKE;
        Make(make).variant() == Variant::Exchange
    }

    /// Ends the use of the mutex. Blocks nothing.
    ///
    /// Like glibc's, it does not notice a caller that waits for the mutex, or has just been woken
    /// for it; POSIX forbids destroying the mutex then.
    ///
    /// # Errors
    ///
    /// [`Busy`](Error::Busy) if the mutex is held, or a caller waits for a condition with it;
    /// [`Invalid`](Error::Invalid) if destroyed.
    pub fn destroy(&self) -> Result {
        self.make()?;
        if self.lock.is_locked() || self.make.load(Ordering::Relaxed) >= ONE_WAITS {
            return Err(Error::Busy);
        }
        self.make.store(DESTROYED, Ordering::Relaxed);
        Ok(())
    }

    /// Records that the caller, which has the lock, is about to wait for a condition with it.
    #[inline]
    pub(crate) fn begin_wait(&self) {
        self.add_to_make(ONE_WAITS);
    }

    /// Records that the caller, which has the lock again, has waited.
    #[inline]
    pub(crate) fn end_wait(&self) {
        self.add_to_make(ONE_WAITS.wrapping_neg());
    }

    /// Changes the count of waiters for a condition. Only the holder of the lock does so.
    #[inline]
    fn add_to_make(&self, change: u32) {
        // Others may set the bit that notes owners meanwhile; lost, an owner would stay noted.
        self.make.fetch_add(change, Ordering::Relaxed);
    }

    /// Whether the caller has it, as far as can be checked.
    #[inline]
    pub(crate) fn check_owner(&self) -> Result {
        match self.make()?.has_owner() {
            false => Ok(()),
            true if self.owner.load(Ordering::Relaxed) == caller_id() => Ok(()),
            true => Err(Error::NotOwner),
        }
    }

    /// What it is, unless it has been destroyed, or is not one of ours.
    #[inline]
    fn make(&self) -> Result<Make> {
        match self.make.load(Ordering::Relaxed) & MAKE {
            // First, as most are such.
            0 => Ok(Make::PLAIN),
            DESTROYED => Err(Error::Invalid),
            make if make & FOREIGN != 0 => Err(Error::Foreign),
            make => Ok(Make(make)),
        }
    }

    /// Takes the lock itself, of any variant.
    fn lock_variant(&self, variant: Variant, wait: Wait) -> Result {
        wait.run(|limit| match variant {
            Variant::Hybrid => self.lock.lock_for(|| self.awaited(), limit),
            Variant::SpinThenBlock => {
                let lock: &SpinThenBlock = self.lock.with_policy();
                lock.lock_for(|| self.awaited(), limit)
            }
            // What differs is the unlock.
            Variant::Barging | Variant::Baton | Variant::Exchange => {
                self.barging().lock_for(|| self.awaited(), limit)
            }
            Variant::Spinning => {
                yield_point();
                self.lock.try_lock() || spin_for(&self.lock, limit)
            }
        })
    }

    /// [`unlock`](Self::unlock) for all but the plain one.
    ///
    /// # Safety
    ///
    /// As there.
    unsafe fn unlock_variant(&self, make: Make) -> Result {
        if make.has_owner() && !self.leave()? {
            return Ok(());
        }
        self.forget_owner(make);
        // SAFETY: the caller's, as it says or as has been checked.
        unsafe {
            match make.variant() {
                Variant::Hybrid => self.lock.unlock(),
                Variant::Baton => self.baton().unlock(),
                Variant::Exchange => {
                    let lock: &Exchange = self.lock.with_policy();
                    lock.unlock();
                }
                // A spinning lock has no waiters in a list.
                Variant::Barging | Variant::SpinThenBlock | Variant::Spinning => {
                    self.barging().unlock();
                }
            }
        }
        Ok(())
    }

    /// The lock, used with barging.
    fn barging(&self) -> &Barging {
        self.lock.with_policy()
    }

    /// The lock, used with hand-over.
    fn baton(&self) -> &Baton {
        self.lock.with_policy()
    }

    /// Takes a mutex that knows its owner. `own` is the error if the caller is the owner.
    fn lock_as_owner(&self, own: Error, lock: impl FnOnce() -> Result) -> Result {
        let me = caller_id();
        if self.owner.load(Ordering::Relaxed) != me {
            lock()?;
            self.owner.store(me, Ordering::Relaxed);
            return Ok(());
        }
        if self.make()?.kind() != Kind::Recursive {
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
