//! Calls that block a kernel thread, made by fibres.
//!
//! Files, name look-ups and foreign libraries block whole threads. They run on a
//! cluster of their own (the thesis' disk cluster, section 3.4.1), whose
//! processors may block; only the closure goes there, the fibre waits where it is.

use crate::cluster::{Cluster, LazyCluster};
use crate::fibre::Attributes;
use crate::policy::Placement;
use crate::processor::in_fibre;
use crate::topology::Pinning;
use std::io;
use std::panic::resume_unwind;

/// Processors of the disk cluster: how many such calls go on at once.
const DISK_PROCESSORS: usize = 8;

/// Runs `f`, which may block its kernel thread, away from the caller's processor.
/// Blocks the fibre until `f` returns. On a thread that is no fibre, just calls `f`.
///
/// Eight such calls go on at once; more wait for their turn. `f` runs as a fibre of the
/// cluster for such calls, and so does what it spawns.
///
/// ```
/// let fibre = fibre_core::spawn(|| fibre_core::blocking(|| std::fs::read_dir("/").is_ok()));
/// assert!(fibre.join().unwrap());
/// ```
///
/// # Panics
///
/// With the panic of `f`; or if the threads cannot be started.
pub fn blocking<F, R>(f: F) -> R
where
    F: FnOnce() -> R + Send,
    R: Send,
{
    if !in_fibre() {
        return f();
    }
    let handle = disk_cluster().and_then(|cluster| {
        // SAFETY: joined before this function returns or unwinds.
        unsafe { cluster.try_spawn_unchecked(Attributes::default(), f) }
    });
    match handle.map(crate::join::JoinHandle::join) {
        Ok(Ok(value)) => value,
        Ok(Err(payload)) => resume_unwind(payload),
        Err(error) => panic!("cannot start the threads for blocking calls: {error}"),
    }
}

/// The cluster, started when first needed.
fn disk_cluster() -> io::Result<&'static Cluster> {
    static DISK: LazyCluster = LazyCluster::new();
    DISK.get(|| {
        Cluster::builder()
            .processors(DISK_PROCESSORS)
            .name("fibre-disk")
            // Each closure may block its processor for long: whoever is free takes the next.
            .placement(Placement::Staging)
            .pin(Pinning::None)
            // They are fibres of the runtime's, one for each of the user's at most.
            .max_fibres(usize::MAX)
            .build()
    })
}
