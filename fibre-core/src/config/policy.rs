//! The scheduler's choices, as values.
//!
//! Environment variables and reports use their names. The mechanisms are elsewhere: placement in
//! `scheduler::placement`, stealing in [`crate::scheduler::steal`], priorities in [`crate::ready`].

use crate::choice::{Names, UnknownChoice, named_choice};
use crate::config::steal_orders::steal_orders;
use std::fmt;
use std::str::FromStr;

named_choice! {
    /// Where a new fibre goes first. Source: thesis, section 3.2.1.
    ///
    /// ```
    /// use fibre::Placement;
    ///
    /// assert_eq!("staging".parse(), Ok(Placement::Staging));
    /// assert_eq!(Placement::default().to_string(), "push");
    /// ```
    #[non_exhaustive]
    #[derive(Default)]
    pub enum Placement, "a placement" {
        /// To an idle processor if there is one, else to each in turn.
        #[default]
        Push = "push",
        /// Into the cluster's staging queue: processors without work take from there.
        Staging = "staging",
        /// To the spawner's own processor: others may steal it there. From a thread that is no
        /// processor, to each in turn.
        Local = "local",
        /// As [`Local`](Self::Local), and the spawner's processor runs it before what else it
        /// could share, if the queues have two ends ([`QueueKind::TwoEnded`]). Source: thesis,
        /// section 5.3.2.
        ///
        /// [`QueueKind::TwoEnded`]: crate::QueueKind::TwoEnded
        Head = "head",
    }
}

/// Makes the enum of the steal orders.
macro_rules! steal_order {
    (enum $choice:ident {
        $($(#[$about:meta])* $order:ident = $name:literal, $_steal:path;)+
    }) => {
        named_choice! {
            /// Which processor one without work helps first. Only busy processors are asked.
            /// Source: thesis, section 3.2.2, for the default one.
            ///
            /// ```
            /// use fibre::StealOrder;
            ///
            /// assert_eq!("longest-busy".parse(), Ok(StealOrder::LongestBusy));
            /// assert_eq!(StealOrder::Never.to_string(), "never");
            /// ```
            #[non_exhaustive]
            #[derive(Default)]
            pub enum $choice, "a steal order" {
                $($(#[$about])* $order = $name,)+
            }
        }
    };
}

steal_orders!(steal_order);

named_choice! {
    /// Where an activity goes that is made ready again. Source: thesis, section 5.3.2, where these
    /// are the schedulers LAS/L and LAS/A.
    ///
    /// ```
    /// use fibre::Revival;
    ///
    /// assert_eq!("affine".parse(), Ok(Revival::Affine));
    /// assert_eq!(Revival::default().to_string(), "local");
    /// ```
    #[non_exhaustive]
    #[derive(Default)]
    pub enum Revival, "a revival" {
        /// To the processor of the fibre that makes it ready, before the others if the queues have
        /// two ends; from a thread that is no processor, to an idle one, else to each in turn.
        #[default]
        Local = "local",
        /// Behind the others of the processor that ran it last.
        Affine = "affine",
    }
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
        /// The length of the shortest queue that keeps fibres.
        threshold: usize,
    },
}

named_choice! {
    /// Which of the fibres that are ready at a processor runs first.
    ///
    /// Fibres of higher priority do, but every 64th time the lowest does, so that nothing starves.
    /// A fibre keeps its priority for its life. Source: thesis, section 3.2.2.
    ///
    /// ```
    /// use fibre::Priority;
    ///
    /// assert_eq!("high".parse(), Ok(Priority::High));
    /// assert_eq!(Priority::default().to_string(), "normal");
    /// ```
    #[non_exhaustive]
    #[derive(Default)]
    pub enum Priority, "a priority" {
        /// Before the others.
        High = "high",
        /// The priority of fibres that were given none.
        #[default]
        Normal = "normal",
        /// After the others.
        Low = "low",
    }
}

impl Stealing {
    /// What a text may be.
    pub(crate) const FORMS: Names = Names(&[
        "transient",
        "sticky:N, with N the shortest queue to keep fibres from",
    ]);
}

impl fmt::Display for Stealing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Transient => f.write_str("transient"),
            Self::Sticky { threshold } => write!(f, "sticky:{threshold}"),
        }
    }
}

impl FromStr for Stealing {
    type Err = UnknownChoice;

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
        .ok_or(UnknownChoice::new("stealing", Self::FORMS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_stealing_are_parsed() {
        for value in [Stealing::Transient, Stealing::Sticky { threshold: 17 }] {
            assert_eq!(value.to_string().parse(), Ok(value));
        }
        for text in ["", "sticky", "sticky:", "sticky:-1", "transient:1"] {
            assert!(text.parse::<Stealing>().is_err(), "{text}");
        }
    }
}
