//! What the environment asks for.

use crate::metrics::Metrics;
use crate::metrics::{schedtrace, server};
use crate::output::write_error_within;
use fibre_core::internal::{switch, variable};
use fibre_core::is_forked_child;
use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::time::Duration;

/// How long standard error may take a piece of what is written at the process's end.
const TIMEOUT: Duration = Duration::from_secs(1);

/// Begins what `FIBRE_STATS`, `FIBRE_SCHEDTRACE` and `FIBRE_METRICS` ask for. The environment has
/// been checked.
pub(crate) fn begin() {
    if switch("FIBRE_STATS") == Some(true) {
        // SAFETY: a function that does not unwind. Without room for it there are no totals.
        let _ = unsafe { libc::atexit(at_exit) };
    }
    if let Some(milliseconds) = variable::<NonZeroU64>("FIBRE_SCHEDTRACE") {
        schedtrace::begin(Duration::from_millis(milliseconds.get()));
    }
    if let Some(address) = variable::<SocketAddr>("FIBRE_METRICS") {
        server::serve(address);
    }
}

/// Writes the totals when the process exits. Other threads may run meanwhile.
extern "C" fn at_exit() {
    if !is_forked_child() {
        write_error_within(&Metrics::counters().to_string(), TIMEOUT);
    }
}
