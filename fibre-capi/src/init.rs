//! The cluster that C programs run in: made when first needed, as the environment has it.
//!
//! It is the default cluster of the process, so plain threads, I/O included, share it. Started fibres
//! move between its processors, as those of the thesis do; `FIBRE_MOVES=never` undoes that.

use fibre_core::{Cluster, ClusterBuilder};
use std::io;
use std::time::Duration;

/// Bytes of a fibre's stack, unless the program or `FIBRE_STACK_SIZE` says otherwise. C programs are used to
/// megabytes; what is not touched costs nothing but addresses.
const STACK_SIZE: usize = 1 << 20;

/// How often it is looked whether fibres are left.
const PATIENCE: Duration = Duration::from_millis(1);

/// The cluster of fibres whose creator is no fibre and has chosen none. Blocks the thread while it is started.
///
/// # Errors
///
/// When its threads cannot be started; and in a forked child.
#[inline]
pub fn cluster() -> io::Result<&'static Cluster> {
    Cluster::default_cluster_or(builder)
}

/// What C programs run in, unless they say otherwise.
pub fn builder() -> ClusterBuilder {
    let builder = Cluster::builder();
    let builder = match std::env::var_os("FIBRE_STACK_SIZE") {
        None => builder.stack_size(STACK_SIZE),
        Some(_) => builder,
    };
    // SAFETY: C programs promise it by using the library, whose header makes `errno` a call and whose
    // documentation says what becomes of thread-locals; nothing of ours is held across a switch.
    unsafe { builder.move_started_fibres() }
}

/// Waits until all fibres of the default cluster have ended. Blocks the thread.
pub fn wait_for_all() {
    // If it cannot be started, there are none.
    let Ok(cluster) = cluster() else { return };
    while cluster.live() > 0 {
        fibre_core::sleep(PATIENCE);
    }
}
