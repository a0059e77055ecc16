//! What begins with the first cluster of the process.

use crate::metrics::start;
use crate::signal::{overflow, quit};
use crate::{gdb, settings, trace, watch};
use fibre_core::internal::on_first_cluster;
use fibre_core::is_forked_child;

/// Sets up what the environment asks for, from the start of the first cluster on. On SIGQUIT the
/// process writes a dump, unless the program handles that signal or has chosen to ignore it, or
/// `FIBRE_QUIT` says otherwise. It writes its event trace as `FIBRE_TRACE` says, watches for what
/// `FIBRE_MONITOR` and `FIBRE_DEADLOCK` name, and reports what `FIBRE_DEBUG`, `FIBRE_STATS`,
/// `FIBRE_SCHEDTRACE` and `FIBRE_METRICS` name. The report of a stack overflow has the innermost
/// calls. A program that calls this function contains the script for gdb. Further calls do nothing.
/// May be called before `main`.
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
