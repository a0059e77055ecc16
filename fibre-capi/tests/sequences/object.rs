//! Objects of C, and what calls need besides.

use crate::actors::Crew;
use libc::timespec;
use std::ffi::c_int;

/// A time that has passed on every clock.
pub const PAST: timespec = timespec {
    tv_sec: 1,
    tv_nsec: 0,
};

/// What is no time.
pub const BAD: timespec = timespec {
    tv_sec: 1,
    tv_nsec: 1_000_000_000,
};

/// A place of its own on the heap, of just the size of an object. Zeros at first.
pub struct Place<C>(*mut C);

impl<C: 'static> Place<C> {
    /// A place of zeros.
    pub fn new() -> Self {
        // SAFETY: all zeros is valid for objects of C.
        Self(Box::into_raw(Box::new(unsafe { std::mem::zeroed() })))
    }

    /// The object, for a call.
    pub fn object(&self) -> *mut C {
        self.0
    }

    /// Lets an actor make a call with the object.
    pub fn on(
        &self,
        crew: &Crew,
        actor: usize,
        call: impl FnOnce(*mut C) -> c_int + Send + 'static,
    ) -> c_int {
        let address = self.0.expose_provenance();
        crew.on(actor, move || {
            call(std::ptr::with_exposed_provenance_mut(address))
        })
    }
}

impl<C> Drop for Place<C> {
    fn drop(&mut self) {
        // SAFETY: made by `new`, and nobody waits there.
        drop(unsafe { Box::from_raw(self.0) });
    }
}
