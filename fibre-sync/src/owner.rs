//! Who has a lock, known in builds with debug assertions.
//!
//! There, one who locks what it has already gets a panic with a clear word instead of waiting for
//! ever. The owner writes itself down once the lock is its own, however it came by it, and strikes
//! itself out before it gives the lock back, which remains the last touch. So everybody else may see an
//! owner that is none any more or not yet, but who sees itself is right. Other builds have an owner
//! of no size that is asked nothing.

#[cfg(all(debug_assertions, not(loom)))]
pub use self::known::Owner;
#[cfg(not(all(debug_assertions, not(loom))))]
pub use self::unknown::Owner;

#[cfg(all(debug_assertions, not(loom)))]
mod known {
    use fibre_core::{Awaited, caller_id, id, name};
    use std::panic::Location;
    use std::ptr;
    use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

    /// Who has a lock. All zeros: nobody.
    #[derive(Debug, Default)]
    pub struct Owner {
        /// The number of the fibre or thread; zero for none.
        number: AtomicU64,
        /// Where it locked.
        place: AtomicPtr<Location<'static>>,
    }

    impl Owner {
        /// Nobody.
        pub const fn new() -> Self {
            Self {
                number: AtomicU64::new(0),
                place: AtomicPtr::new(ptr::null_mut()),
            }
        }

        /// Notes that the lock is the caller's.
        #[track_caller]
        pub fn take(&self) {
            let place = ptr::from_ref(Location::caller()).cast_mut();
            self.place.store(place, Ordering::Relaxed);
            self.number.store(caller_id(), Ordering::Relaxed);
        }

        /// What is waited for by those who wait for the lock, with its owner, which is a part of that.
        #[inline]
        pub fn of(&self, awaited: Awaited) -> Awaited {
            let object = awaited.address().unwrap_or_default();
            let offset = self.number.as_ptr().addr().wrapping_sub(object);
            // SAFETY: an atomic number, in the object.
            unsafe { awaited.owned(offset) }
        }

        /// Notes that the lock is about to be given back.
        pub fn leave(&self) {
            self.number.store(0, Ordering::Relaxed);
        }

        /// Panics if the caller has the lock, which is that of `what`, at that address.
        #[track_caller]
        pub fn refuse_itself(&self, what: &str, at: *const ()) {
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
    use fibre_core::Awaited;

    /// Nobody knows.
    #[derive(Debug, Default)]
    pub struct Owner;

    impl Owner {
        /// Nobody.
        pub const fn new() -> Self {
            Self
        }

        /// Notes nothing.
        #[inline(always)]
        pub fn take(&self) {}

        /// What is waited for by those who wait for the lock.
        #[inline(always)]
        pub fn of(&self, awaited: Awaited) -> Awaited {
            awaited
        }

        /// Notes nothing.
        #[inline(always)]
        pub fn leave(&self) {}

        /// Asks nothing.
        #[inline(always)]
        pub fn refuse_itself(&self, _what: &str, _at: *const ()) {}
    }
}
