//! One slot per file descriptor, found by the descriptor's number.
//!
//! The kernel hands out the lowest free numbers, so a table indexed by them stays dense (thesis
//! section 3.4.2). Slots are made a thousand at a time, never move and are never freed. So a
//! reference to a slot stays valid for ever, whoever owns the descriptor. The *generation* tells
//! owners apart: epoll returns it with each event, and an event of an earlier owner is dropped. If
//! one slips through, it is only a hint to try a system call.

use crate::descriptor::flags::{Known, KnownWord};
use crate::descriptor::owner::Ownership;
use crate::descriptor::use_count::Users;
use crate::epoll::Epoll;
use crate::gate::single::Gate;
use crate::simulated::{Gates, Socket};
use fibre_core::sync::thread_mutex::Mutex;
use std::mem;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// How many slots are made at once.
const CHUNK: usize = 1024;

/// How many chunks there may be: four million descriptors, four times the kernel's default limit
/// (`fs.nr_open`).
const CHUNKS: usize = 4096;

/// How many numbers have slots: those from zero on.
pub const NUMBERS: RawFd = (CHUNK * CHUNKS) as RawFd;

/// What the runtime knows about one descriptor number. The first cache line has the fields that an
/// event and a usual read or write touch.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct Slot {
    /// Readiness to read or accept.
    pub read: Gate,
    /// The number's owner.
    ownership: Ownership,
    /// Whether `events` is set: a hint that spares the lock.
    registered: AtomicBool,
    /// The flags of a descriptor that is used by its number.
    pub known: KnownWord,
    /// Readiness to write, or being connected.
    pub write: Gate,
    /// What tells of the descriptor's events.
    events: Mutex<Events>,
    /// The raw calls that have waited and are trying again.
    pub users: Users,
}

/// What tells of a descriptor's events: one of these, or nothing. They are no enum, as that would
/// leave an old word where `None` has nothing, and a search for stuck fibres would follow it.
#[derive(Debug, Default)]
struct Events {
    /// The epoll instance that it is registered with.
    epoll: Option<Arc<Epoll>>,
    /// The simulated socket that it stands in for. One word, so that slots stay as small as they
    /// are.
    simulated: Option<Box<Arc<dyn Socket>>>,
}

/// The slots, by descriptor.
static TABLE: [OnceLock<Box<[Slot]>>; CHUNKS] = [const { OnceLock::new() }; CHUNKS];

/// The slots of numbers without owners. A slot that is moved there would bring old words of the
/// stack where it has been made, in the gaps between its fields. They would stay for as long as
/// the number has no owner, and a search for stuck fibres would follow them. So the memory is
/// zeros, and what is not zero is set.
fn free_slots() -> Box<[Slot]> {
    let slots = Box::<[Slot]>::new_zeroed_slice(CHUNK);
    // SAFETY: zeros are numbers, free locks, an empty list, and nothing that tells of events.
    let slots = unsafe { slots.assume_init() };
    for slot in &slots {
        slot.read.reset();
        slot.write.reset();
    }
    slots
}

/// Deregisters all descriptors of an instance that no poller will poll any more. Their waiters try
/// again, which registers the descriptors elsewhere.
pub(crate) fn abandon(epoll: &Arc<Epoll>) {
    TABLE
        .iter()
        .filter_map(OnceLock::get)
        .flatten()
        .for_each(|slot| slot.abandon(epoll));
}

/// The simulated socket that the descriptor of this number stands in for. `None`: it is no
/// stand-in. For the test kit, which is told what fibres wait for by such numbers.
#[doc(hidden)]
#[must_use]
pub fn stand_in(number: u32) -> Option<Arc<dyn Socket>> {
    Slot::existing(RawFd::try_from(number).ok()?)?.simulated()
}

impl Slot {
    /// The slot of a descriptor; `None` if the number is out of bounds.
    pub fn of(fd: RawFd) -> Option<&'static Self> {
        let fd = usize::try_from(fd).ok()?;
        let chunk = TABLE.get(fd / CHUNK)?;
        let slots = chunk.get_or_init(free_slots);
        slots.get(fd % CHUNK)
    }

    /// The slot of a descriptor if it exists already, that is once any call has used the number.
    /// Makes no slot: it allocates nothing and waits for nothing, so signal handlers may call it,
    /// too.
    pub fn existing(fd: RawFd) -> Option<&'static Self> {
        let fd = usize::try_from(fd).ok()?;
        TABLE.get(fd / CHUNK)?.get()?.get(fd % CHUNK)
    }

    /// All slots made so far, with their numbers.
    pub fn all() -> impl Iterator<Item = (RawFd, &'static Self)> {
        let chunks = TABLE.iter().enumerate();
        let chunks = chunks.filter_map(|(at, chunk)| Some((at * CHUNK, chunk.get()?)));
        // Four million fit.
        chunks.flat_map(|(first, chunk)| (first as RawFd..).zip(chunk))
    }

    /// Gives the slot to a new owner. Returns its generation.
    pub fn acquire(&self) -> u32 {
        self.ownership.take(|| self.prepare())
    }

    /// [`acquire`](Self::acquire), unless the slot has an owner. Returns whether it had none.
    #[must_use]
    pub fn try_acquire(&self) -> bool {
        self.ownership.try_take(|| self.prepare())
    }

    /// Gives the slot to a new descriptor without an object, with these flags. If the number still
    /// has an owner, that owner's descriptor has been closed unseen, and its waiters learn of it.
    pub fn make(&self, known: Known) {
        if self.owner().is_some() {
            self.forget();
        }
        self.ownership.take(|| self.prepare_for(known));
    }

    /// Gives the slot to a descriptor without an object, with these flags, unless it has an owner.
    /// Returns whether it had none.
    #[must_use]
    pub fn adopt(&self, known: Known) -> bool {
        self.ownership.try_take(|| self.prepare_for(known))
    }

    /// Takes the number from its owner, if it has one. Waiting calls and onlookers are told that it
    /// is closed. Calls that are about to try again have done so when this returns. `deregister`
    /// takes the descriptor, which is still open, out of its instance. Returns whether there was an
    /// owner.
    pub(crate) fn evict(&self, deregister: impl FnOnce(&Epoll)) -> bool {
        self.ownership.evict(|| {
            self.users.bar();
            self.read.close();
            self.write.close();
            while !self.users.is_empty() {
                // The calls inside are on other kernel threads, in system calls that do not wait.
                std::thread::yield_now();
            }
            self.end_registration(deregister);
        })
    }

    /// Resets the slot, forgetting an earlier owner's descriptor.
    fn prepare(&self) {
        self.prepare_for(Known::NOTHING);
    }

    /// [`prepare`](Self::prepare) for a descriptor with these flags.
    fn prepare_for(&self, known: Known) {
        // An owner that was forgotten may have left its registration behind.
        self.end_registration(|_| ());
        self.read.reset();
        self.write.reset();
        self.known.set(known);
        self.users.admit();
    }

    /// Publishes that the owner goes. `deregister` takes the descriptor, which is still open, out
    /// of its instance. An onlooker sees that the owner has gone, now or before its next wait: no
    /// event would tell it.
    pub(crate) fn release(&self, deregister: impl FnOnce(&Epoll)) {
        self.ownership.leave(|| {
            self.end_registration(deregister);
            self.read.wake_all();
            self.write.wake_all();
        });
    }

    /// [`release`](Self::release) of an owner after its descriptor has been closed unseen.
    pub fn forget(&self) {
        self.release(|_| ());
    }

    /// The generation of the present owner, if there is one.
    pub fn owner(&self) -> Option<u32> {
        self.ownership.owner()
    }

    /// Whether the owner of this generation is still the present one: see [`Ownership::is_owner`].
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

    /// Registers the descriptor by `register` for its present owner, unless it is registered or has
    /// no owner: an onlooker may come when the owner has gone.
    ///
    /// # Errors
    ///
    /// Those of `register`; the descriptor is then not registered.
    pub(crate) fn register(
        &self,
        register: impl FnOnce(u32) -> std::io::Result<Arc<Epoll>>,
    ) -> std::io::Result<()> {
        self.confirm(|_, _| Ok(()), register)
    }

    /// [`register`](Self::register), but `confirm` confirms a descriptor that is registered
    /// already: it may have been closed unseen, and another descriptor may have its number.
    ///
    /// # Errors
    ///
    /// Those of `register` and `confirm`.
    pub(crate) fn confirm(
        &self,
        confirm: impl FnOnce(&Epoll, u32) -> std::io::Result<()>,
        register: impl FnOnce(u32) -> std::io::Result<Arc<Epoll>>,
    ) -> std::io::Result<()> {
        let mut events = self.events.lock();
        // The present owner ends the registration, under this lock, before it goes.
        let Some(generation) = self.owner() else {
            return Ok(());
        };
        if let Some(epoll) = &events.epoll {
            return confirm(epoll, generation);
        }
        if events.simulated.is_none() {
            events.epoll = Some(register(generation)?);
            self.registered.store(true, Ordering::Release);
        }
        Ok(())
    }

    /// Makes the owner's descriptor the stand-in of a simulated socket, which tells of its events
    /// from now on.
    pub(crate) fn simulate(&'static self, socket: Arc<dyn Socket>) {
        socket.tells(Gates::new(&self.read, &self.write));
        self.events.lock().simulated = Some(Box::new(socket));
        self.registered.store(true, Ordering::Release);
    }

    /// The simulated socket that the descriptor stands in for, if it does.
    #[cold]
    pub fn simulated(&self) -> Option<Arc<dyn Socket>> {
        self.events.lock().simulated.as_deref().cloned()
    }

    /// See [`abandon`].
    fn abandon(&self, dead: &Arc<Epoll>) {
        let mut events = self.events.lock();
        let epoll = events.epoll.as_ref();
        if epoll.is_some_and(|epoll| Arc::ptr_eq(epoll, dead)) {
            events.epoll = None;
            self.registered.store(false, Ordering::Release);
            drop(events);
            self.read.wake_all();
            self.write.wake_all();
        }
    }

    /// Forgets what tells of events: lets `deregister` take the descriptor out of its instance, or
    /// closes the simulated socket. This happens while the owner changes: an onlooker that has the
    /// lock first registers the descriptor for the owner that goes, and a later one registers
    /// nothing.
    fn end_registration(&self, deregister: impl FnOnce(&Epoll)) {
        let mut events = self.events.lock();
        let ended = mem::take(&mut *events);
        self.registered.store(false, Ordering::Release);
        drop(events);
        if let Some(epoll) = ended.epoll {
            deregister(&epoll);
        }
        if let Some(socket) = ended.simulated {
            socket.close();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each number that the kernel can hand out has a slot of its own; other numbers have none.
    #[test]
    fn numbers_have_bounds() {
        let last = NUMBERS - 1;
        for fd in [0, 1023, 1024, last] {
            let slot = Slot::of(fd).unwrap();
            assert!(std::ptr::eq(slot, Slot::of(fd).unwrap()));
            assert!(!std::ptr::eq(slot, Slot::of(fd ^ 1).unwrap()));
        }
        assert!(Slot::of(last + 1).is_none() && Slot::of(RawFd::MAX).is_none());
        assert!(Slot::of(-1).is_none());
    }

    /// What is made of zeros is a slot as every other, and has zeros between its fields.
    #[test]
    fn free_slots_are_made_of_zeros() {
        let slots = free_slots();
        let made = |slot: &Slot| format!("{slot:?}");
        assert_eq!(made(&slots[CHUNK - 1]), made(&Slot::default()));
        let words = (&raw const slots[7]).cast::<u64>();
        // SAFETY: a slot has so many words, and all were set to zero.
        let word = |at| unsafe { words.add(at).read_volatile() };
        let set: Vec<_> = (0..size_of::<Slot>() / 8)
            .filter(|at| word(*at) != 0)
            .collect();
        assert_eq!(set.len(), 2, "only the gates' words are not zero: {set:?}");
    }

    /// A slot has two cache lines, so that numbers become places by a shift.
    #[test]
    fn a_slot_has_two_cache_lines() {
        assert_eq!(size_of::<Slot>(), 128);
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

    /// A registration without an owner, or of an earlier owner, would keep all events from the next
    /// owner.
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
        // A slot with a forgotten owner has no owner either, until the next one has come.
        slot.acquire();
        slot.ownership.take(|| register(&slot));
        assert!(!slot.is_registered());
    }

    /// A number has one owner at a time, and another may follow.
    #[test]
    fn owners_come_when_others_have_gone() {
        let slot = Slot::default();
        assert!(slot.owner().is_none());
        for generation in [1, 3, 5] {
            assert!(slot.try_acquire() && !slot.try_acquire());
            assert_eq!(slot.owner(), Some(generation));
            assert!(slot.has_owner(generation) && slot.is_owned_by(generation));
            slot.forget();
            assert!(slot.owner().is_none());
            assert!(!slot.has_owner(generation) && slot.is_owned_by(generation));
            assert!(slot.adopt(Known::NOTHING) && !slot.adopt(Known::NOTHING));
            assert!(!slot.is_owned_by(generation) && slot.has_owner(generation + 1));
            assert!(slot.evict(|_| ()) && !slot.evict(|_| ()));
            assert!(slot.owner().is_none());
        }
    }

    /// The caller that evicts a number's owner tells its waiters, and no call enters until the next
    /// owner has come.
    #[test]
    fn an_evicted_number_is_closed() {
        let slot = Slot::default();
        slot.acquire();
        assert!(slot.users.enter().is_some());
        slot.register(|_| Ok(Arc::new(Epoll::new()?))).unwrap();
        let mut deregistered = 0;
        assert!(slot.evict(|_| deregistered += 1));
        assert_eq!(deregistered, 1);
        assert!(slot.users.enter().is_none() && !slot.is_registered());
        assert!(slot.read.snapshot().is_closed() && slot.write.snapshot().is_closed());
        slot.acquire();
        assert!(slot.users.enter().is_some());
        assert!(!slot.read.snapshot().is_closed() && !slot.write.snapshot().is_closed());
    }

    /// The caller that evicts a number's owner waits until no call is inside.
    #[test]
    fn those_inside_are_waited_for() {
        let slot = Slot::default();
        slot.acquire();
        let inside = slot.users.enter().unwrap();
        std::thread::scope(|scope| {
            let closes = scope.spawn(|| slot.evict(|_| ()));
            while slot.users.enter().is_some() {
                std::thread::yield_now();
            }
            (0..100).for_each(|_| std::thread::yield_now());
            assert!(!closes.is_finished(), "somebody is inside");
            drop(inside);
            assert!(closes.join().unwrap());
        });
    }
}
