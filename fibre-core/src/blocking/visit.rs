//! The disk cluster as the thesis has it: the fibre itself goes there, and comes back.

use crate::cluster::{Cluster, ClusterBuilder, LazyCluster, visit};
use crate::config::policy::{Placement, StealOrder};
use crate::processor::in_fibre;
use crate::topology::Pinning;
use std::io;

/// Calls `f`, which may block its kernel thread, with the calling fibre on another thread: unlike
/// [`blocking`](crate::blocking()), `f` is called by the fibre, on its own stack and with its own
/// fibre-local values, and may block the fibre, too. Blocks the fibre until it is back. On a thread
/// that is no fibre, just calls `f`.
///
/// For fibres of clusters that move started fibres. Their builders have promised that nothing is
/// kept meanwhile that belongs to a kernel thread, or is not `Send`. The fibres go to the
/// processors of a cluster of their own. It grows by one when all are taken, up to 64
/// (`FIBRE_MAX_PROCESSORS`), and does not shrink, as timers, descriptors and fibres may have come
/// to belong to a processor; an idle one costs some pages and no time. What `f` spawns runs there,
/// too. The fibre's own cluster counts it meanwhile, and is not over before the fibre is back.
///
/// Each way is a wait in a queue and a wake-up, so this costs more than
/// [`blocking`](crate::blocking()).
///
/// Source: thesis, section 3.4.1.
///
/// ```
/// // SAFETY: the fibre below keeps nothing that belongs to a kernel thread.
/// let cluster = unsafe { fibre::Cluster::builder().move_started_fibres() }.build()?;
/// let fibre = cluster.spawn(|| {
///     fibre::blocking_visit(|| std::fs::read_dir("/").is_ok())
/// });
/// assert!(fibre.join().unwrap()?);
/// cluster.stop();
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// If the fibre may not move, as with [`migrate_to`](crate::migrate_to); or the cluster cannot be
/// started. Then `f` has not been called.
///
/// # Panics
///
/// With the panic of `f`, after the fibre is back.
pub fn blocking_visit<R>(f: impl FnOnce() -> R) -> io::Result<R> {
    if !in_fibre() {
        return Ok(f());
    }
    let disk = disk_cluster()?;
    visit(disk, || grow(disk), f)
}

/// The cluster, started when first needed.
fn disk_cluster() -> io::Result<&'static Cluster> {
    static DISK: LazyCluster = LazyCluster::new();
    DISK.get(chosen)
}

/// What such a cluster is started with.
fn chosen() -> io::Result<ClusterBuilder> {
    let builder = Cluster::builder()
        .processors(1)
        .blocks()
        .name("fibre-visited")
        // A free processor takes the next fibre.
        .placement(Placement::Staging)
        // Also the fibres that a blocked processor has taken before.
        .steal_order(StealOrder::LongestBusy)
        .pin(Pinning::None)
        .max_fibres(usize::MAX)
        // The cluster grows by itself.
        .max_spare_processors(0);
    // SAFETY: its fibres are those of clusters with builders that have promised it.
    Ok(unsafe { builder.move_started_fibres() })
}

/// Adds a processor if there are more fibres than processors, and there is room.
fn grow(disk: &Cluster) {
    if disk.live() > disk.processors() {
        // Without it the fibre waits for its turn.
        let _ = disk.add_processors(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::sync::mpsc::channel;
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    /// Visitors that block their threads: some of them that of the first processor.
    const BLOCKED: usize = 8;

    /// A visitor that has waited since there was one processor is not bound to that one, which may
    /// be blocked by a fibre that only the visitor can help.
    #[test]
    fn who_waits_there_goes_on_beside_those_who_block() {
        let there = chosen().unwrap().build().unwrap();
        // SAFETY: the fibres below keep nothing that belongs to a kernel thread across a wait.
        let home = unsafe { Cluster::builder().processors(2).move_started_fibres() };
        let home = home.build().unwrap();
        let go = Arc::new(AtomicBool::new(false));
        let blocked = Arc::new(AtomicUsize::new(0));
        let (feed, eat) = channel();
        let eat = Arc::new(Mutex::new(eat));
        let (say, heard) = channel();
        let helper = {
            let (go, there, aside) = (Arc::clone(&go), there.clone(), home.clone());
            home.spawn(move || {
                let in_time = move || {
                    let gone = move || {
                        while !go.load(Ordering::Acquire) {
                            crate::sleep(Duration::from_micros(100));
                        }
                    };
                    aside.spawn(gone).join().unwrap();
                    (0..BLOCKED).for_each(|_| feed.send(()).unwrap());
                };
                visit(&there, || grow(&there), in_time).unwrap();
            })
        };
        std::thread::sleep(Duration::from_millis(5));
        for _ in 0..BLOCKED {
            let (eat, blocked, say) = (Arc::clone(&eat), Arc::clone(&blocked), say.clone());
            let there = there.clone();
            home.spawn(move || {
                let block = || {
                    blocked.fetch_add(1, Ordering::Relaxed);
                    eat.lock().unwrap().recv().unwrap();
                };
                visit(&there, || grow(&there), block).unwrap();
                say.send(()).unwrap();
            });
        }
        while blocked.load(Ordering::Relaxed) < BLOCKED {
            std::thread::yield_now();
        }
        go.store(true, Ordering::Release);
        for _ in 0..BLOCKED {
            heard.recv_timeout(Duration::from_secs(20)).unwrap();
        }
        helper.join().unwrap();
        home.stop();
        there.stop();
    }
}
