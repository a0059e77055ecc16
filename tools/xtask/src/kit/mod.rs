//! Faults planted in a copy of the sources, and how many schedules of the test kit find each: what
//! the lane `kit` is made of.
//!
//! * [`history`]: faults that fibre once had, as changes of its text.
//! * [`tree`]: a copy of the workspace with those, with the faults that models plant, and with
//!   mutants; and the kit's example `objects` built of it.
//! * [`trial`]: runs the scenarios of that example that come to a fault.
//! * [`page`]: what came of it, for people.

pub(crate) mod history;
pub(crate) mod page;
pub(crate) mod tree;
pub(crate) mod trial;
