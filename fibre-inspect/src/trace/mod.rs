//! The event trace of the process: when it is written, where to, and how.
//!
//! The core records events in rings, one for each processor (`FIBRE_TRACE`). Writing them stops
//! nothing and needs no processor: a thread of the process, `fibre-trace`, does it when SIGUSR2
//! comes, the watch does it after a report, and a program may call [`write_trace`].
//!
//! Files:
//!
//! * `format`: the form, which the tool `fibre-trace` reads;
//! * `file`: the file, and the messages about it;
//! * `begin`: the signal, and the end of the process.

mod begin;
mod file;
mod format;

pub(crate) use begin::begin;
pub(crate) use file::write_after_report;
pub use format::write_trace;
