//! Mutexes, and a condition variable to wait on with them.

use crate::Subject;
use crate::actors::Crew;
use crate::object::{BAD, PAST, Place};
use crate::random::Random;
use fibre_capi::sync::cond::*;
use fibre_capi::sync::mutex::*;
use libc::{CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID, CLOCK_REALTIME};
use libc::{EBUSY, EDEADLK, EINVAL, ENOTSUP, EPERM, ETIMEDOUT};
use std::ffi::c_int;
use std::ptr::{null, null_mut};

/// Kinds, by the system's numbers.
const RECURSIVE: c_int = 1;
const ERRORCHECK: c_int = 2;
const KINDS: c_int = 4;
const VARIANTS: c_int = 6;

/// What is known of a mutex.
#[derive(Debug, Clone, Copy)]
struct Known {
    kind: c_int,
    owner: Option<usize>,
    /// How often its owner has locked it again.
    depth: u32,
}

impl Known {
    /// Whether it knows its owner.
    fn checks(self) -> bool {
        [RECURSIVE, ERRORCHECK].contains(&self.kind)
    }

    /// What an attempt to lock it returns; `busy` if it fails because of another one's lock, or of
    /// one's own that is not checked.
    fn lock(&mut self, actor: usize, own: c_int, busy: c_int) -> c_int {
        match self.owner {
            None => {
                self.owner = Some(actor);
                0
            }
            Some(owner) if owner == actor && self.kind == RECURSIVE => {
                self.depth += 1;
                0
            }
            Some(owner) if owner == actor && self.kind == ERRORCHECK => own,
            Some(_) => busy,
        }
    }

    /// What an unlock returns; `None` if it is not to be tried.
    fn unlock(&mut self, actor: usize) -> Option<c_int> {
        let own = self.owner == Some(actor);
        if self.checks() && !own {
            return Some(EPERM);
        }
        self.owner?;
        match self.depth.checked_sub(1) {
            Some(depth) => self.depth = depth,
            None => self.owner = None,
        }
        Some(0)
    }
}

/// A mutex; `None`: destroyed.
struct Mutex {
    place: Place<fibre_mutex_t>,
    known: Option<Known>,
}

/// A few of them, and a condition variable.
pub struct Mutexes {
    mutexes: Vec<Mutex>,
    cond: Place<fibre_cond_t>,
    cond_is_there: bool,
}

impl Mutexes {
    /// One is made by zeros, the others later.
    pub fn new(random: &mut Random) -> Self {
        let mut mutexes: Vec<_> = (0..3)
            .map(|_| Mutex {
                place: Place::new(),
                known: None,
            })
            .collect();
        mutexes[0].known = Some(Known {
            kind: 0,
            owner: None,
            depth: 0,
        });
        for mutex in &mut mutexes[1..] {
            mutex.init(random);
        }
        Self {
            mutexes,
            cond: Place::new(),
            cond_is_there: true,
        }
    }
}

impl Mutex {
    /// Makes it, by attributes.
    fn init(&mut self, random: &mut Random) {
        let (kind, variant) = (
            random.below(KINDS as usize) as c_int,
            random.below(VARIANTS as usize) as c_int,
        );
        let attributes = Place::<fibre_mutexattr_t>::new();
        let (place, mut seen) = (attributes.object(), -1);
        // SAFETY: places of ours; nobody uses the mutex.
        unsafe {
            assert_eq!(fibre_mutexattr_init(place), 0);
            assert_eq!(fibre_mutexattr_settype(place, kind), 0);
            assert_eq!(fibre_mutexattr_setvariant(place, variant), 0);
            for nonsense in [KINDS, -1, c_int::MAX] {
                assert_eq!(fibre_mutexattr_settype(place, nonsense), EINVAL);
            }
            assert_eq!(fibre_mutexattr_setvariant(place, VARIANTS), EINVAL);
            for value in [1, 0] {
                assert_eq!(fibre_mutexattr_setpshared(place, value), 0);
                assert_eq!(fibre_mutexattr_setrobust(place, value), 0);
            }
            assert_eq!(fibre_mutexattr_setpshared(place, 2), EINVAL);
            assert_eq!(fibre_mutexattr_setprotocol(place, 2), ENOTSUP);
            assert_eq!(fibre_mutexattr_gettype(place, &raw mut seen), 0);
            assert_eq!(seen, kind);
            assert_eq!(fibre_mutex_init(self.place.object(), place), 0);
            assert_eq!(fibre_mutexattr_destroy(place), 0);
            assert_eq!(fibre_mutexattr_gettype(place, &raw mut seen), EINVAL);
            assert_eq!(fibre_mutex_init(Place::new().object(), place), EINVAL);
        }
        self.known = Some(Known {
            kind,
            owner: None,
            depth: 0,
        });
    }

    /// Locks it in some manner.
    fn lock(&mut self, crew: &Crew, actor: usize, random: &mut Random) {
        let manner = random.below(6);
        let waits = self
            .known
            .is_none_or(|mut known| known.lock(actor, 0, EBUSY) == EBUSY);
        let expected = |known: &mut Option<Known>, own, busy| match known {
            Some(known) => known.lock(actor, own, busy),
            None => EINVAL,
        };
        let known = &mut self.known;
        // SAFETY: the object is there.
        let (expected, returned) = unsafe {
            match manner {
                0 | 1 if !waits || known.is_none() => (
                    expected(known, EDEADLK, EBUSY),
                    self.place.on(crew, actor, |mutex| fibre_mutex_lock(mutex)),
                ),
                2 => (
                    expected(known, EBUSY, EBUSY),
                    self.place
                        .on(crew, actor, |mutex| fibre_mutex_trylock(mutex)),
                ),
                3 => (
                    expected(known, EDEADLK, EINVAL),
                    self.place
                        .on(crew, actor, |mutex| fibre_mutex_timedlock(mutex, &BAD)),
                ),
                4 => (
                    EINVAL,
                    self.place.on(crew, actor, |mutex| {
                        fibre_mutex_clocklock(mutex, CLOCK_PROCESS_CPUTIME_ID, &PAST)
                    }),
                ),
                5 => (
                    expected(known, EDEADLK, ETIMEDOUT),
                    self.place.on(crew, actor, |mutex| {
                        fibre_mutex_clocklock(mutex, CLOCK_MONOTONIC, &PAST)
                    }),
                ),
                _ => (
                    expected(known, EDEADLK, ETIMEDOUT),
                    self.place
                        .on(crew, actor, |mutex| fibre_mutex_timedlock(mutex, &PAST)),
                ),
            }
        };
        assert_eq!(
            returned, expected,
            "lock in manner {manner} by {actor}: {known:?}"
        );
    }

    /// Unlocks it, if the model knows what that returns.
    fn unlock(&mut self, crew: &Crew, actor: usize) {
        let expected = match &mut self.known {
            Some(known) => known.unlock(actor),
            None => Some(EINVAL),
        };
        if let Some(expected) = expected {
            // SAFETY: the object is there.
            let returned = self
                .place
                .on(crew, actor, |mutex| unsafe { fibre_mutex_unlock(mutex) });
            assert_eq!(returned, expected, "unlock by {actor}: {:?}", self.known);
        }
    }

    /// Destroys it, and frees the place if that succeeds.
    fn destroy(&mut self, crew: &Crew, actor: usize, random: &mut Random) {
        let expected = match self.known {
            None => EINVAL,
            Some(known) if known.owner.is_some() => EBUSY,
            Some(_) => 0,
        };
        // SAFETY: the object is there.
        let returned = self
            .place
            .on(crew, actor, |mutex| unsafe { fibre_mutex_destroy(mutex) });
        assert_eq!(returned, expected, "destroy: {:?}", self.known);
        if returned == 0 {
            self.known = None;
            if random.one_in(2) {
                self.place = Place::new();
                self.init(random);
            }
        }
    }
}

impl Mutexes {
    /// Waits on the condition variable, which nobody signals, if the model knows what that returns.
    fn wait(&mut self, crew: &Crew, actor: usize, random: &mut Random) {
        let index = random.below(self.mutexes.len());
        let mutex = &self.mutexes[index];
        let time = if random.one_in(4) { BAD } else { PAST };
        let expected = match mutex.known {
            _ if time.tv_nsec == BAD.tv_nsec => EINVAL,
            None => EINVAL,
            Some(known) if known.owner != Some(actor) => match known.checks() {
                true => EPERM,
                false => return,
            },
            Some(_) if !self.cond_is_there => EINVAL,
            Some(_) => ETIMEDOUT,
        };
        let mutex = mutex.place.object().expose_provenance();
        let clock = match random.below(3) {
            0 => None,
            1 => Some(CLOCK_MONOTONIC),
            _ => Some(CLOCK_REALTIME),
        };
        // SAFETY: the objects are there.
        let returned = self.cond.on(crew, actor, move |cond| unsafe {
            let mutex = std::ptr::with_exposed_provenance_mut(mutex);
            match clock {
                Some(clock) => fibre_cond_clockwait(cond, mutex, clock, &time),
                None => fibre_cond_timedwait(cond, mutex, &time),
            }
        });
        let known = self.mutexes[index].known;
        assert_eq!(returned, expected, "wait by {actor}: {known:?}");
    }

    /// Another call with the condition variable.
    fn use_cond(&mut self, crew: &Crew, actor: usize, random: &mut Random) {
        let expected = if self.cond_is_there { 0 } else { EINVAL };
        let which = random.below(3);
        // SAFETY: the object is there.
        let returned = self.cond.on(crew, actor, move |cond| unsafe {
            match which {
                0 => fibre_cond_signal(cond),
                1 => fibre_cond_broadcast(cond),
                _ => fibre_cond_destroy(cond),
            }
        });
        assert_eq!(returned, expected);
        if which == 2 {
            self.cond_is_there = random.one_in(2);
            if self.cond_is_there {
                self.cond = Place::new();
                // SAFETY: the place is there, and nobody uses it.
                assert_eq!(unsafe { fibre_cond_init(self.cond.object(), null()) }, 0);
            }
        }
    }
}

impl Subject for Mutexes {
    fn call(&mut self, crew: &Crew, actor: usize, random: &mut Random) {
        let index = random.below(self.mutexes.len());
        let mutex = &mut self.mutexes[index];
        match random.below(16) {
            0..5 => mutex.lock(crew, actor, random),
            5..10 => mutex.unlock(crew, actor),
            10 => mutex.destroy(crew, actor, random),
            11 if mutex.known.is_none() => mutex.init(random),
            12 => {
                // SAFETY: null is refused.
                let refused =
                    unsafe { [fibre_mutex_lock(null_mut()), fibre_cond_signal(null_mut())] };
                assert_eq!(refused, [EINVAL; 2]);
            }
            13 => self.use_cond(crew, actor, random),
            _ => self.wait(crew, actor, random),
        }
    }
}
