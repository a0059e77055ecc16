//! What a director decides, on the clock of the machine.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use fibre::sync::{Event, Mutex};
use fibre::{Cluster, SwitchReason, WaitKind, WaitObject};
use fibre_core::internal::{Director, IdleAction};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What a director was told: the fibres that have left their stacks, and for what.
type Left = (u64, SwitchReason, Option<WaitKind>);

/// Takes the fibre that was spawned last, and notes what it is told.
#[derive(Default)]
struct YoungestFirst {
    gives_way: AtomicBool,
    asked: AtomicU64,
    failed: AtomicU64,
    from_outside: AtomicU64,
    left: std::sync::Mutex<Vec<Left>>,
}

impl Director for YoungestFirst {
    fn choose(&self, ready: &[u64]) -> usize {
        let youngest = ready.iter().max().expect("nothing to choose from");
        ready.iter().position(|fibre| fibre == youngest).unwrap()
    }

    fn gives_way(&self) -> bool {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.gives_way.load(Ordering::Relaxed)
    }

    fn draw(&self) -> u32 {
        7
    }

    fn failed_unseen(&self, fibre: u64) {
        self.failed.store(fibre, Ordering::Relaxed);
    }

    fn left(&self, fibre: u64, reason: SwitchReason, awaited: Option<WaitObject>) {
        let kind = awaited.map(WaitObject::kind);
        self.left.lock().unwrap().push((fibre, reason, kind));
    }

    fn woken_from_outside(&self) {
        self.from_outside.fetch_add(1, Ordering::Relaxed);
    }

    fn nothing_ready(&self, _: Option<Instant>) -> IdleAction {
        IdleAction::Sleeps
    }
}

/// Runs a closure as the first fibre of a cluster with this director.
fn directed<T: Send + 'static>(
    director: &Arc<YoungestFirst>,
    f: impl FnOnce() -> T + Send + 'static,
) -> T {
    let director: Arc<YoungestFirst> = Arc::clone(director);
    let cluster = Cluster::builder().processors(4).directed(director);
    let cluster = cluster.build().unwrap();
    assert_eq!(cluster.processors(), 1);
    let result = cluster.spawn(f).join().unwrap();
    cluster.stop();
    result
}

#[test]
fn the_director_chooses_who_runs_next() {
    let order = directed(&Arc::default(), || {
        let order = Arc::new(Mutex::new(Vec::new()));
        let fibres = [1, 2, 3].map(|number| {
            let order = Arc::clone(&order);
            fibre::spawn(move || order.lock().push(number))
        });
        fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
        order.lock().clone()
    });
    assert_eq!(order, [3, 2, 1]);
}

#[test]
fn it_is_asked_at_each_point_while_others_are_ready() {
    for gives_way in [false, true] {
        let director = Arc::new(YoungestFirst::default());
        director.gives_way.store(gives_way, Ordering::Relaxed);
        let before = directed(&director, || {
            let mutex = Mutex::new(0);
            let ran = Arc::new(AtomicBool::new(false));
            (0..10).for_each(|_| *mutex.lock() += 1);
            let sets = Arc::clone(&ran);
            let other = fibre::spawn(move || sets.store(true, Ordering::Relaxed));
            (0..10).for_each(|_| *mutex.lock() += 1);
            let before = ran.load(Ordering::Relaxed);
            other.join().unwrap();
            before
        });
        assert_eq!(before, gives_way);
        let asked = director.asked.load(Ordering::Relaxed);
        assert!(if gives_way { asked >= 1 } else { asked >= 10 }, "{asked}");
    }
}

#[test]
fn it_is_told_why_fibres_leave_their_stacks() {
    let director = Arc::new(YoungestFirst::default());
    let [root, other] = directed(&director, || {
        let event = Arc::new(Event::new());
        let waits = Arc::clone(&event);
        let other = fibre::spawn(move || {
            waits.wait();
            fibre::id()
        });
        fibre::yield_now();
        event.set();
        [fibre::id(), other.join().unwrap()].map(Option::unwrap)
    });
    let left = director.left.lock().unwrap().clone();
    let of = |fibre| left.iter().filter(move |left| left.0 == fibre);
    let reasons: Vec<_> = of(other).map(|&(_, reason, kind)| (reason, kind)).collect();
    let waited = (SwitchReason::Waits, Some(WaitKind::Event));
    assert_eq!(reasons, [waited, (SwitchReason::Ends, None)]);
    let reasons: Vec<_> = of(root).map(|&(_, reason, kind)| (reason, kind)).collect();
    let joined = (SwitchReason::Waits, Some(WaitKind::Join));
    let yielded = (SwitchReason::Yields, None);
    assert_eq!(reasons, [yielded, joined, (SwitchReason::Ends, None)]);
}

#[test]
fn deadlines_come_by_the_clock_and_threads_are_told_of() {
    let director = Arc::new(YoungestFirst::default());
    let begun = Instant::now();
    directed(&director, || fibre::sleep(Duration::from_millis(20)));
    assert!(begun.elapsed() >= Duration::from_millis(20));
    let told = Arc::clone(&director);
    directed(&director, move || {
        // The first fibre came from a thread, too.
        let before = told.from_outside.load(Ordering::Relaxed);
        let event = Arc::new(Event::new());
        let sets = Arc::clone(&event);
        let waiting = fibre::spawn(move || event.wait());
        let pinned = fibre::Builder::new().on_processor(0);
        pinned.spawn(|| ()).unwrap().join().unwrap();
        fibre::yield_now();
        assert_eq!(told.from_outside.load(Ordering::Relaxed), before);
        std::thread::spawn(move || sets.set()).join().unwrap();
        waiting.join().unwrap();
        assert!(told.from_outside.load(Ordering::Relaxed) > before);
    });
}

#[test]
fn a_failure_that_nobody_sees_is_told() {
    let director = Arc::new(YoungestFirst::default());
    let id = directed(&director, || {
        let fails = fibre::spawn(|| panic!("for a test"));
        let id = fails.id();
        drop(fails);
        fibre::yield_now();
        id
    });
    assert_eq!(director.failed.load(Ordering::Relaxed), id);
}

/// What was not chosen is in the queue, where a look from outside finds it.
#[test]
fn ready_fibres_are_seen_and_a_stop_within_limits_ends_them() {
    let director: Arc<YoungestFirst> = Arc::default();
    let cluster = Cluster::builder().directed(director).build().unwrap();
    for _ in 0..3 {
        cluster.spawn(|| {
            while !fibre::is_cancelled() {
                fibre::yield_now();
            }
        });
    }
    assert_eq!(cluster.live(), 3);
    cluster
        .stop_within(Duration::ZERO, Duration::from_secs(60))
        .unwrap();
}
