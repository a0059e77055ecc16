//! The scheduler's choices, as values.
//!
//! Each has a name, which is what the environment variables take and what reports print.
//! The mechanisms behind them are elsewhere: placement in `scheduler::placement`, stealing in
//! [`crate::scheduler::steal`], priorities in [`crate::ready`].

use std::fmt;
use std::str::FromStr;

/// Where a new fibre goes first. Source: thesis, section 3.2.1.
///
/// ```
/// use fibre::Placement;
///
/// assert_eq!("staging".parse(), Ok(Placement::Staging));
/// assert_eq!(Placement::default().to_string(), "push");
/// ```
#[non_exhaustive]
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Placement {
    /// To an idle processor if there is one, else to each in turn.
    #[default]
    Push,
    /// Into the cluster's staging queue, from which processors without work take.
    Staging,
    /// To the spawner's own processor, from which others may steal it; from a thread that
    /// is no processor, to each in turn.
    Local,
}

/// Which processor one without work helps first. Only busy processors are asked. Source: thesis,
/// section 3.2.2, for the default one.
///
/// ```
/// use fibre::StealOrder;
///
/// assert_eq!("longest-busy".parse(), Ok(StealOrder::LongestBusy));
/// assert_eq!(StealOrder::Never.to_string(), "never");
/// ```
#[non_exhaustive]
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StealOrder {
    /// The processor that has been busy for the longest time.
    #[default]
    LongestBusy,
    /// The next one by number, in a ring.
    Ring,
    /// Any processor; see `FIBRE_SEED`.
    Random,
    /// The nearest one: by shared caches, then by memory node. Where nothing is known
    /// about the machine, as [`Ring`](Self::Ring).
    Topology,
    /// None: fibres run where they are placed.
    Never,
}

/// What becomes of a started fibre that was stolen. It matters only where started fibres may move;
/// others are at home where they start. Source: thesis, section 3.2.2.
///
/// ```
/// use fibre::Stealing;
///
/// assert_eq!("sticky:4".parse(), Ok(Stealing::Sticky { threshold: 4 }));
/// assert_eq!(Stealing::default().to_string(), "transient");
/// ```
#[non_exhaustive]
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stealing {
    /// It goes home as soon as it yields or blocks.
    #[default]
    Transient,
    /// It stays with the thief, if it came from a queue of at least `threshold` fibres.
    Sticky {
        /// The length of the shortest queue from which fibres stay.
        threshold: usize,
    },
}

/// Which of the fibres that are ready at a processor runs first.
///
/// Fibres of higher priority do, but every 64th time the lowest does, so that nothing starves. A
/// fibre keeps its priority for its life. Source: thesis, section 3.2.2.
///
/// ```
/// use fibre::Priority;
///
/// assert_eq!("high".parse(), Ok(Priority::High));
/// assert_eq!(Priority::default().to_string(), "normal");
/// ```
#[non_exhaustive]
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Priority {
    /// Before the others.
    High,
    /// The priority of fibres that were given none.
    #[default]
    Normal,
    /// After the others.
    Low,
}

/// The error of a text that names no value of a policy; it lists the values.
///
/// ```
/// let error = "pull".parse::<fibre::Placement>().unwrap_err();
/// assert_eq!(error.to_string(), "a placement is push, staging or local");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownPolicy(&'static str);

impl fmt::Display for UnknownPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for UnknownPolicy {}

impl Placement {
    /// All placements.
    pub const ALL: [Self; 3] = [Self::Push, Self::Staging, Self::Local];

    /// The placement's name.
    const fn name(self) -> &'static str {
        match self {
            Self::Push => "push",
            Self::Staging => "staging",
            Self::Local => "local",
        }
    }
}

impl StealOrder {
    /// All orders.
    pub const ALL: [Self; 5] = [
        Self::LongestBusy,
        Self::Ring,
        Self::Random,
        Self::Topology,
        Self::Never,
    ];

    /// The order's name.
    const fn name(self) -> &'static str {
        match self {
            Self::LongestBusy => "longest-busy",
            Self::Ring => "ring",
            Self::Random => "random",
            Self::Topology => "topology",
            Self::Never => "never",
        }
    }
}

impl Priority {
    /// All priorities, the highest first.
    pub const ALL: [Self; 3] = [Self::High, Self::Normal, Self::Low];

    /// The priority's name.
    const fn name(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Normal => "normal",
            Self::Low => "low",
        }
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for StealOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Stealing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Transient => f.write_str("transient"),
            Self::Sticky { threshold } => write!(f, "sticky:{threshold}"),
        }
    }
}

impl FromStr for Placement {
    type Err = UnknownPolicy;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut all = Self::ALL.into_iter();
        all.find(|value| value.name() == text)
            .ok_or(UnknownPolicy("a placement is push, staging or local"))
    }
}

impl FromStr for StealOrder {
    type Err = UnknownPolicy;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut all = Self::ALL.into_iter();
        all.find(|value| value.name() == text).ok_or(UnknownPolicy(
            "a steal order is longest-busy, ring, random, topology or never",
        ))
    }
}

impl FromStr for Priority {
    type Err = UnknownPolicy;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut all = Self::ALL.into_iter();
        all.find(|value| value.name() == text)
            .ok_or(UnknownPolicy("a priority is high, normal or low"))
    }
}

impl FromStr for Stealing {
    type Err = UnknownPolicy;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let sticky = |count: &str| {
            Some(Self::Sticky {
                threshold: count.parse().ok()?,
            })
        };
        match text.split_once(':') {
            None if text == "transient" => Some(Self::Transient),
            Some(("sticky", count)) => sticky(count),
            _ => None,
        }
        .ok_or(UnknownPolicy(
            "stealing is transient or sticky:N, with N the shortest queue to keep fibres from",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_means_its_value() {
        for value in Placement::ALL {
            assert_eq!(value.to_string().parse(), Ok(value));
        }
        for value in StealOrder::ALL {
            assert_eq!(value.to_string().parse(), Ok(value));
        }
        for value in Priority::ALL {
            assert_eq!(value.to_string().parse(), Ok(value));
        }
        for value in [Stealing::Transient, Stealing::Sticky { threshold: 17 }] {
            assert_eq!(value.to_string().parse(), Ok(value));
        }
    }

    #[test]
    fn nonsense_means_nothing() {
        for text in ["", "Push", "sticky", "sticky:", "sticky:-1", "transient:1"] {
            assert!(text.parse::<Placement>().is_err(), "{text}");
            assert!(text.parse::<StealOrder>().is_err(), "{text}");
            assert!(text.parse::<Priority>().is_err(), "{text}");
            assert!(text.parse::<Stealing>().is_err(), "{text}");
        }
    }
}
