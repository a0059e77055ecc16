//! The faults that models plant in this crate.
//!
//! Shipped code asks [`planted`](fibre_core::sync::planted) for one of these names, and a model
//! plants it by the same name.

fibre_core::faults! {
    line {
        /// A reader takes the object though a writer waits for it.
        READER_PASSES_WRITER,
        /// A writer takes the object while readers have it.
        GRANTS_TWICE,
        /// Of a batch of readers that wait, only the first is admitted.
        ADMITS_ONE_READER,
    }
    entry {
        /// A task enters one line after the other, and others enter in between.
        ENTERS_LINES_SEPARATELY,
        /// A task says how many permissions it lacks once it has left the locks.
        COUNTS_LATE,
        /// A task that gives up keeps the permissions that it already has.
        KEEPS_WHEN_WITHDRAWN,
        /// A task that gives up admits nobody in its place.
        WITHDRAWS_SILENTLY,
    }
}
