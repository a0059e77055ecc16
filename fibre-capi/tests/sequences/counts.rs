//! A semaphore, a barrier for one, and what happens once.

use crate::Subject;
use crate::actors::Crew;
use crate::object::{BAD, PAST, Place};
use crate::random::Random;
use fibre_capi::errno;
use fibre_capi::sync::barrier::*;
use fibre_capi::sync::once::*;
use fibre_capi::sync::semaphore::*;
use libc::{CLOCK_MONOTONIC, EAGAIN, EINVAL, EOVERFLOW, ETIMEDOUT};
use std::ffi::{c_int, c_uint};
use std::ptr::null;
use std::sync::atomic::{AtomicUsize, Ordering};

/// `SEM_VALUE_MAX`.
const MOST: c_uint = c_int::MAX.unsigned_abs();

/// A semaphore: its permits; `None`: destroyed.
pub struct Semaphore {
    place: Place<fibre_sem_t>,
    permits: Option<c_uint>,
}

/// What a call returned that says why by errno, as a number.
fn reason(returned: c_int) -> c_int {
    if returned == 0 { 0 } else { errno::get() }
}

impl Semaphore {
    /// Made by zeros.
    pub fn new() -> Self {
        Self {
            place: Place::new(),
            permits: Some(0),
        }
    }

    /// What taking a permit returns.
    fn take(&mut self, none: c_int) -> c_int {
        match &mut self.permits {
            None => EINVAL,
            Some(0) => none,
            Some(permits) => {
                *permits -= 1;
                0
            }
        }
    }

    /// Makes it anew.
    fn init(&mut self, random: &mut Random) {
        let permits = [0, 1, MOST - 1, MOST][random.below(4)];
        self.place = Place::new();
        // SAFETY: a place of ours.
        unsafe {
            let place = self.place.object();
            assert_eq!(reason(fibre_sem_init(place, 1, permits)), 0);
            assert_eq!(reason(fibre_sem_destroy(place)), 0);
            assert_eq!(reason(fibre_sem_wait(place)), EINVAL);
            assert_eq!(reason(fibre_sem_init(place, 0, MOST + 1)), EINVAL);
            assert_eq!(fibre_sem_init(place, 0, permits), 0);
        }
        self.permits = Some(permits);
    }
}

impl Subject for Semaphore {
    fn call(&mut self, crew: &Crew, actor: usize, random: &mut Random) {
        let (which, before) = (random.below(7), self.permits);
        let expected = match which {
            0 => match &mut self.permits {
                None => EINVAL,
                Some(permits) if *permits == MOST => EOVERFLOW,
                Some(permits) => {
                    *permits += 1;
                    0
                }
            },
            1 => self.take(EAGAIN),
            2 => self.take(ETIMEDOUT),
            3 => EINVAL,
            4 if before == Some(0) => return,
            4 => self.take(0),
            5 => before.map_or(EINVAL, |_| 0),
            _ => {
                self.permits = None;
                before.map_or(EINVAL, |_| 0)
            }
        };
        // SAFETY: the object is there.
        let returned = self.place.on(crew, actor, move |semaphore| unsafe {
            let mut value = 0;
            reason(match which {
                0 => fibre_sem_post(semaphore),
                1 => fibre_sem_trywait(semaphore),
                2 => fibre_sem_timedwait(semaphore, &PAST),
                3 => fibre_sem_clockwait(semaphore, CLOCK_MONOTONIC, &BAD),
                4 => fibre_sem_wait(semaphore),
                5 => {
                    let got = fibre_sem_getvalue(semaphore, &raw mut value);
                    assert!(got != 0 || u32::try_from(value).ok() == before);
                    got
                }
                _ => fibre_sem_destroy(semaphore),
            })
        });
        assert_eq!(returned, expected, "call {which}: {before:?}");
        if before.is_none() {
            self.init(random);
        }
    }
}

/// A barrier for one, who is never held up; whether it is there.
pub struct Barrier {
    place: Place<fibre_barrier_t>,
    there: bool,
}

impl Barrier {
    /// Zeros are none.
    pub fn new() -> Self {
        Self {
            place: Place::new(),
            there: false,
        }
    }
}

impl Subject for Barrier {
    fn call(&mut self, crew: &Crew, actor: usize, random: &mut Random) {
        let which = random.below(3);
        // SAFETY: the object is there.
        let returned = self.place.on(crew, actor, move |barrier| unsafe {
            match which {
                0 => fibre_barrier_wait(barrier),
                1 => fibre_barrier_destroy(barrier),
                _ => fibre_barrier_init(barrier, null(), 0),
            }
        });
        let expected = match which {
            2 => EINVAL,
            _ if !self.there => EINVAL,
            0 => -1,
            _ => 0,
        };
        assert_eq!(returned, expected, "call {which}");
        if which == 1 {
            self.there = !self.there;
            if self.there {
                self.place = Place::new();
                // SAFETY: a place of ours.
                let made = unsafe { fibre_barrier_init(self.place.object(), null(), 1) };
                assert_eq!(made, 0);
            }
        }
    }
}

/// How often the routine has been called.
static CALLS: AtomicUsize = AtomicUsize::new(0);

/// What happens once.
pub struct Once {
    place: Place<fibre_once_t>,
    happened: bool,
}

impl Once {
    /// It has not happened.
    pub fn new() -> Self {
        Self {
            place: Place::new(),
            happened: false,
        }
    }
}

unsafe extern "C-unwind" fn count() {
    CALLS.fetch_add(1, Ordering::Relaxed);
}

impl Subject for Once {
    fn call(&mut self, crew: &Crew, actor: usize, random: &mut Random) {
        let before = CALLS.load(Ordering::Relaxed);
        // SAFETY: the object is there.
        let call = |once| unsafe { fibre_once(once, Some(count)) };
        assert_eq!(self.place.on(crew, actor, call), 0);
        let calls = CALLS.load(Ordering::Relaxed) - before;
        assert_eq!(calls, usize::from(!self.happened));
        self.happened = true;
        // SAFETY: there is no routine, which is refused.
        let refused = self
            .place
            .on(crew, actor, |once| unsafe { fibre_once(once, None) });
        assert_eq!(refused, EINVAL);
        if random.one_in(3) {
            *self = Self::new();
        }
    }
}
