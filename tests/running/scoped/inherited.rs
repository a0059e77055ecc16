//! Everything that is started sees what is bound where it is started.

use super::support::{Latch, eventually};
use super::{OTHER, REQUEST, for_all_clusters, numbers};

use fibre::activity::{Activity, Work};
use fibre::channel::{Sender, unbounded};
use fibre::{Builder, Cluster, Restarts, ScopedBindings};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What a fibre sees if 7 and 8 are bound for its starter.
const BOTH: (Option<u64>, Option<u64>) = (Some(7), Some(8));

/// Calls `f` with both numbers bound.
fn with_both<R>(f: impl FnOnce() -> R) -> R {
    REQUEST.with(7, || OTHER.with(8, f))
}

/// However a fibre is spawned, it inherits, and so do its own.
#[test]
fn every_spawn_inherits() {
    for_all_clusters(|cluster| {
        with_both(|| {
            let nested = || fibre::spawn(|| fibre::spawn(numbers).join().unwrap());
            assert_eq!(nested().join().unwrap(), BOTH);
            assert_eq!(fibre::spawn_now(numbers).join().unwrap(), BOTH);
            let builder = || Builder::new().name("named").stack_size(128 << 10);
            assert_eq!(builder().spawn(numbers).unwrap().join().unwrap(), BOTH);
            let eager = builder().eager_stack().spawn_in(cluster, numbers);
            assert_eq!(eager.unwrap().join().unwrap(), BOTH);
            assert_eq!(cluster.spawn(numbers).join().unwrap(), BOTH);
            let scoped = fibre::scope(|scope| scope.spawn(numbers).join().unwrap());
            assert_eq!(scoped, BOTH);
        });
        assert_eq!(fibre::spawn(numbers).join().unwrap(), (None, None));
    });
}

/// A fibre of another cluster inherits, as do those that a plain thread spawns.
#[test]
fn other_clusters_and_threads_inherit() {
    let other = Cluster::builder().processors(2).build().unwrap();
    let there = other.clone();
    for_all_clusters(move |_| {
        let seen = with_both(|| there.spawn(|| (numbers(), fibre::spawn(numbers).join().unwrap())));
        assert_eq!(seen.join().unwrap(), (BOTH, BOTH));
    });
    let there = other.clone();
    let thread = std::thread::spawn(move || {
        with_both(|| there.spawn(numbers).join().unwrap()) == BOTH
            && there.spawn(numbers).join().unwrap() == (None, None)
    });
    assert!(thread.join().unwrap());
    other.stop();
}

/// Groups, also where a fibre restarts.
#[test]
fn groups_inherit() {
    for_all_clusters(|_| {
        let seen = with_both(|| {
            fibre::group(|group| {
                (0..3).for_each(|_| group.spawn(|| Ok::<_, ()>(numbers())));
                Ok(group.results().collect::<Vec<_>>())
            })
        });
        assert_eq!(seen, Ok(vec![BOTH; 3]));
        let lives = Arc::new(Mutex::new(Vec::new()));
        let all = Arc::clone(&lives);
        let ended = with_both(|| {
            fibre::group(|group| {
                let restarts = Restarts::new(3, Duration::from_secs(60));
                let restarts = restarts.backoff(Duration::ZERO, Duration::ZERO);
                group.spawn(move || {
                    restarts.run(|| {
                        let mut all = all.lock().unwrap();
                        all.push(numbers());
                        if all.len() < 3 { Err(()) } else { Ok(()) }
                    })
                });
                Ok(group.results().count())
            })
        });
        assert_eq!((ended, &*lives.lock().unwrap()), (Ok(1), &vec![BOTH; 3]));
    });
}

/// The closures that run elsewhere while the caller waits, and what these spawn.
#[test]
fn compute_and_blocking_see_what_their_caller_sees() {
    for_all_clusters(|_| {
        let both = || (numbers(), fibre::spawn(numbers).join().unwrap());
        let seen = with_both(|| {
            let within = Duration::from_secs(60);
            [
                fibre::compute(both),
                fibre::compute_within(within, both).unwrap(),
                fibre::blocking(both),
                fibre::blocking(|| REQUEST.with(7, both)),
            ]
        });
        assert_eq!(seen, [(BOTH, BOTH); 4]);
        // The same thread of the pool very likely, and the same processor.
        assert_eq!(fibre::blocking(numbers), (None, None));
        assert_eq!(fibre::compute(numbers), (None, None));
        let panics = || with_both(|| fibre::blocking(|| std::panic::panic_any(numbers())));
        let payload = std::panic::catch_unwind(panics).unwrap_err();
        assert_eq!(payload.downcast_ref(), Some(&BOTH));
        assert_eq!(fibre::blocking(numbers), (None, None));
    });
}

/// A fibre keeps what it has inherited when the call that has bound it has long ended.
#[test]
fn detached_fibres_outlive_the_call() {
    for_all_clusters(|_| {
        let (latch, (tell, told)) = (Latch::new(), unbounded());
        with_both(|| {
            for _ in 0..10 {
                let (latch, tell) = (Arc::clone(&latch), tell.clone());
                fibre::spawn(move || {
                    latch.wait();
                    let later = fibre::spawn(numbers).join().unwrap();
                    tell.send((numbers(), later)).unwrap();
                });
            }
        });
        assert_eq!(numbers(), (None, None));
        latch.open();
        drop(tell);
        let seen: Vec<_> = told.into_iter().collect();
        assert_eq!(seen, [(BOTH, BOTH); 10]);
    });
}

/// All that is bound can be bound elsewhere, or nothing.
#[test]
fn bindings_can_be_taken_along() {
    for_all_clusters(|_| {
        assert!(ScopedBindings::current().is_none() && ScopedBindings::default().is_none());
        let bindings = with_both(ScopedBindings::current);
        let copy = bindings.clone();
        let thread = std::thread::spawn(move || {
            let before = numbers();
            (
                before,
                copy.with(|| (numbers(), fibre::spawn(numbers).join().unwrap())),
                numbers(),
            )
        });
        let seen = fibre::blocking(|| thread.join()).unwrap();
        assert_eq!(seen, ((None, None), (BOTH, BOTH), (None, None)));
        let exactly = REQUEST.with(1, || bindings.with(|| OTHER.with(9, numbers)));
        assert_eq!(exactly, (Some(7), Some(9)));
        let none = || ScopedBindings::none().with(|| (numbers(), fibre::spawn(numbers)));
        let (here, there) = with_both(none);
        assert_eq!((here, there.join().unwrap()), ((None, None), (None, None)));
    });
}

/// Tells what is bound in each run.
struct Teller(Sender<(Option<u64>, Option<u64>)>);

impl Work for Teller {
    fn run(this: &Activity<Self>) {
        this.0.send(numbers()).unwrap();
        // What it binds itself ends with the call.
        let own = with_both(|| (numbers(), fibre::spawn(numbers).join().unwrap()));
        assert_eq!(own, (BOTH, BOTH));
    }
}

/// A run of an activity is on behalf of nobody: whoever makes it, or schedules it.
#[test]
fn runs_of_activities_begin_without_any() {
    for_all_clusters(|_| {
        let (tell, told) = unbounded();
        let activity = with_both(|| Activity::new(None, Teller(tell))).unwrap();
        for _ in 0..3 {
            with_both(|| activity.schedule()).unwrap();
            assert_eq!(told.recv(), Ok((None, None)));
            eventually(|| activity.is_idle());
        }
    });
}
