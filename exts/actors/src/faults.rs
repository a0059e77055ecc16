//! The faults that models plant in this crate.
//!
//! Shipped code asks [`planted`](fibre_core::sync::planted) for one of these names, and a model
//! plants it by the same name.

fibre_core::faults! {
    inbox {
        /// A sender schedules an actor that is active already.
        SCHEDULES_AN_ACTIVE_ACTOR,
        /// An activation that finds nothing gives the lock back before it says that it is idle.
        RESTS_WITHOUT_THE_LOCK,
        /// The drop of the last reference schedules nobody.
        LAST_REFERENCE_SCHEDULES_NOBODY,
        /// The last reference counts as gone though a timer is pending.
        FORGETS_TIMERS,
        /// A taker leaves the room that it has made to nobody.
        LEAVES_ROOM_TO_NOBODY,
        /// Closing leaves the senders that wait for room asleep.
        CLOSING_FORGETS_SENDERS,
        /// A sender that gives up loses its message.
        GIVING_UP_LOSES_THE_MESSAGE,
        /// A message counts as handled when it has been taken.
        TAKEN_COUNTS_AS_HANDLED,
        /// A message is accepted while the actor ends.
        ACCEPTS_AT_THE_END,
    }
}
