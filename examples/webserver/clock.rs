//! The `Date` field without reading the clock for each request.
//!
//! One fibre, the keeper, publishes the current second. A connection keeps the
//! text of the second it saw last and formats anew only when the published
//! number differs. The number is a single relaxed atomic: it publishes nothing
//! but itself, and an answer may carry the second that has just passed.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use httpdate::HttpDate;

/// The current second, shared by all connections.
pub(crate) struct Clock {
    /// Seconds since the epoch, as the keeper saw them last.
    second: AtomicU64,
}

impl Clock {
    pub(crate) fn new() -> Self {
        Self {
            second: AtomicU64::new(since_epoch().as_secs()),
        }
    }

    /// Publishes every new second until it is cancelled: the keeper's life.
    pub(crate) fn keep(&self) {
        loop {
            let now = since_epoch();
            self.second.store(now.as_secs(), Ordering::Relaxed);
            let to_next = Duration::from_secs(1) - Duration::from_nanos(now.subsec_nanos().into());
            if fibre::sleep_within(to_next).is_err() {
                return;
            }
        }
    }
}

/// The time of day. A clock set before 1970 counts as 1970.
fn since_epoch() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}

/// One connection's copy of the date, as text.
pub(crate) struct DateText {
    /// The second that `text` spells.
    second: u64,
    /// An IMF-fixdate, such as `Sun, 06 Nov 1994 08:49:37 GMT`.
    text: [u8; 29],
}

impl DateText {
    pub(crate) fn new() -> Self {
        Self {
            second: u64::MAX,
            text: [b' '; 29],
        }
    }

    /// The current date, formatted anew if the second has changed.
    pub(crate) fn read(&mut self, clock: &Clock) -> &[u8] {
        let second = clock.second.load(Ordering::Relaxed);
        if second != self.second {
            self.spell(second);
        }
        &self.text
    }

    #[cold]
    fn spell(&mut self, second: u64) {
        let date = HttpDate::from(UNIX_EPOCH + Duration::from_secs(second));
        // The text always fits: every such date has 29 bytes.
        let _ = write!(&mut self.text[..], "{date}");
        self.second = second;
    }
}
