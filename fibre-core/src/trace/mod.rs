//! The event trace: what processors do, recorded while they do it.
//!
//! With `FIBRE_TRACE` each processor has a ring of its newest events, and writes there which fibre
//! it runs, why that leaves, and which fibres it makes ready. A layer above reads the rings at any
//! time, from any thread; it stops nothing, and needs no processor for it.
//!
//! Without `FIBRE_TRACE` this costs fibres nothing. The run loop has a twin that records
//! (`processor/run_loop.rs`), and each processor chooses one when it starts. Wake-ups are recorded
//! on the path that leaves the simple rules of ready queues ([`ready`](crate::ready)): these never
//! hold while events are recorded.
//!
//! Files:
//!
//! * `clock`: the clock that stamps events;
//! * `event`: what an event is, in 16 bytes;
//! * `ring`: the newest events of one writer;
//! * `track`: the ring of one processor, or that of all plain threads;
//! * `names`: names of fibres;
//! * `record`: the process's recording: whether it is on, and all tracks.

mod clock;
mod event;
mod names;
mod record;
pub mod ring;
mod track;

pub use clock::TraceClock;
pub use event::TraceKind;
pub(crate) use event::of_rescue;
pub use names::trace_names;
pub(crate) use names::{forget_name, keep_name};
pub(crate) use record::{are_spawns_noted, begin, is_on, new_track, note_spawns, on_plain_thread};
pub use record::{trace_clock, trace_setting, trace_tracks};
pub use track::TraceTrack;
pub(crate) use track::{TracePhase, Track};
