//! What lets models block on a lock that is a bit of some word.
//!
//! Such a lock spins, and the schedules of a spin multiply those of a model until it never ends. So
//! who wants the bit takes a turn first: nothing at all outside of models, and a lock of loom in
//! them, which leaves only those at the bit who find it free. That it excludes is then
//! the turn's doing; that what is written under it is seen by those who look without it, is not.
//! Models of the bit itself do without turns, by a variant called `turn: nobody waits for any`.

#[cfg(loom)]
pub use self::model::{Turn, Turned};
#[cfg(not(loom))]
pub use self::real::{Turn, Turned};

#[cfg(not(loom))]
mod real {
    /// The turns of one word: nobody takes any.
    #[derive(Debug)]
    pub struct Turn;

    /// Somebody's turn.
    #[derive(Debug)]
    pub struct Turned;

    impl Turn {
        /// Nobody's turn.
        pub const fn new() -> Self {
            Self
        }

        /// The caller's, at once.
        #[inline(always)]
        pub fn take(&self) -> Turned {
            Turned
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

    /// Somebody's turn.
    pub type Turned = Option<MutexGuard<'static, ()>>;

    impl Turn {
        /// Nobody's turn. It outlives the word: it does not take part in who may free that.
        pub fn new() -> Self {
            Self(Box::leak(Box::new(Mutex::new(()))))
        }

        /// Waits for the caller's.
        #[allow(clippy::unwrap_used, reason = "a poisoned model has failed already")]
        pub fn take(&self) -> Turned {
            let spins = planted("turn: nobody waits for any");
            (!spins).then(|| self.0.lock().unwrap())
        }
    }
}
