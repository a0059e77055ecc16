//! Lets models block on a lock that is a bit of some word.
//!
//! Such a lock spins, and the schedules of a spin multiply those of a model until it never ends. So
//! a caller that wants the bit takes a turn first. Outside of models a turn is nothing; in models
//! it is a lock of loom, so that a caller at the bit always finds it free. Then the turn provides
//! the exclusion. It does not provide the visibility of what is written under the bit to readers
//! without it. Models of the bit itself do without turns, by a variant called
//! `turn: nobody waits for any`.

#[cfg(loom)]
pub use self::model::{ModelLock, Turn};
#[cfg(not(loom))]
pub use self::real::{ModelLock, Turn};

#[cfg(not(loom))]
mod real {
    /// The turns of one word, outside of models.
    #[derive(Debug)]
    pub struct Turn;

    /// A turn that a caller has taken.
    #[derive(Debug)]
    pub struct ModelLock;

    impl Turn {
        /// The turns of a word.
        pub const fn new() -> Self {
            Self
        }

        /// Takes a turn, at once.
        #[inline(always)]
        pub fn take(&self) -> ModelLock {
            ModelLock
        }
    }
}

#[cfg(loom)]
mod model {
    use fibre_core::sync::planted;
    use loom::sync::{Mutex, MutexGuard};

    /// The turns of one word.
    #[derive(Debug)]
    pub struct Turn(&'static Mutex<()>);

    /// A turn that a caller has taken.
    pub type ModelLock = Option<MutexGuard<'static, ()>>;

    impl Turn {
        /// The turns of a word. They outlive the word, so they play no part in when that may be
        /// freed.
        pub fn new() -> Self {
            Self(Box::leak(Box::new(Mutex::new(()))))
        }

        /// Waits for a turn.
        #[allow(clippy::unwrap_used, reason = "a poisoned model has failed already")]
        pub fn take(&self) -> ModelLock {
            let spins = planted("turn: nobody waits for any");
            (!spins).then(|| self.0.lock().unwrap())
        }
    }
}
