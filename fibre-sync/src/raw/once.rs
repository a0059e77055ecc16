//! What happens once, as pthreads have it.

use crate::once::Refusal;
use crate::raw::error::{Error, Result};

/// `pthread_once_t`. See [`raw`](crate::raw). It needs no destruction.
///
/// ```
/// use fibre_sync::raw::{Error, Once};
///
/// static START: Once = Once::new();
///
/// let mut calls = 0;
/// START.call(|| calls += 1)?;
/// START.call(|| calls += 1)?;
/// assert_eq!(calls, 1);
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Default)]
#[repr(C)]
pub struct Once {
    once: crate::Once,
}

const _: () = assert!(size_of::<Once>() == 8 && align_of::<Once>() == 8);

impl Once {
    /// It has not happened: all zeros.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            once: crate::Once::new(),
        }
    }

    /// Calls `init`, unless that has been done, and returns when it has been done, by whomever.
    /// While another one is at it, blocks the fibre, or the thread if the caller is not a fibre.
    /// If `init` unwinds, it has not happened, and the next one calls its own.
    ///
    /// # Errors
    ///
    /// [`Deadlock`](Error::Deadlock) if the caller is within `init` of this object already.
    #[inline]
    pub fn call(&self, init: impl FnOnce()) -> Result {
        if self.once.is_completed() {
            return Ok(());
        }
        let mut init = Some(init);
        let mut run = |_: &crate::OnceState| {
            if let Some(init) = init.take() {
                init();
            }
        };
        match self.once.call(true, &mut run) {
            Ok(()) => Ok(()),
            Err(Refusal::OwnCall | Refusal::Poisoned) => Err(Error::Deadlock),
        }
    }
}
