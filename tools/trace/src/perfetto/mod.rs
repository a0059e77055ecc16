//! The history for Perfetto (<https://ui.perfetto.dev>).
//!
//! ```text
//!   the process
//!     processor 0 of "web"     │ fibre 7 │      │ fibre 9 "conn" │ asleep
//!     processor 1 of "web"          │ fibre 8 │──wakes──►│ fibre 7 │
//!     fibres
//!       fibre 7                │ runs    │ waits: mutex   │ ready │ runs │
//! ```
//!
//! Files:
//!
//! * `schema`: the messages of the format;
//! * `packets`: packets one behind the other;
//! * `scene`: what is drawn, and on what track.

mod packets;
mod scene;
mod schema;

pub(crate) use scene::draw;
