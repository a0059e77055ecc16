//! Selections among anything that can be waited for. Those among channels only are in
//! `tests/objects/sync`.
//!
//! | file     | what it is about                                                                |
//! |----------|---------------------------------------------------------------------------------|
//! | `table`  | every kind of arm: it wins, it loses without losing anything, it is given up     |
//! | `things` | the kinds                                                                       |
//! | `time`   | moments and ticks, and what they are in a cancelled fibre or a time-out          |
//! | `syntax` | patterns, guards, ends, and what bodies may do                                  |
//! | `fair`   | which of several ready arms is chosen                                           |
//! | `groups` | a group's results and end                                                       |
//! | `random` | random selections over mixed arms, with exact accounts                          |

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]
#![allow(
    clippy::cognitive_complexity,
    reason = "what the macro expands to is counted, too"
)]

mod fair;
mod groups;
mod random;
mod syntax;
mod table;
mod things;
mod time;
