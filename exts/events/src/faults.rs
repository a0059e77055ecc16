//! The faults that models plant in this crate.
//!
//! Shipped code asks [`planted`](fibre_core::sync::planted) for one of these names, and a model
//! plants it by the same name.

fibre_core::faults! {
    scheduler {
        /// A thief makes itself the home, and lets nobody rely on what it did before.
        LEAVES_IN_DISORDER,
        /// A poster does not look again whether the colour is still where it was.
        TRUSTS_THE_OLD_HOME,
        /// A thief forgets the events that were posted while the colour was under way.
        FORGETS_EARLY_EVENTS,
        /// A thief puts events that were posted while the colour was under way before the others.
        EARLY_EVENTS_FIRST,
        /// A colour is retired without the lock that posters of new colours hold.
        RETIRES_WITHOUT_THE_SHARD,
        /// A processor that has tried to retire a colour does not look whether too many are left.
        RETIRES_ONCE,
        /// A colour is taken though one of its events runs.
        TAKES_A_RUNNING_COLOUR,
        /// A processor goes to sleep without saying so under its lock.
        SLEEPS_IN_SILENCE,
    }
}
