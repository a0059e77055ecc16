//! Fibres that their cluster's end unwinds.

use super::{cluster, kinds};
use crate::support::drops::OnDrop;
use crate::support::{Drops, Random, eventually, until_waiting, watched, were_late};
use fibre::channel::{Receiver, Sender, bounded, broadcast, oneshot, unbounded, watch};
use fibre::sync::{Barrier, Condvar, Event, Mutex, Notify, Once, RwLock, Semaphore, WaitGroup};
use fibre::{Cancelled, Cluster, Group, Interval, Limit, WaitKind, select};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Longer than any test takes.
const LONG: Duration = Duration::from_secs(3600);

/// No time at all.
const NOW: Duration = Duration::ZERO;

/// The second limit of tests that have fibres unwound: half of it passes before that.
const PATIENT: Duration = Duration::from_secs(6);

/// Fibres in `cancellable` are unwound when their cluster cancels them, whatever they wait in, and
/// their destructors run; nothing is left behind. Those in a shield are.
#[test]
fn who_is_cancellable_is_unwound() {
    /// What a fibre waits in.
    fn waits(kind: usize) {
        let (never, never_set) = (Semaphore::new(0), Event::new());
        let (_sender, receiver) = fibre::channel::bounded::<u32>(1);
        match kind {
            0 => fibre::sleep(LONG),
            1 => drop(receiver.recv()),
            2 => drop(Some(Interval::new(LONG).tick())),
            3 => never.acquire(),
            4 => fibre::select! {
                _ = receiver.recv_arm() => {},
                _ = never_set.wait_arm() => {},
            },
            _ => {
                let (lock, changed) = (Mutex::new(()), Condvar::new());
                changed.wait(&mut lock.lock());
            }
        }
    }

    watched(|| {
        for (kind, processors) in kinds() {
            let cluster = kind.cluster(processors);
            let drops = Drops::new();
            let ends = Arc::new(WaitGroup::new());
            for kind in 0..6 {
                let (value, ends) = (drops.value(), Arc::clone(&ends));
                ends.add(1);
                cluster.spawn(move || {
                    let ended = fibre::cancellable(|| {
                        let _value = value;
                        waits(kind);
                    });
                    assert_eq!(ended, Err(fibre::Cancelled));
                    ends.done();
                });
            }
            cluster.stop_within(NOW, LONG).unwrap();
            assert_eq!(drops.count(), 6);
            ends.wait();
        }
        let cluster = cluster(1);
        cluster.spawn(|| fibre::cancellable(|| fibre::shield(|| fibre::sleep(LONG))));
        assert_eq!(cluster.stop_within(NOW, NOW).unwrap_err().left.len(), 1);
    });
}

/// Objects of a test, on which the fibres of its clusters wait.
#[derive(Default)]
struct Kept {
    mutex: Mutex<()>,
    rw_lock: RwLock<()>,
    never: Event,
}

/// One call.
type Call = fn(&Kept);

/// Calls that cannot fail, and do not return by themselves while the test holds the locks.
const CALLS: &[(&str, Call)] = &[
    ("sleep", |_| fibre::sleep(LONG)),
    ("sleep for ever", |_| fibre::sleep(Duration::MAX)),
    ("sleep for ever in a time-out that never comes", |_| {
        fibre::timeout(Duration::MAX, || fibre::sleep(Duration::MAX)).unwrap();
    }),
    ("sleep until", |_| fibre::sleep_until(Instant::now() + LONG)),
    ("tick", |_| _ = Interval::new(LONG).tick()),
    ("recv, bounded", |_| {
        let (_sender, receiver) = bounded::<u32>(1);
        let _ = receiver.recv();
    }),
    ("recv, unbounded", |_| {
        let (_sender, receiver) = unbounded::<u32>();
        let _ = receiver.recv();
    }),
    ("recv, in a loop", |_| {
        let (sender, receiver) = bounded::<u32>(8);
        (0..8).for_each(|value| sender.send(value).unwrap());
        receiver.iter().for_each(drop);
    }),
    ("send, full", |_| {
        let (sender, _receiver) = bounded::<u32>(1);
        sender.send(1).unwrap();
        let _ = sender.send(2);
    }),
    ("send, rendezvous", |_| {
        let (sender, _receiver) = bounded::<u32>(0);
        let _ = sender.send(2);
    }),
    ("oneshot", |_| {
        let (_sender, receiver) = oneshot::<u32>();
        let _ = receiver.recv();
    }),
    ("watch", |_| {
        let (_sender, mut receiver) = watch(1);
        let _ = receiver.changed();
    }),
    ("broadcast", |_| {
        let (_sender, mut receiver) = broadcast::<u32>(2);
        let _ = receiver.recv();
    }),
    ("select", |kept| {
        let (_sender, receiver) = bounded::<u32>(1);
        select! {
            _ = receiver.recv_arm() => {},
            _ = kept.never.wait_arm() => {},
        }
    }),
    ("select with a time", |kept| {
        select! {
            _ = kept.never.wait_arm() => {},
            _ = fibre::select::after(LONG) => {},
        }
    }),
    ("lock", |kept| drop(kept.mutex.lock())),
    ("read", |kept| drop(kept.rw_lock.read())),
    ("write", |kept| drop(kept.rw_lock.write())),
    ("acquire", |_| Semaphore::new(0).acquire()),
    ("acquire many", |_| Semaphore::new(2).acquire_many(3)),
    ("condition", |_| {
        let (lock, changed) = (Mutex::new(()), Condvar::new());
        changed.wait(&mut lock.lock());
    }),
    ("barrier", |_| _ = Barrier::new(2).wait()),
    ("event", |kept| kept.never.wait()),
    ("notification", |_| Notify::new().wait()),
    ("jobs", |_| {
        let jobs = WaitGroup::new();
        jobs.add(1);
        jobs.wait();
    }),
    ("join", |_| {
        let _ = fibre::spawn(|| fibre::sleep(LONG)).join().map_err(again);
    }),
    ("initialisation elsewhere", |_| Once::new().wait()),
    ("a future", |_| fibre::block_on(std::future::pending())),
    ("within a time-out", |kept| {
        let _ = fibre::timeout(LONG, || kept.never.wait());
    }),
    ("within two", |_| {
        let inner = || fibre::timeout(LONG, || fibre::sleep(LONG));
        let _ = fibre::timeout(2 * LONG, inner);
    }),
    ("scope", |kept| {
        fibre::scope(|scope| drop(scope.spawn(|| kept.never.wait())))
    }),
    ("scope, joining", |kept| {
        fibre::scope(|scope| _ = scope.spawn(|| kept.never.wait()).join().map_err(again));
    }),
    ("group", |kept| {
        let ended = Group::builder().run(|group| {
            group.spawn(|| {
                kept.never.wait();
                Ok::<_, ()>(())
            });
            Ok(())
        });
        // Its fibre has been unwound; the call itself can fail.
        assert!(ended.is_err());
        kept.never.wait();
    }),
    ("what was caught once", |kept| {
        let caught = catch_unwind(AssertUnwindSafe(|| kept.never.wait()));
        assert!(caught.unwrap_err().is::<Cancelled>());
        kept.never.wait();
    }),
];

/// Goes on with the payload of another fibre.
fn again(payload: Box<dyn std::any::Any + Send>) {
    std::panic::resume_unwind(payload);
}

/// Stops a cluster of each kind and size, at the same time, as half of the limit passes first.
/// `body` fills it, and the function that it returns looks at what has come of that.
fn stop_each<F: FnOnce(Result<(), fibre::StopError>)>(body: impl Fn(&Cluster) -> F + Sync) {
    std::thread::scope(|scope| {
        for (kind, processors) in kinds() {
            let body = &body;
            scope.spawn(move || {
                let cluster = kind.cluster(processors);
                let look = body(&cluster);
                look(cluster.stop_within(NOW, PATIENT));
            });
        }
    });
}

/// Fibres that wait in calls which cannot fail are unwound before they would be left behind: those
/// that wait already, those that begin to wait when they are cancelled, and those that do so later.
#[test]
fn fibres_in_calls_that_cannot_fail_are_unwound() {
    watched(|| {
        stop_each(|cluster| {
            let kept = Arc::new(Kept::default());
            // Held until the cluster has ended.
            std::mem::forget((kept.mutex.lock(), kept.rw_lock.write()));
            let (drops, unwound) = (Drops::new(), Arc::new(Event::new()));
            let mut fibres = Vec::new();
            for &(name, call) in CALLS {
                for before in 0..3 {
                    let (kept, values) = (Arc::clone(&kept), [drops.value(), drops.value()]);
                    let unwound = Arc::clone(&unwound);
                    let fibre = cluster.spawn(move || {
                        let [outer, inner] = values;
                        let _outer = outer;
                        match before {
                            0 => {}
                            1 => drop(fibre::sleep_within(LONG)),
                            _ => fibre::shield(|| unwound.wait()),
                        }
                        let nested = || {
                            let _inner = inner;
                            call(&kept);
                        };
                        nested();
                    });
                    fibres.push((name, before, fibre));
                }
            }
            // Lets those go on that have raised a shield.
            cluster.spawn(move || {
                let _set = OnDrop(|| unwound.set());
                fibre::sleep(LONG);
            });
            move |ended| {
                ended.unwrap();
                assert_eq!(drops.count(), 2 * fibres.len());
                for (name, before, fibre) in fibres {
                    match fibre.join() {
                        Ok(()) => panic!("{name}, {before}: returned"),
                        Err(payload) => assert!(payload.is::<Cancelled>(), "{name}, {before}"),
                    }
                }
                drop(kept);
            }
        });
    });
}

/// All destructors of many fibres run, also those that wait, lock, and spawn.
#[test]
fn destructors_run_once() {
    /// How many fibres.
    const MANY: usize = 250;

    watched(|| {
        stop_each(|cluster| {
            let (drops, sum) = (Drops::new(), Arc::new(Mutex::new(0)));
            for number in 0..MANY {
                let (values, sum) = ((drops.value(), drops.value()), Arc::clone(&sum));
                let late = drops.value();
                cluster.spawn(move || {
                    let mut late = Some(late);
                    let _waits = OnDrop(move || {
                        *sum.lock() += 1;
                        fibre::sleep(Duration::from_micros(10));
                        fibre::yield_now();
                        if number % 2 == 0 {
                            let late = late.take();
                            fibre::spawn(move || {
                                let _late = late;
                                fibre::sleep(LONG);
                            });
                        }
                    });
                    let _first = values.0;
                    let (_sender, receiver) = bounded::<u32>(1);
                    let _second = values.1;
                    if number % 3 == 0 {
                        let _ = fibre::sleep_within(LONG);
                    }
                    let _ = receiver.recv();
                });
            }
            // Keeps a processor busy until then.
            let all = drops.clone();
            cluster.spawn(move || {
                while all.count() < 3 * MANY {
                    fibre::yield_now();
                }
            });
            move |ended| {
                ended.unwrap();
                assert_eq!(drops.count(), 3 * MANY);
                assert_eq!(*sum.lock(), MANY);
            }
        });
    });
}

/// Leaves a fibre that waits for the lock that a condition variable takes again.
fn leave_taking_a_lock_again(leave: &mut impl FnMut(Box<dyn FnOnce() + Send>)) {
    let (mutex, changed) = (Arc::new(Mutex::new(())), Arc::new(Condvar::new()));
    let (other, notified) = (Arc::clone(&mutex), Arc::clone(&changed));
    let waiting = Arc::new(AtomicBool::new(false));
    let is_waiting = Arc::clone(&waiting);
    leave(Box::new(move || {
        let mut guard = other.lock();
        is_waiting.store(true, Ordering::SeqCst);
        notified.wait(&mut guard);
    }));
    eventually(|| waiting.load(Ordering::SeqCst) && mutex.try_lock().is_some());
    std::mem::forget(mutex.lock());
    changed.notify_one();
}

/// Spawns a fibre that is unwound, catches it, and panics. The panic is not reported, since it
/// comes to the fibre's root. Drops two values.
fn spawn_one_that_panics_in_the_end(cluster: &Cluster, drops: &Drops) {
    let others = [drops.value(), drops.value()];
    cluster.spawn(move || {
        let [first, second] = others;
        let _first = first;
        let panics = || {
            let _second = second;
            fibre::sleep(LONG);
        };
        let caught = catch_unwind(AssertUnwindSafe(panics));
        assert!(caught.is_err());
        std::panic::resume_unwind(Box::new("on purpose"));
    });
}

/// Fibres that must not be unwound are left behind, and named; the others are unwound nonetheless.
#[test]
fn fibres_that_must_not_be_unwound_are_left_behind() {
    watched(|| {
        stop_each(|cluster| {
            let (drops, never) = (Drops::new(), Arc::new(Event::new()));
            let mut left = Vec::new();
            let mut leave = |body: Box<dyn FnOnce() + Send>| {
                let value = drops.value();
                let fibre = cluster.spawn(move || {
                    let _value = value;
                    body();
                });
                left.push(fibre.id());
            };
            let waits = || {
                let never = Arc::clone(&never);
                move || never.wait()
            };
            let wait = waits();
            leave(Box::new(move || fibre::shield(wait)));
            leave(Box::new(|| fibre::shield(|| fibre::sleep(LONG))));
            // A destructor under way.
            let mut wait = Some(waits());
            leave(Box::new(move || {
                let _waits = OnDrop(|| wait.take().unwrap()());
                fibre::sleep(LONG);
            }));
            // An initialiser, and the lock that a condition variable takes again.
            let wait = waits();
            leave(Box::new(move || Once::new().call_once(wait)));
            leave_taking_a_lock_again(&mut leave);
            // One that swallows the payload, again and again.
            let caught = Arc::new(AtomicUsize::new(0));
            let (count, wait) = (Arc::clone(&caught), waits());
            leave(Box::new(move || {
                loop {
                    let swallowed = catch_unwind(AssertUnwindSafe(&wait));
                    assert!(swallowed.unwrap_err().is::<Cancelled>());
                    count.fetch_add(1, Ordering::SeqCst);
                }
            }));
            spawn_one_that_panics_in_the_end(cluster, &drops);
            move |ended| {
                let error = ended.unwrap_err();
                if were_late(&error) {
                    return;
                }
                let mut named: Vec<_> = error.left.iter().map(|fibre| fibre.id).collect();
                named.sort_unstable();
                left.sort_unstable();
                assert_eq!(named, left, "{error}");
                assert_eq!(drops.count(), 2);
                let caught_so_far = caught.load(Ordering::SeqCst);
                assert!(caught_so_far > 0);
                std::thread::sleep(Duration::from_millis(20));
                assert_eq!(caught.load(Ordering::SeqCst), caught_so_far);
            }
        });
    });
}

/// Nothing is unwound without time.
#[test]
fn without_time_nothing_is_unwound() {
    watched(|| {
        for (kind, processors) in kinds() {
            let cluster = kind.cluster(processors);
            let drops = Drops::new();
            let value = drops.value();
            let sleeper = cluster.spawn(move || {
                let _value = value;
                fibre::sleep(LONG);
            });
            until_waiting(WaitKind::Sleep, &[sleeper.id()]);
            let error = cluster.stop_within(NOW, NOW).unwrap_err();
            assert_eq!((error.left.len(), drops.count()), (1, 0));
        }
    });
}

/// Spawns two fibres that take and give back for ever: permits, and locks.
fn spawn_takers(
    cluster: &Cluster,
    number: usize,
    semaphore: &Arc<Semaphore>,
    lock: &Arc<Mutex<u64>>,
    shared: &Arc<RwLock<u64>>,
) {
    let permits = Arc::clone(semaphore);
    cluster.spawn(move || {
        loop {
            permits.acquire();
            let _back = OnDrop(|| permits.release());
            fibre::sleep(Duration::from_micros(1 + number as u64 * 7));
        }
    });
    let (lock, shared) = (Arc::clone(lock), Arc::clone(shared));
    cluster.spawn(move || {
        loop {
            *lock.lock() += 1;
            fibre::sleep(Duration::from_micros(1 + number as u64 * 3));
            match number % 3 {
                0 => *shared.write() += 1,
                _ => drop(shared.read()),
            }
        }
    });
}

/// Counts what it receives, by one of two calls.
fn receive_for_ever(number: usize, receiver: &Receiver<u64>, received: &AtomicUsize) {
    loop {
        let value = match number % 2 {
            0 => receiver.recv(),
            _ => select! { value = receiver.recv_arm() => value },
        };
        value.unwrap();
        received.fetch_add(1, Ordering::SeqCst);
    }
}

/// Takes and gives at random until it is `over`. Returns how many values it has sent.
fn wake(
    seed: u64,
    sender: &Sender<u64>,
    semaphore: &Semaphore,
    lock: &Mutex<u64>,
    shared: &RwLock<u64>,
    over: &AtomicBool,
) -> usize {
    let (mut random, mut sent) = (Random::new(seed), 0);
    while !over.load(Ordering::SeqCst) {
        match random.below(4) {
            0 => *lock.lock() += 1,
            1 => *shared.write() += 1,
            2 => {
                semaphore.acquire();
                semaphore.release();
            }
            _ => {
                let soon = Duration::from_millis(1);
                sent += usize::from(sender.send_within(1, soon).is_ok());
            }
        }
    }
    sent
}

/// Fibres of clusters that end share things with threads that do not. Nothing is lost that they are
/// given while they are unwound.
#[test]
fn nothing_is_lost_to_those_that_are_unwound() {
    /// Fibres of each cluster, of each kind.
    const CROWD: usize = 20;
    /// How many permits there are.
    const PERMITS: usize = 5;

    watched(|| {
        let semaphore = Arc::new(Semaphore::new(PERMITS));
        let lock = Arc::new(Mutex::new(0_u64));
        let shared = Arc::new(RwLock::new(0_u64));
        let (sender, receiver) = bounded::<u64>(2);
        let received = Arc::new(AtomicUsize::new(0));
        let over = AtomicBool::new(false);
        let clusters = kinds().into_iter().map(|(kind, count)| kind.cluster(count));
        let clusters: Vec<_> = clusters.collect();
        for cluster in &clusters {
            for number in 0..CROWD {
                spawn_takers(cluster, number, &semaphore, &lock, &shared);
                let (receiver, received) = (receiver.clone(), Arc::clone(&received));
                cluster.spawn(move || receive_for_ever(number, &receiver, &received));
            }
        }
        let sent = std::thread::scope(|scope| {
            let wakers: Vec<_> = (0..3)
                .map(|seed| {
                    let (sender, semaphore, over) = (sender.clone(), &semaphore, &over);
                    let (lock, shared) = (&lock, &shared);
                    scope.spawn(move || wake(seed, &sender, semaphore, lock, shared, over))
                })
                .collect();
            let stops: Vec<_> = clusters
                .into_iter()
                .map(|cluster| scope.spawn(|| cluster.stop_within(NOW, PATIENT)))
                .collect();
            let ends: Vec<_> = stops.into_iter().map(|stop| stop.join().unwrap()).collect();
            over.store(true, Ordering::SeqCst);
            ends.into_iter().for_each(Result::unwrap);
            let sent = wakers.into_iter().map(|waker| waker.join().unwrap());
            sent.sum::<usize>()
        });
        let rest = std::iter::from_fn(|| receiver.try_recv().ok()).count();
        assert_eq!(sent, received.load(Ordering::SeqCst) + rest);
        assert!(semaphore.acquire_many_within(PERMITS, NOW).is_ok());
        assert!(lock.lock_within(Limit::from(NOW)).is_ok());
        assert!(shared.write_within(NOW).is_ok());
    });
}
