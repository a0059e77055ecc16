//! How an actor has ended, and the notice of it.

use std::fmt;

/// Why an actor has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExitReason {
    /// It was stopped, stopped by itself, or had no reference left and nothing to do.
    Stopped,
    /// One of its methods has panicked.
    Panicked,
    /// Its [`Actors`](crate::Actors), or the cluster it lived in, was stopped.
    ClusterStopped,
}

impl fmt::Display for ExitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stopped => "stopped",
            Self::Panicked => "panicked",
            Self::ClusterStopped => "stopped with its cluster",
        })
    }
}

/// The notice that an actor has ended: see [`ActorRef::monitor`](crate::ActorRef::monitor).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Exit {
    /// The number of the actor.
    pub id: u64,
    /// The name of the actor, if it has one.
    pub name: Option<String>,
    /// The reason of its end.
    pub reason: ExitReason,
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "actor {} ({name:?}) has {}", self.id, self.reason),
            None => write!(f, "actor {} has {}", self.id, self.reason),
        }
    }
}
