//! A read-write lock and a spin lock.

use crate::Subject;
use crate::actors::{ACTORS, Crew};
use crate::object::{BAD, PAST, Place};
use crate::random::Random;
use fibre_capi::sync::rwlock::*;
use fibre_capi::sync::spin::*;
use libc::{CLOCK_MONOTONIC, EBUSY, EDEADLK, EINVAL, EPERM, ETIMEDOUT};
use std::ffi::c_int;

/// What is known of a read-write lock.
#[derive(Debug, Clone, Copy, Default)]
struct Known {
    /// How often each actor reads.
    readers: [u32; ACTORS],
    writer: Option<usize>,
}

impl Known {
    /// Whether somebody has it.
    fn is_used(self) -> bool {
        self.writer.is_some() || self.readers.iter().any(|&reads| reads > 0)
    }

    /// What an attempt to read returns.
    fn read(&mut self, actor: usize, own: c_int, busy: c_int) -> c_int {
        match self.writer {
            None => {
                self.readers[actor] += 1;
                0
            }
            Some(writer) if writer == actor => own,
            Some(_) => busy,
        }
    }

    /// What an attempt to write returns.
    fn write(&mut self, actor: usize, own: c_int, busy: c_int) -> c_int {
        match self.writer {
            Some(writer) if writer == actor => own,
            _ if self.is_used() => busy,
            _ => {
                self.writer = Some(actor);
                0
            }
        }
    }

    /// What giving it back returns; `None` if it is not to be tried.
    fn unlock(&mut self, actor: usize) -> Option<c_int> {
        match self.writer {
            Some(writer) if writer == actor => self.writer = None,
            Some(_) => return Some(EPERM),
            None if !self.is_used() => return Some(EPERM),
            None => self.readers[actor] = self.readers[actor].checked_sub(1)?,
        }
        Some(0)
    }
}

/// A read-write lock; `None`: destroyed.
pub struct RwLock {
    place: Place<fibre_rwlock_t>,
    known: Option<Known>,
}

impl RwLock {
    /// Made by zeros.
    pub fn new() -> Self {
        Self {
            place: Place::new(),
            known: Some(Known::default()),
        }
    }

    /// Takes it in some manner.
    fn take(&mut self, crew: &Crew, actor: usize, random: &mut Random) {
        let (reads, manner) = (random.one_in(2), random.below(4));
        let known = self.known;
        let attempt = |known: &mut Known, own, busy| match reads {
            true => known.read(actor, own, busy),
            false => known.write(actor, own, busy),
        };
        let would_wait = known.is_some_and(|mut known| attempt(&mut known, 0, EBUSY) == EBUSY);
        let manner = if manner == 0 && would_wait { 3 } else { manner };
        let expected = match (&mut self.known, manner) {
            (None, _) | (_, 2) => EINVAL,
            (Some(known), 0) => attempt(known, EDEADLK, EBUSY),
            (Some(known), 1) => attempt(known, EBUSY, EBUSY),
            (Some(known), _) => attempt(known, EDEADLK, ETIMEDOUT),
        };
        // SAFETY: the object is there.
        let returned = self.place.on(crew, actor, move |lock| unsafe {
            match (reads, manner) {
                (true, 0) => fibre_rwlock_rdlock(lock),
                (true, 1) => fibre_rwlock_tryrdlock(lock),
                (true, 2) => fibre_rwlock_timedrdlock(lock, &BAD),
                (true, _) => fibre_rwlock_clockrdlock(lock, CLOCK_MONOTONIC, &PAST),
                (false, 0) => fibre_rwlock_wrlock(lock),
                (false, 1) => fibre_rwlock_trywrlock(lock),
                (false, 2) => fibre_rwlock_clockwrlock(lock, CLOCK_MONOTONIC, &BAD),
                (false, _) => fibre_rwlock_timedwrlock(lock, &PAST),
            }
        });
        assert_eq!(
            returned, expected,
            "manner {manner}, reads {reads}, by {actor}: {known:?}"
        );
    }
}

impl Subject for RwLock {
    fn call(&mut self, crew: &Crew, actor: usize, random: &mut Random) {
        match random.below(8) {
            0..4 => self.take(crew, actor, random),
            4..7 => {
                let known = self.known;
                let expected = match &mut self.known {
                    Some(known) => known.unlock(actor),
                    None => Some(EINVAL),
                };
                if let Some(expected) = expected {
                    // SAFETY: the object is there.
                    let unlock = |lock| unsafe { fibre_rwlock_unlock(lock) };
                    let returned = self.place.on(crew, actor, unlock);
                    assert_eq!(returned, expected, "unlock by {actor}: {known:?}");
                }
            }
            _ => {
                let expected = match self.known {
                    None => EINVAL,
                    Some(known) if known.is_used() => EBUSY,
                    Some(_) => 0,
                };
                // SAFETY: the object is there.
                let destroy = |lock| unsafe { fibre_rwlock_destroy(lock) };
                assert_eq!(self.place.on(crew, actor, destroy), expected);
                if expected == 0 {
                    self.known = None;
                } else if expected == EINVAL {
                    *self = Self::new();
                    let kind = random.below(3) as c_int;
                    let (attributes, mut seen) = (Place::<fibre_rwlockattr_t>::new(), -1);
                    // SAFETY: places of ours.
                    unsafe {
                        assert_eq!(fibre_rwlockattr_init(attributes.object()), 0);
                        assert_eq!(fibre_rwlockattr_setkind(attributes.object(), 3), EINVAL);
                        assert_eq!(fibre_rwlockattr_setkind(attributes.object(), kind), 0);
                        fibre_rwlockattr_getkind(attributes.object(), &raw mut seen);
                        assert_eq!(seen, kind);
                        let made = fibre_rwlock_init(self.place.object(), attributes.object());
                        assert_eq!(made, 0);
                    }
                }
            }
        }
    }
}

/// A spin lock: whether it is locked; `None`: destroyed.
pub struct Spin {
    place: Place<fibre_spinlock_t>,
    locked: Option<bool>,
}

impl Spin {
    /// Made by zeros.
    pub fn new() -> Self {
        Self {
            place: Place::new(),
            locked: Some(false),
        }
    }
}

impl Subject for Spin {
    fn call(&mut self, crew: &Crew, actor: usize, random: &mut Random) {
        let (which, locked) = (random.below(5), self.locked);
        let expected = match (which, locked) {
            (_, None) => EINVAL,
            (0 | 1, Some(false)) => {
                self.locked = Some(true);
                0
            }
            (0, Some(true)) | (2, Some(false)) => return,
            (1 | 3, Some(true)) => EBUSY,
            (2, Some(true)) => {
                self.locked = Some(false);
                0
            }
            (3, Some(false)) => {
                self.locked = None;
                0
            }
            _ => return,
        };
        // SAFETY: the object is there.
        let returned = self.place.on(crew, actor, move |lock| unsafe {
            match which {
                0 => fibre_spin_lock(lock),
                1 => fibre_spin_trylock(lock),
                2 => fibre_spin_unlock(lock),
                _ => fibre_spin_destroy(lock),
            }
        });
        assert_eq!(returned, expected, "call {which}: {locked:?}");
        if locked.is_none() {
            *self = Self::new();
        }
    }
}
