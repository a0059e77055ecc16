//! What begins with the first cluster of the process.

use crate::metrics::start;
use crate::signal::{overflow, quit};
use crate::{gdb, settings, trace, watch};
use fibre_core::internal::on_first_cluster;
use fibre_core::is_forked_child;

/// From the start of the first cluster on, has the process write a dump when it gets SIGQUIT,
/// unless the program handles that signal or has chosen to ignore it, or `FIBRE_QUIT` says
/// otherwise; write its event trace as `FIBRE_TRACE` says; watch for what `FIBRE_MONITOR` and
/// `FIBRE_DEADLOCK` ask for; and tell what `FIBRE_DEBUG`, `FIBRE_STATS`, `FIBRE_SCHEDTRACE` and
/// `FIBRE_METRICS` ask for. A stack that is used up is reported with its innermost calls. A
/// program that calls it has the script for gdb. Does nothing when it is called again. May be
/// called before `main`.
pub fn begin_with_first_cluster() {
    gdb::keep();
    quit::keep();
    overflow::begin();
    on_first_cluster(|| {
        quit::begin();
        trace::begin();
        watch::begin();
        if !is_forked_child() {
            settings::begin();
            start::begin();
        }
    });
}
