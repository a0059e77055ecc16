//! The read-write lock of pthreads.
//!
//! The lock is [`RawRwLock`], and also knows its writer. So a caller that would wait for itself
//! gets an error, and one call unlocks either kind of lock. The lock counts readers, but does not
//! know them: a reader that wants to write waits for ever, as with the C library.

use crate::RawRwLock;
use crate::raw::error::{Error, Result};
use crate::raw::wait::Wait;
use fibre_core::internal::caller_id;
use fibre_core::{WaitKind, WaitObject};
use std::mem::offset_of;
use std::sync::atomic::{AtomicU64, Ordering};

/// The value of the writer's field once the lock has been destroyed.
const DESTROYED: u64 = u64::MAX;

/// The most readers there may be, far below what the lock can count.
const MOST_READERS: usize = 1 << 28;

/// Which side goes first if readers come while a writer waits. The numbers are glibc's.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum RwKind {
    /// Readers, if others read already: so a reader may read again. Writers may starve.
    #[default]
    PreferReader = 0,
    /// As [`PreferReader`](Self::PreferReader): glibc does the same.
    PreferWriter = 1,
    /// The side that has waited longer, so that neither starves: see [`RwLock`](crate::RwLock). A
    /// reader that reads again may wait for ever.
    PreferWriterNonrecursive = 2,
}

impl RwKind {
    /// The kind with this number, if there is one.
    #[must_use]
    pub const fn from_number(number: u32) -> Option<Self> {
        match number {
            0 => Some(Self::PreferReader),
            1 => Some(Self::PreferWriter),
            2 => Some(Self::PreferWriterNonrecursive),
            _ => None,
        }
    }
}

/// `pthread_rwlock_t`. See [`raw`](crate::raw).
///
/// ```
/// use fibre::sync::raw::{Error, RwLock, Wait};
///
/// static LOCK: RwLock = RwLock::new();
///
/// LOCK.read(Wait::FOREVER)?;
/// assert_eq!(LOCK.try_read(), Ok(()));
/// assert_eq!(LOCK.try_write(), Err(Error::Busy));
/// // SAFETY: locked above, twice.
/// unsafe {
///     LOCK.unlock()?;
///     LOCK.unlock()?;
/// }
/// LOCK.write(Wait::FOREVER)?;
/// assert_eq!(LOCK.read(Wait::FOREVER), Err(Error::Deadlock));
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Default)]
#[repr(C)]
pub struct RwLock {
    lock: RawRwLock,
    /// The number of the writer; zero if there is none. Only the writer changes it.
    writer: AtomicU64,
    /// Unused; glibc's object has a field here.
    _unused: u64,
    /// A [`RwKind`]: where glibc's initialisers put it.
    kind: u32,
}

fibre_core::layout!(RwLock: 56, 8, kind at 48);

impl RwLock {
    fibre_core::const_outside_models! {
        /// A free lock: all zeros.
        #[must_use]
        pub const fn new() -> Self {
            Self::with_kind(RwKind::PreferReader)
        }

        /// A free lock of any kind.
        #[must_use]
        pub const fn with_kind(kind: RwKind) -> Self {
            Self {
                lock: RawRwLock::new(),
                writer: AtomicU64::new(0),
                _unused: 0,
                kind: kind as u32,
            }
        }
    }

    /// Whether readers join others although a writer waits.
    #[inline]
    fn joins(&self) -> bool {
        self.kind != RwKind::PreferWriterNonrecursive as u32
    }

    /// Waits until the caller may read. Blocks the fibre, or the thread if the caller is not a
    /// fibre.
    ///
    /// # Errors
    ///
    /// [`TimedOut`](Error::TimedOut) and [`Cancelled`](Error::Cancelled) as `wait` has it;
    /// [`Deadlock`](Error::Deadlock) if the caller writes; [`Again`](Error::Again) with 2²⁸
    /// readers; [`Invalid`](Error::Invalid) if destroyed.
    #[inline]
    pub fn read(&self, wait: Wait) -> Result {
        self.check(Error::Deadlock)?;
        self.check_readers()?;
        wait.run(|limit| match self.joins() {
            true => self.lock.read_joining_for(|| self.awaited(), limit),
            false => self.lock.read_for(|| self.awaited(), limit),
        })
    }

    /// Lets the caller read, unless there is a writer or, if the kind says so, a waiting one.
    /// Blocks nothing.
    ///
    /// # Errors
    ///
    /// [`Busy`](Error::Busy); [`Again`](Error::Again) with 2²⁸ readers; [`Invalid`](Error::Invalid)
    /// if destroyed.
    #[inline]
    pub fn try_read(&self) -> Result {
        self.check(Error::Busy)?;
        self.check_readers()?;
        let taken = match self.joins() {
            true => self.lock.try_read_joining(),
            false => self.lock.try_read(),
        };
        match taken {
            true => Ok(()),
            false => Err(Error::Busy),
        }
    }

    /// Waits until the caller may write. Blocks the fibre, or the thread if the caller is not a
    /// fibre.
    ///
    /// # Errors
    ///
    /// [`TimedOut`](Error::TimedOut) and [`Cancelled`](Error::Cancelled) as `wait` has it;
    /// [`Deadlock`](Error::Deadlock) if the caller writes; [`Invalid`](Error::Invalid) if
    /// destroyed.
    #[inline]
    pub fn write(&self, wait: Wait) -> Result {
        self.check(Error::Deadlock)?;
        wait.run(|limit| self.lock.write_for(|| self.awaited(), limit))?;
        self.writer.store(caller_id(), Ordering::Relaxed);
        Ok(())
    }

    /// Lets the caller write, if the lock is free. Blocks nothing.
    ///
    /// # Errors
    ///
    /// [`Busy`](Error::Busy); [`Invalid`](Error::Invalid) if destroyed.
    #[inline]
    pub fn try_write(&self) -> Result {
        self.check(Error::Busy)?;
        if !self.lock.try_write() {
            return Err(Error::Busy);
        }
        self.writer.store(caller_id(), Ordering::Relaxed);
        Ok(())
    }

    /// Gives the lock back, whether the caller reads or writes. Blocks nothing.
    ///
    /// # Errors
    ///
    /// [`NotOwner`](Error::NotOwner) if another caller writes, or the lock is free;
    /// [`Invalid`](Error::Invalid) if destroyed.
    ///
    /// # Safety
    ///
    /// If the lock is held for reading, the caller is one of its readers.
    #[inline]
    pub unsafe fn unlock(&self) -> Result {
        let writer = self.writer.load(Ordering::Relaxed);
        if writer == DESTROYED {
            return Err(Error::Invalid);
        }
        if writer == 0 && self.lock.readers() > 0 {
            // SAFETY: the lock is held for reading, and by the caller, as it promises.
            unsafe { self.lock.unlock_read() };
            return Ok(());
        }
        if writer != caller_id() {
            return Err(Error::NotOwner);
        }
        self.writer.store(0, Ordering::Relaxed);
        // SAFETY: the caller writes.
        unsafe { self.lock.unlock_write() };
        Ok(())
    }

    /// Ends the use of the lock. Blocks nothing.
    ///
    /// # Errors
    ///
    /// [`Busy`](Error::Busy) if the lock is held or waited for, [`Invalid`](Error::Invalid) if
    /// destroyed.
    pub fn destroy(&self) -> Result {
        self.check(Error::Busy)?;
        if self.lock.is_in_use() {
            return Err(Error::Busy);
        }
        self.writer.store(DESTROYED, Ordering::Relaxed);
        Ok(())
    }

    /// The object that is waited for, with its writer.
    fn awaited(&self) -> WaitObject {
        let awaited = WaitObject::new(WaitKind::RwLock, self).closed();
        // SAFETY: an atomic number, in the object.
        unsafe { awaited.owned(offset_of!(Self, writer)) }
    }

    /// An error if it has been destroyed; `own`, if the caller writes.
    #[inline]
    fn check(&self, own: Error) -> Result {
        match self.writer.load(Ordering::Relaxed) {
            0 => Ok(()),
            DESTROYED => Err(Error::Invalid),
            writer if writer == caller_id() => Err(own),
            _ => Ok(()),
        }
    }

    /// An error if there are as many readers as may be.
    #[inline]
    fn check_readers(&self) -> Result {
        match self.lock.readers() < MOST_READERS {
            true => Ok(()),
            false => Err(Error::Again),
        }
    }
}
