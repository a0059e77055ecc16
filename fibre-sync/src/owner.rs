//! The owner of a lock, recorded in builds with debug assertions.
//!
//! In such builds, a caller that locks its own lock again panics with a clear message instead of
//! waiting for ever. The owner records itself once it has the lock, however it got it. It removes
//! the record before it releases the lock, which remains the last access. So other callers may see
//! an outdated record, but a caller that sees itself is the owner. In other builds the type has no
//! size and does nothing.

#[cfg(all(debug_assertions, not(loom)))]
pub(crate) use self::known::Owner;
#[cfg(not(all(debug_assertions, not(loom))))]
pub(crate) use self::unknown::Owner;

#[cfg(all(debug_assertions, not(loom)))]
mod known {
    use fibre_core::internal::caller_id;
    use fibre_core::{WaitObject, id, name};
    use std::panic::Location;
    use std::ptr;
    use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

    /// The record of a lock's owner. All zeros means no owner.
    #[derive(Debug, Default)]
    pub(crate) struct Owner {
        /// The number of the owning fibre or thread; zero for none.
        number: AtomicU64,
        /// The place in the program where it locked.
        place: AtomicPtr<Location<'static>>,
    }

    impl Owner {
        /// A record without an owner.
        pub(crate) const fn new() -> Self {
            Self {
                number: AtomicU64::new(0),
                place: AtomicPtr::new(ptr::null_mut()),
            }
        }

        /// Records the caller as the owner.
        #[track_caller]
        pub(crate) fn take(&self) {
            let place = ptr::from_ref(Location::caller()).cast_mut();
            self.place.store(place, Ordering::Relaxed);
            self.number.store(caller_id(), Ordering::Relaxed);
        }

        /// The object that waiters for the lock are shown to wait for, with the owner, which is a
        /// part of it.
        #[inline]
        pub(crate) fn of(&self, awaited: WaitObject) -> WaitObject {
            let object = awaited.address().unwrap_or_default();
            let offset = self.number.as_ptr().addr().wrapping_sub(object);
            // SAFETY: an atomic number, in the object.
            unsafe { awaited.owned(offset) }
        }

        /// Removes the record, before the lock is given back.
        pub(crate) fn leave(&self) {
            self.number.store(0, Ordering::Relaxed);
        }

        /// Panics if the caller has the lock, which belongs to the `what` at this address.
        #[track_caller]
        pub(crate) fn refuse_itself(&self, what: &str, at: *const ()) {
            let caller = caller_id();
            if self.number.load(Ordering::Relaxed) == caller {
                self.refuse(caller, what, at);
            }
        }

        /// See [`refuse_itself`](Self::refuse_itself).
        #[cold]
        #[track_caller]
        fn refuse(&self, caller: u64, what: &str, at: *const ()) -> ! {
            let kind = if id().is_some() { "fibre" } else { "thread" };
            let name = name().map_or_else(String::new, |name| format!(" ({name:?})"));
            // SAFETY: the caller wrote it when it locked.
            let place = unsafe { &*self.place.load(Ordering::Relaxed) };
            panic!(
                "{kind} {caller}{name} would wait for itself for ever: it has locked the {what} at {at:p} in {place}"
            )
        }
    }
}

#[cfg(not(all(debug_assertions, not(loom))))]
mod unknown {
    use fibre_core::WaitObject;

    /// The record in other builds: it has no size.
    #[derive(Debug, Default)]
    pub(crate) struct Owner;

    impl Owner {
        /// A record without an owner.
        pub(crate) const fn new() -> Self {
            Self
        }

        /// Does nothing in this build.
        #[inline(always)]
        pub(crate) fn take(&self) {}

        /// The object that waiters for the lock are shown to wait for.
        #[inline(always)]
        pub(crate) fn of(&self, awaited: WaitObject) -> WaitObject {
            awaited
        }

        /// Does nothing in this build.
        #[inline(always)]
        pub(crate) fn leave(&self) {}

        /// Checks nothing in this build.
        #[inline(always)]
        pub(crate) fn refuse_itself(&self, _what: &str, _at: *const ()) {}
    }
}
