//! A time-out that several fibres may read while one sets it.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Nanoseconds; zero for none.
#[derive(Debug, Default)]
pub struct Timeout(AtomicU64);

impl Timeout {
    /// The time-out now.
    #[inline]
    pub fn get(&self) -> Option<Duration> {
        match self.0.load(Ordering::Relaxed) {
            0 => None,
            nanoseconds => Some(Duration::from_nanos(nanoseconds)),
        }
    }

    /// Sets it.
    ///
    /// # Errors
    ///
    /// `InvalidInput` for a zero duration, as in std.
    pub fn set(&self, timeout: Option<Duration>) -> io::Result<()> {
        let nanoseconds = match timeout {
            Some(Duration::ZERO) => {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidInput,
                    "a time-out of zero",
                ));
            }
            // 584 years will do for the rest.
            Some(timeout) => u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX),
            None => 0,
        };
        self.0.store(nanoseconds, Ordering::Relaxed);
        Ok(())
    }

    /// A copy for a duplicate.
    pub fn duplicate(&self) -> Self {
        Self(AtomicU64::new(self.0.load(Ordering::Relaxed)))
    }
}
