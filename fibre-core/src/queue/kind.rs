//! The choice among the queues, as a value.

use std::fmt;
use std::str::FromStr;

/// Which mechanism hands fibres from thread to thread.
///
/// All kinds keep the same promises; they differ in what a push and a pop cost. The
/// source is section 3.5 of the thesis, which compares them in figure 4.14.
///
/// ```
/// use fibre::QueueKind;
///
/// let kind: QueueKind = "stub".parse()?;
/// assert_eq!(kind, QueueKind::Stub);
/// assert_eq!(QueueKind::default().to_string(), "nemesis");
/// # Ok::<(), fibre::UnknownQueueKind>(())
/// ```
#[non_exhaustive]
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Hash)]
pub enum QueueKind {
    /// Lock-free: the first push into an empty queue sets its head (Buntinas, Mercier,
    /// Gropp, "Design and evaluation of Nemesis", 2006).
    #[default]
    Nemesis,
    /// Lock-free: a stub node stays behind in an empty queue (Vyukov, "Intrusive MPSC
    /// node-based queue").
    Stub,
    /// A list under a lock. A push waits for the holder of the lock: it blocks the thread.
    Locked,
}

impl QueueKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Nemesis, Self::Stub, Self::Locked];

    /// The kind's name, as in the environment.
    const fn name(self) -> &'static str {
        match self {
            Self::Nemesis => "nemesis",
            Self::Stub => "stub",
            Self::Locked => "locked",
        }
    }
}

impl fmt::Display for QueueKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for QueueKind {
    type Err = UnknownQueueKind;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.name() == text)
            .ok_or(UnknownQueueKind)
    }
}

/// The error of a text that names no [`QueueKind`].
///
/// ```
/// let error = "heap".parse::<fibre::QueueKind>().unwrap_err();
/// assert_eq!(error.to_string(), "a queue is nemesis, stub or locked");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownQueueKind;

impl fmt::Display for UnknownQueueKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a queue is nemesis, stub or locked")
    }
}

impl std::error::Error for UnknownQueueKind {}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn every_name_means_its_kind() {
        for kind in QueueKind::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        assert_eq!("Nemesis".parse::<QueueKind>(), Err(UnknownQueueKind));
    }
}
