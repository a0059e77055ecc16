//! Fibres and their handles.

use crate::Subject;
use crate::actors::Crew;
use crate::object::{BAD, PAST, Place};
use crate::random::Random;
use fibre_capi::cancel::fibre_cancel;
use fibre_capi::join::*;
use fibre_capi::sync::semaphore::{fibre_sem_init, fibre_sem_post, fibre_sem_t, fibre_sem_wait};
use fibre_capi::thread::{fibre_create, fibre_self};
use libc::{EBUSY, EDEADLK, EINVAL, ESRCH, ETIMEDOUT};
use std::ffi::{c_int, c_void};
use std::ptr::{null, null_mut};

/// A fibre that waits until it is let go, and returns the address of what it waited for.
struct Fibre {
    handle: u64,
    gate: Place<fibre_sem_t>,
}

/// The fibres that may be joined, and handles of some that are gone.
pub struct Fibres {
    there: Vec<Fibre>,
    gone: Vec<u64>,
}

/// What the fibre does.
unsafe extern "C-unwind" fn wait(gate: *mut c_void) -> *mut c_void {
    // SAFETY: it stays until the fibre has been joined.
    unsafe { fibre_sem_wait(gate.cast()) };
    gate
}

impl Fibre {
    /// Creates another fibre.
    fn new() -> Self {
        let gate = Place::<fibre_sem_t>::new();
        let mut handle = 0;
        // SAFETY: places of ours.
        unsafe {
            assert_eq!(fibre_sem_init(gate.object(), 0, 0), 0);
            let argument = gate.object().cast();
            let created = fibre_create(&raw mut handle, null(), Some(wait), argument);
            assert_eq!(created, 0);
        }
        Self { handle, gate }
    }

    /// Ends it, and joins it, by an actor; returns its handle.
    fn end(self, crew: &Crew, actor: usize, cancel: bool) -> u64 {
        let handle = self.handle;
        if cancel {
            assert_eq!(crew.on(actor, move || fibre_cancel(handle)), 0);
        } else {
            // SAFETY: it is there.
            let post = |gate| unsafe { fibre_sem_post(gate) };
            assert_eq!(self.gate.on(crew, actor, post), 0);
        }
        let (joined, value) = crew.on(actor, move || {
            let mut value = null_mut();
            // SAFETY: a place of ours.
            let joined = unsafe { fibre_join(handle, &raw mut value) };
            (joined, value.expose_provenance())
        });
        let expected = match cancel {
            true => usize::MAX,
            false => self.gate.object().expose_provenance(),
        };
        assert_eq!((joined, value), (0, expected));
        handle
    }
}

impl Fibres {
    /// A list without fibres.
    pub fn new() -> Self {
        Self {
            there: Vec::new(),
            gone: vec![0, u64::MAX, 1 << 40],
        }
    }

    /// Makes calls that fail.
    fn fail(&self, crew: &Crew, actor: usize, random: &mut Random) {
        // SAFETY: no result is asked for.
        let join = |handle, how: usize| unsafe {
            match how {
                0 => fibre_tryjoin(handle, null_mut()),
                1 => fibre_timedjoin(handle, null_mut(), &PAST),
                _ => fibre_timedjoin(handle, null_mut(), &BAD),
            }
        };
        let how = random.below(3);
        if let Some(fibre) = self.there.last() {
            let handle = fibre.handle;
            let expected: c_int = [EBUSY, ETIMEDOUT, EINVAL][how];
            assert_eq!(crew.on(actor, move || join(handle, how)), expected);
        }
        let gone = self.gone[random.below(self.gone.len())];
        // SAFETY: as above.
        let refused = crew.on(actor, move || unsafe {
            let joined = fibre_join(gone, null_mut());
            [
                joined,
                fibre_tryjoin(gone, null_mut()),
                fibre_detach(gone),
                fibre_cancel(gone),
            ]
        });
        assert_eq!(refused, [ESRCH; 4]);
        // SAFETY: as above.
        let own = crew.on(actor, || unsafe { fibre_join(fibre_self(), null_mut()) });
        assert_eq!(own, EDEADLK);
        if !Crew::is_fibre(actor) {
            let other = crew.handle(actor);
            // SAFETY: as above.
            let detached = crew.on(0, move || unsafe { fibre_join(other, null_mut()) });
            assert_eq!(detached, EINVAL, "a thread of others");
        }
    }
}

impl Drop for Fibres {
    fn drop(&mut self) {
        for fibre in self.there.drain(..) {
            // SAFETY: both are there.
            unsafe {
                assert_eq!(fibre_sem_post(fibre.gate.object()), 0);
                assert_eq!(fibre_join(fibre.handle, null_mut()), 0);
            }
        }
    }
}

impl Subject for Fibres {
    fn call(&mut self, crew: &Crew, actor: usize, random: &mut Random) {
        match random.below(4) {
            0 if self.there.len() < 4 => self.there.push(Fibre::new()),
            1 if !self.there.is_empty() => {
                let fibre = self.there.swap_remove(random.below(self.there.len()));
                self.gone.push(fibre.end(crew, actor, random.one_in(2)));
            }
            _ => self.fail(crew, actor, random),
        }
    }
}
