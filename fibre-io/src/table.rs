//! One slot per file descriptor, found by the descriptor's number.
//!
//! The kernel hands out the lowest free numbers, so a table indexed by them stays
//! dense (thesis section 3.4.2). Slots are made a thousand at a time, never move and
//! are never freed, so a reference to one is good for ever, whoever owns the
//! descriptor. What tells owners apart is the *generation*: it is part of what epoll
//! gives back with each event, and an event of an earlier owner is dropped.
//! Should one slip through, it is a hint to try a system call, no more.

use crate::epoll::Epoll;
use crate::gate::Gate;
use crate::known::{Known, KnownWord};
use crate::ownership::Ownership;
use crate::users::Users;
use parking_lot::Mutex;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// Slots made at once.
const CHUNK: usize = 1024;

/// Chunks there may be: four million descriptors, four times the kernel's default
/// limit (`fs.nr_open`).
const CHUNKS: usize = 4096;

/// What the runtime knows about one descriptor number. What an event and a usual read or write
/// touch lies in its first cache line.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct Slot {
    /// Readiness to read or accept.
    pub read: Gate,
    /// Who has the number.
    ownership: Ownership,
    /// Whether `epoll` is set: a hint that spares the lock.
    registered: AtomicBool,
    /// What is known of a descriptor without an object.
    pub known: KnownWord,
    /// Readiness to write, or being connected.
    pub write: Gate,
    /// The instance that the descriptor is registered with.
    epoll: Mutex<Option<Arc<Epoll>>>,
    /// Calls of raw numbers that have waited and try again.
    pub users: Users,
}

/// The slots, by descriptor.
static TABLE: [OnceLock<Box<[Slot]>>; CHUNKS] = [const { OnceLock::new() }; CHUNKS];

/// Deregisters all descriptors of an instance that nobody will poll any more, and lets
/// those who wait for them try again, which registers them elsewhere.
pub fn abandon(epoll: &Arc<Epoll>) {
    TABLE
        .iter()
        .filter_map(OnceLock::get)
        .flatten()
        .for_each(|slot| slot.abandon(epoll));
}

impl Slot {
    /// The slot of a descriptor; `None` if the number is out of all bounds.
    pub fn of(fd: RawFd) -> Option<&'static Self> {
        let fd = usize::try_from(fd).ok()?;
        let chunk = TABLE.get(fd / CHUNK)?;
        let slots = chunk.get_or_init(|| (0..CHUNK).map(|_| Self::default()).collect());
        slots.get(fd % CHUNK)
    }

    /// The slot of a descriptor if there is one already, which is so once anybody has used its number. Makes none: it takes no memory and
    /// waits for nobody, so it is for calls that signals' handlers make, too.
    pub fn existing(fd: RawFd) -> Option<&'static Self> {
        let fd = usize::try_from(fd).ok()?;
        TABLE.get(fd / CHUNK)?.get()?.get(fd % CHUNK)
    }

    /// All slots that there are, with their numbers.
    pub fn all() -> impl Iterator<Item = (RawFd, &'static Self)> {
        let chunks = TABLE.iter().enumerate();
        let chunks = chunks.filter_map(|(at, chunk)| Some((at * CHUNK, chunk.get()?)));
        // Four million fit.
        chunks.flat_map(|(first, chunk)| (first as RawFd..).zip(chunk))
    }

    /// Makes the slot a new owner's. Returns its generation.
    pub fn acquire(&self) -> u32 {
        self.ownership.take(|| self.prepare())
    }

    /// [`acquire`](Self::acquire), unless it has an owner; says whether it had none.
    #[must_use]
    pub fn try_acquire(&self) -> bool {
        self.ownership.try_take(|| self.prepare())
    }

    /// Makes the slot that of a new descriptor without an object, of which this is known. If the number has an
    /// owner still, its descriptor has been closed unseen, and who waits for it is told.
    pub fn make(&self, known: Known) {
        if self.owner().is_some() {
            self.forget();
        }
        self.ownership.take(|| self.prepare_for(known));
    }

    /// Makes the slot that of a descriptor without an object, of which this is known, unless it has an owner.
    #[must_use]
    pub fn adopt(&self, known: Known) -> bool {
        self.ownership.try_take(|| self.prepare_for(known))
    }

    /// Takes the number from its owner, if it has one: calls that wait, and onlookers, are told that it is closed;
    /// those who are about to try again have done so when this returns. `deregister` takes the descriptor, which is
    /// still open, out of its instance. Says whether there was an owner.
    pub fn evict(&self, deregister: impl FnOnce(&Epoll)) -> bool {
        self.ownership.evict(|| {
            self.users.bar();
            self.read.close();
            self.write.close();
            while !self.users.is_empty() {
                // They are on other kernel threads, in system calls that do not wait.
                std::thread::yield_now();
            }
            self.end_registration(deregister);
        })
    }

    /// Forgets what was known of an earlier owner's descriptor.
    fn prepare(&self) {
        self.prepare_for(Known::NOTHING);
    }

    /// [`prepare`](Self::prepare) for one of which this is known.
    fn prepare_for(&self, known: Known) {
        // An owner that was forgotten may have left it behind.
        self.end_registration(|_| ());
        self.read.reset();
        self.write.reset();
        self.known.set(known);
        self.users.admit();
    }

    /// Says that the owner goes. `deregister` takes the descriptor, which is still open, out of its instance. Who
    /// has only looked on sees it, now or before it waits: nobody else will tell it anything.
    pub fn release(&self, deregister: impl FnOnce(&Epoll)) {
        self.ownership.leave(|| {
            self.end_registration(deregister);
            self.read.wake_all();
            self.write.wake_all();
        });
    }

    /// [`release`](Self::release) of an owner whose descriptor has been closed unseen.
    pub fn forget(&self) {
        self.release(|_| ());
    }

    /// The generation of the present owner, if there is one.
    pub fn owner(&self) -> Option<u32> {
        self.ownership.owner()
    }

    /// Whether the owner of this generation is there still: see [`Ownership::is_owner`].
    #[inline]
    pub fn has_owner(&self, generation: u32) -> bool {
        self.ownership.is_owner(generation)
    }

    /// Whether `generation` is the present owner's, or was the last one's.
    pub fn is_owned_by(&self, generation: u32) -> bool {
        self.ownership.is_last(generation)
    }

    /// Whether the descriptor is registered with some instance.
    #[inline]
    pub fn is_registered(&self) -> bool {
        self.registered.load(Ordering::Acquire)
    }

    /// Registers the descriptor by `register` for its present owner, unless it is registered, or nobody's: who only
    /// looks on may come when the owner has gone.
    ///
    /// # Errors
    ///
    /// Those of `register`; the descriptor is then not registered.
    pub fn register(
        &self,
        register: impl FnOnce(u32) -> std::io::Result<Arc<Epoll>>,
    ) -> std::io::Result<()> {
        self.confirm(|_, _| Ok(()), register)
    }

    /// [`register`](Self::register), but what is registered already is confirmed by `confirm`: it may have been
    /// closed unseen, and the number be another descriptor's.
    ///
    /// # Errors
    ///
    /// Those of `register` and `confirm`.
    pub fn confirm(
        &self,
        confirm: impl FnOnce(&Epoll, u32) -> std::io::Result<()>,
        register: impl FnOnce(u32) -> std::io::Result<Arc<Epoll>>,
    ) -> std::io::Result<()> {
        let mut epoll = self.epoll.lock();
        // Whoever owns it now ends the registration, under the lock, before it goes.
        let Some(generation) = self.owner() else {
            return Ok(());
        };
        match &*epoll {
            Some(epoll) => confirm(epoll, generation),
            None => {
                *epoll = Some(register(generation)?);
                self.registered.store(true, Ordering::Release);
                Ok(())
            }
        }
    }

    /// See [`abandon`].
    fn abandon(&self, dead: &Arc<Epoll>) {
        let mut epoll = self.epoll.lock();
        if epoll.as_ref().is_some_and(|epoll| Arc::ptr_eq(epoll, dead)) {
            *epoll = None;
            self.registered.store(false, Ordering::Release);
            drop(epoll);
            self.read.wake_all();
            self.write.wake_all();
        }
    }

    /// Forgets the instance, and lets `deregister` take the descriptor out of it. While the owner is changed: whoever
    /// looks on and has the lock first registers it for the owner that goes, and later for none.
    fn end_registration(&self, deregister: impl FnOnce(&Epoll)) {
        let mut epoll = self.epoll.lock();
        let instance = epoll.take();
        self.registered.store(false, Ordering::Release);
        drop(epoll);
        if let Some(instance) = instance {
            deregister(&instance);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All numbers that the kernel hands out have slots, of their own; others have none.
    #[test]
    fn numbers_have_bounds() {
        let last = (CHUNK * CHUNKS) as RawFd - 1;
        for fd in [0, 1023, 1024, last] {
            let slot = Slot::of(fd).unwrap();
            assert!(std::ptr::eq(slot, Slot::of(fd).unwrap()));
            assert!(!std::ptr::eq(slot, Slot::of(fd ^ 1).unwrap()));
        }
        assert!(Slot::of(last + 1).is_none() && Slot::of(RawFd::MAX).is_none());
        assert!(Slot::of(-1).is_none());
    }

    /// A new owner's descriptor is not taken for registered because an earlier one's was.
    #[test]
    fn new_owners_begin_unregistered() {
        let slot = Slot::default();
        slot.acquire();
        slot.register(|_| Ok(Arc::new(Epoll::new()?))).unwrap();
        assert!(slot.is_registered());
        slot.acquire();
        assert!(!slot.is_registered());
    }

    /// A registration that is nobody's, or an earlier owner's, would keep all events from the next one.
    #[test]
    fn only_owners_are_registered() {
        let register = |slot: &Slot| {
            let refuse = |generation| unreachable!("registered for {generation}");
            slot.register(refuse).unwrap();
        };
        let slot = Slot::default();
        register(&slot);
        slot.ownership.take(|| register(&slot));
        slot.forget();
        register(&slot);
        assert!(!slot.is_registered());
    }
}
