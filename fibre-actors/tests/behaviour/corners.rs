//! Corners in which something was lost once.

use crate::support::{each, watchdog::watched};
use fibre::Cluster;
use fibre::channel::unbounded;
use fibre::sync::{Event, Semaphore};
use fibre_actors::{Actor, ActorRef, Actors, AskError, Context, ExitReason, Reply, Timer};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A timer that is always due leaves time for what it sends.
#[test]
fn a_short_period_keeps_nobody() {
    struct Hurried {
        timer: Option<Timer>,
        handled: Arc<AtomicUsize>,
    }
    impl Actor for Hurried {
        type Message = ();
        fn started(&mut self, context: &mut Context<'_, Self>) {
            self.timer = Some(context.every(Duration::from_nanos(1), ()));
        }
        fn handle(&mut self, (): (), _: &mut Context<'_, Self>) {
            self.handled.fetch_add(1, Ordering::SeqCst);
        }
    }
    watched(|| {
        let builder = Actors::builder().processors(1);
        let alone = builder.cluster(|cluster| cluster.max_spare_processors(0));
        let actors = alone.build().unwrap();
        let handled = Arc::new(AtomicUsize::new(0));
        let hurried = actors.spawn(Hurried {
            timer: None,
            handled: Arc::clone(&handled),
        });
        let began = Instant::now();
        while handled.load(Ordering::SeqCst) < 100 {
            assert!(began.elapsed() < Duration::from_secs(5), "starved");
            thread::sleep(Duration::from_millis(1));
        }
        drop(hurried);
        actors.stop();
    });
}
