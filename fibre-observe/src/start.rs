//! What begins with the first cluster, as the environment says.

use crate::metrics::Metrics;
use crate::output::write_error;
use crate::{server, settings, trace};
use fibre_core::internal::{on_first_cluster, switch, variable};
use fibre_core::is_forked_child;
use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::time::Duration;

/// How long standard error may take a piece of what is written at the process' end.
const PATIENCE: Duration = Duration::from_secs(1);

/// Observes the process as `FIBRE_STATS`, `FIBRE_SCHEDTRACE`, `FIBRE_METRICS` and `FIBRE_DEBUG`
/// say, from the start of its first cluster on. Does nothing when it is called again. May be called
/// before `main`.
pub fn observe_as_told() {
    on_first_cluster(begin);
}

/// Begins. The environment has been checked.
fn begin() {
    if is_forked_child() {
        return;
    }
    if variable::<String>("FIBRE_DEBUG").is_some() {
        settings::report();
    }
    if switch("FIBRE_STATS") == Some(true) {
        // SAFETY: a function that does not unwind. Without room for it there are no totals.
        let _ = unsafe { libc::atexit(at_exit) };
    }
    if let Some(milliseconds) = variable::<NonZeroU64>("FIBRE_SCHEDTRACE") {
        trace::trace(Duration::from_millis(milliseconds.get()));
    }
    if let Some(address) = variable::<SocketAddr>("FIBRE_METRICS") {
        server::serve(address);
    }
}

/// Writes the totals when the process exits. Other threads may run meanwhile.
extern "C" fn at_exit() {
    if !is_forked_child() {
        write_error(&Metrics::counters().to_string(), PATIENCE);
    }
}
