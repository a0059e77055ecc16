//! The end of a cluster with fibres that began to wait before it had more than one processor.

use super::{Kind, kinds};
use crate::support::{Drops, Latch, eventually, until_waiting, watched};
use fibre::sync::Semaphore;
use fibre::{Builder, WaitKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Fibres that began to wait while their processor was the only one are unwound there, or where
/// they have gone since.
#[test]
fn a_cluster_that_has_grown_unwinds_what_waited_before() {
    /// How many fibres wait.
    const CROWD: usize = 200;
    /// The second limit: half of it passes before fibres are unwound.
    const PATIENT: Duration = Duration::from_secs(2);

    watched(|| {
        for (kind, _) in kinds()
            .into_iter()
            .filter(|(_, processors)| *processors == 1)
        {
            let (cluster, drops) = (kind.cluster(1), Drops::new());
            let turn = Arc::new(Semaphore::new(0));
            let turns = Arc::new(AtomicUsize::new(0));
            let spawn = |_| {
                let (value, turn, turns) = (drops.value(), Arc::clone(&turn), Arc::clone(&turns));
                let takes = move || {
                    let _value = value;
                    loop {
                        turn.acquire();
                        turns.fetch_add(1, Ordering::SeqCst);
                    }
                };
                cluster.spawn(takes).id()
            };
            let crowd: Vec<_> = (0..CROWD).map(spawn).collect();
            until_waiting(WaitKind::Semaphore, &crowd);
            cluster.add_processors(2).unwrap();
            // The first processor is kept from its fibres, so others take what is ready there.
            let (stuck, free) = (Latch::new(), Latch::new());
            let (is_stuck, until) = (Arc::clone(&stuck), Arc::clone(&free));
            let blocks = move || {
                is_stuck.open();
                until.wait();
            };
            let blocked = Builder::new().on_processor(0).spawn_in(&cluster, blocks);
            stuck.wait();
            turn.release_many(CROWD / 2);
            let moves = !matches!(kind, Kind::Stay);
            if moves {
                eventually(|| turns.load(Ordering::SeqCst) == CROWD / 2);
            }
            free.open();
            blocked.unwrap().join().unwrap();
            cluster.stop_within(Duration::ZERO, PATIENT).unwrap();
            assert_eq!(drops.count(), CROWD, "{kind:?}");
            assert_eq!(turns.load(Ordering::SeqCst), CROWD / 2);
        }
    });
}
