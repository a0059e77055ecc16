//! What is recorded of clusters with thread-locals of fibres' own. Builds for AddressSanitizer have
//! none.

use super::events::trace_of;
use super::reader::{BLOCK_BORN, BLOCKS_ENDED, RESCUE, THREAD};
use crate::support::eventually;
use fibre::Cluster;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A cluster with two processors and thread-locals of fibres' own. Blocks end with their fibres.
fn wiping() -> Cluster {
    // SAFETY: the fibres of these tests tie no memory to a kernel thread by a system call.
    let builder = unsafe { Cluster::builder().own_thread_locals() };
    builder.processors(2).wipe_stacks(true).build().unwrap()
}

/// Each thread block that has come or gone is told, once.
#[test]
fn thread_blocks_come_and_go() {
    let trace = trace_of("ring:4M", 2, || {
        let cluster = wiping();
        let fibres: Vec<_> = (0..10).map(|_| cluster.spawn(fibre::yield_now)).collect();
        fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
        eventually(|| fibre::metrics().thread_blocks.ended == 10);
        // One was made for the trial before the cluster, by a plain thread.
        let born = fibre::metrics().thread_blocks.born;
        fibre::trace::mark(&format!("born {born}"));
        cluster.stop();
    });
    let events = trace.events();
    let of_kind = |kind| events.iter().filter(move |event| event.kind == kind);
    let ended: u64 = of_kind(BLOCKS_ENDED).map(|event| event.word).sum();
    assert!(ended >= 10, "{ended}");
    let born = of_kind(BLOCK_BORN).count();
    let marks = trace.marks();
    assert!(marks.contains(&format!("born {born}")), "{born}: {marks:?}");
    // Most come and go on processors. Their tracks tell of no thread.
    for event in of_kind(BLOCK_BORN).chain(of_kind(BLOCKS_ENDED)) {
        let track = &trace.tracks[event.track];
        let place = track
            .events
            .iter()
            .position(|it| it.at == event.at && it.kind == event.kind);
        let before = place
            .unwrap()
            .checked_sub(1)
            .map(|at| track.events[at].kind);
        assert_eq!(track.cluster.is_none(), before == Some(THREAD), "{event:?}");
    }
}

/// What is done for a processor that does not switch names that processor.
#[test]
fn rescues_name_the_processor() {
    let trace = trace_of("ring:4M", 2, || {
        let cluster = wiping();
        let over = Arc::new(AtomicBool::new(false));
        let sleeps = |over: Arc<AtomicBool>| {
            while !over.load(Ordering::Relaxed) {
                fibre::sleep(Duration::from_micros(500));
            }
        };
        let mut fibres: Vec<_> = (0..10)
            .map(|_| {
                let over = Arc::clone(&over);
                cluster.spawn(move || sleeps(over))
            })
            .collect();
        let until = Arc::clone(&over);
        fibres.push(cluster.spawn(move || {
            while !until.load(Ordering::Relaxed) {
                let end = Instant::now() + Duration::from_millis(100);
                while !until.load(Ordering::Relaxed) && Instant::now() < end {
                    std::hint::spin_loop();
                }
                fibre::sleep(Duration::from_millis(5));
            }
        }));
        eventually(|| fibre::metrics().totals().rescued_timers > 0);
        over.store(true, Ordering::Relaxed);
        fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
        cluster.stop();
    });
    let events = trace.events();
    let timers: Vec<_> = events
        .iter()
        .filter(|event| event.kind == RESCUE && event.word & 0xf == 1)
        .collect();
    assert!(!timers.is_empty());
    for event in timers {
        let (cluster, processor) = (event.word >> 44, event.word >> 28 & 0xffff);
        let count = event.word >> 4 & 0xff_ffff;
        assert!(cluster > 0 && processor < 2 && count > 0, "{event:?}");
        let track = &trace.tracks[event.track];
        let is_other = track.cluster.is_none() || u64::from(track.processor) != processor;
        assert!(
            is_other,
            "a processor that does not switch records nothing: {event:?}"
        );
    }
}
