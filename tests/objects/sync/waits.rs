//! What fibres wait for, as `fibre::waits` and the report of a stopped cluster see it.

use crate::support::process::{errors, no_core_file, plays, spawn_child};
use crate::support::{any_cluster, eventually, for_each_cluster, watched};
use fibre::channel::{Receiver, Sender, bounded};
use fibre::io::{PipeReader, PipeWriter, pipe};
use fibre::sync::{
    AutoEvent, Barrier, Condvar, Event, Mutex, Notify, OnceLock, RwLock, Semaphore, WaitGroup,
};
use fibre::{Cluster, JoinHandle, WaitKind, Waiting, select, waits};
use std::cell::Cell;
use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Everything that one can wait for.
struct Things {
    mutex: Mutex<()>,
    lock: RwLock<()>,
    paired: Mutex<bool>,
    condvar: Condvar,
    semaphore: Semaphore,
    event: Event,
    auto: AutoEvent,
    group: WaitGroup,
    notify: Notify,
    once: OnceLock<()>,
    barrier: Barrier,
    channel: (Sender<()>, Receiver<()>),
    /// Nobody sends here.
    silent: (Sender<()>, Receiver<()>),
    pipe: (PipeReader, PipeWriter),
}

impl Things {
    /// All of them such that one has to wait, as soon as both locks are taken.
    fn new() -> Self {
        let group = WaitGroup::new();
        group.add(1);
        Self {
            mutex: Mutex::new(()),
            lock: RwLock::new(()),
            paired: Mutex::new(false),
            condvar: Condvar::new(),
            semaphore: Semaphore::new(0),
            event: Event::new(),
            auto: AutoEvent::new(),
            group,
            notify: Notify::new(),
            once: OnceLock::new(),
            barrier: Barrier::new(2),
            channel: bounded(2),
            silent: bounded(1),
            pipe: pipe().unwrap(),
        }
    }

    /// Lets all go on that wait, but for the locks.
    fn let_go(&self) {
        *self.paired.lock() = true;
        self.condvar.notify_all();
        self.semaphore.release_many(3);
        self.event.set();
        self.auto.set();
        self.group.done();
        self.notify.notify_one();
        self.once.set(()).unwrap();
        self.barrier.wait();
        self.channel.0.send(()).unwrap();
        self.channel.0.send(()).unwrap();
        (&self.pipe.1).write_all(&[1]).unwrap();
    }
}

/// Fibres that wait, each for one of the things.
struct Waits {
    cluster: Cluster,
    things: Arc<Things>,
    /// What they are called, and what they wait for: where it is, if that is known.
    expected: Vec<(String, WaitKind, Option<usize>)>,
    fibres: Vec<JoinHandle<()>>,
}

impl Waits {
    /// Starts a fibre that waits for something.
    fn somewhere(&mut self, kind: WaitKind, wait: impl FnOnce(&Things) + Send + 'static) {
        self.start(kind, None, wait);
    }

    /// Starts a fibre that waits for this object.
    fn at<T>(
        &mut self,
        kind: WaitKind,
        object: fn(&Things) -> &T,
        wait: impl FnOnce(&Things) + Send + 'static,
    ) {
        let address = std::ptr::from_ref(object(&self.things)).addr();
        self.start(kind, Some(address), wait);
    }

    /// Starts a fibre that waits.
    fn start(
        &mut self,
        kind: WaitKind,
        address: Option<usize>,
        wait: impl FnOnce(&Things) + Send + 'static,
    ) {
        let (processors, number) = (self.cluster.processors(), self.fibres.len());
        let name = format!("{processors}-{number}-{kind:?}");
        let things = Arc::clone(&self.things);
        let fibre = fibre::Builder::new().name(&*name);
        let fibre = fibre.spawn_in(&self.cluster, move || wait(&things));
        self.fibres.push(fibre.unwrap());
        self.expected.push((name, kind, address));
    }

    /// Starts a fibre for each of the things, and one that sleeps.
    fn start_all(&mut self) {
        let hour = Duration::from_secs(3600);
        self.at(WaitKind::Mutex, |it| &it.mutex, |it| drop(it.mutex.lock()));
        let patient = move |it: &Things| assert!(it.mutex.lock_timeout(hour).is_some());
        self.at(WaitKind::Mutex, |it| &it.mutex, patient);
        self.at(WaitKind::RwLock, |it| &it.lock, |it| drop(it.lock.read()));
        let notified = |it: &Things| it.condvar.wait_while(&mut it.paired.lock(), |done| !*done);
        self.at(WaitKind::Condvar, |it| &it.condvar, notified);
        let semaphore = |it: &Things| it.semaphore.acquire();
        self.at(WaitKind::Semaphore, |it| &it.semaphore, semaphore);
        let semaphore = |it: &Things| it.semaphore.acquire_many(2);
        self.at(WaitKind::Semaphore, |it| &it.semaphore, semaphore);
        self.somewhere(WaitKind::Event, |it| it.event.wait());
        self.somewhere(WaitKind::Event, |it| it.auto.wait());
        self.at(WaitKind::WaitGroup, |it| &it.group, |it| it.group.wait());
        self.at(WaitKind::Notify, |it| &it.notify, |it| it.notify.wait());
        self.somewhere(WaitKind::Once, |it| *it.once.wait());
        let barrier = |it: &Things| _ = it.barrier.wait();
        self.at(WaitKind::Barrier, |it| &it.barrier, barrier);
        self.somewhere(WaitKind::Channel, |it| it.channel.1.recv().unwrap());
        self.somewhere(WaitKind::Select, |it| {
            select! {
                recv(it.channel.1) -> value => value.unwrap(),
                recv(it.silent.1) -> value => value.unwrap(),
            }
        });
        let read = |it: &Things| (&it.pipe.0).read_exact(&mut [0]).unwrap();
        self.somewhere(WaitKind::Io, read);
        let sleep = move |_: &Things| _ = fibre::sleep_within(hour);
        self.somewhere(WaitKind::Sleep, sleep);
    }

    /// Checks that all are seen, with their objects and owners.
    fn check(&self) {
        for (name, kind, address) in &self.expected {
            let locks = [WaitKind::Mutex, WaitKind::RwLock];
            let knows = cfg!(debug_assertions) && locks.contains(kind);
            let owner = fibre::id().filter(|_| knows);
            let seen = await_seen(name, |seen| seen.owner == owner);
            assert_eq!(seen.awaited.kind(), *kind, "{seen}");
            let there = address.is_none_or(|address| seen.awaited.address() == Some(address));
            assert!(there, "{seen}");
            let reads = *kind == WaitKind::Io;
            let number = || self.things.pipe.0.as_fd().as_raw_fd().unsigned_abs();
            assert_eq!(seen.awaited.number(), reads.then(number), "{seen}");
            assert_eq!(seen.cluster, self.cluster.name(), "{seen}");
            assert_eq!(seen.since.is_some(), cfg!(debug_assertions), "{seen}");
            assert!(seen.to_string().contains(name.as_str()), "{seen}");
        }
    }
}

/// The fibre of this name, if it waits, and its processor is not stuck, nor kept from its CPU for
/// so long.
fn waiting(name: &str) -> Option<Waiting> {
    let all = waits();
    let mut named = all
        .into_iter()
        .filter(|it| it.stuck.is_none() && it.name.as_deref() == Some(name));
    let found = named.next();
    assert_eq!(named.next(), None, "it waits twice");
    found
}

/// [`waiting`], once it does.
fn await_waiting(name: &str) -> Waiting {
    await_seen(name, |_| true)
}

/// [`waiting`], once it does and is seen like this. A processor that gets no CPU for long hides
/// what it has.
fn await_seen(name: &str, is: impl Fn(&Waiting) -> bool) -> Waiting {
    let found = Cell::new(None);
    eventually(|| match waiting(name).filter(&is) {
        None => false,
        seen => {
            found.set(seen);
            true
        }
    });
    found.into_inner().unwrap()
}

/// Each kind of wait is seen with its object, since when and for whom, and is over when it is.
#[test]
fn every_wait_is_seen() {
    for_each_cluster(|cluster| {
        let mut waits = Waits {
            cluster: cluster.clone(),
            things: Arc::new(Things::new()),
            expected: Vec::new(),
            fibres: Vec::new(),
        };
        let things = Arc::clone(&waits.things);
        let taken = (things.mutex.lock(), things.lock.write());
        waits.start_all();
        waits.check();
        // A thread sees the same.
        let (name, kind, _) = waits.expected[0].clone();
        let seen = move || thread::spawn(move || await_waiting(&name)).join();
        assert_eq!(fibre::blocking(seen).unwrap().awaited.kind(), kind);

        drop(taken);
        things.let_go();
        waits.fibres.last().unwrap().cancel();
        waits
            .fibres
            .drain(..)
            .for_each(|fibre| fibre.join().unwrap());
        for (name, ..) in &waits.expected {
            assert_eq!(waiting(name), None);
        }
    });
}

/// A fibre that joins another one is seen to wait for it.
#[test]
fn a_join_names_its_fibre() {
    for_each_cluster(|cluster| {
        let gate = Arc::new(Event::new());
        let inside = Arc::clone(&gate);
        let joined = cluster.spawn(move || inside.wait());
        let name = format!("joiner-{}", cluster.processors());
        let number = joined.id();
        let joiner = fibre::Builder::new().name(&*name);
        let joiner = joiner
            .spawn_in(cluster, move || joined.join().unwrap())
            .unwrap();
        let seen = await_seen(&name, |seen| seen.owner == Some(number));
        assert_eq!(seen.awaited.kind(), WaitKind::Join);
        gate.set();
        joiner.join().unwrap();
    });
}

/// Those who look disturb nobody: fibres come and go, wait with and without limits, and clusters
/// end meanwhile.
#[test]
fn looking_disturbs_nobody() {
    for_each_cluster(|_| {
        let stop = Arc::new(AtomicBool::new(false));
        let looks = Arc::new(AtomicUsize::new(0));
        let (told, counted) = (Arc::clone(&stop), Arc::clone(&looks));
        let looker = thread::spawn(move || {
            while !told.load(Ordering::Relaxed) {
                let _ = waits();
                counted.fetch_add(1, Ordering::Relaxed);
                // All other tests stand still, too.
                thread::sleep(Duration::from_millis(1));
            }
        });
        // The looker may be late.
        let goes_on = |round: &u32| *round < 20 || looks.load(Ordering::Relaxed) == 0;
        for round in (0..).take_while(goes_on) {
            let other = any_cluster().processors(2).build().unwrap();
            let mutex = Arc::new(Mutex::new(0));
            let fibres: Vec<_> = (0..32)
                .map(|number| {
                    let mutex = Arc::clone(&mutex);
                    let body = move || {
                        for _ in 0..20 {
                            if let Some(mut value) = mutex.lock_timeout(Duration::from_secs(60)) {
                                *value += 1;
                                fibre::yield_now();
                            }
                        }
                    };
                    match number % 2 {
                        0 => fibre::spawn(body),
                        _ => other.spawn(body),
                    }
                })
                .collect();
            if round % 4 == 0 {
                let _ = waits();
            }
            fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
            assert_eq!(*mutex.lock(), 32 * 20);
            other.stop();
        }
        stop.store(true, Ordering::Relaxed);
        fibre::blocking(|| looker.join()).unwrap();
    });
}

/// One processor whose fibre computes hides no fibres of others.
#[test]
fn a_busy_processor_hides_no_others() {
    watched(|| {
        let cluster = Cluster::builder().processors(2).build().unwrap();
        let (stop, gate) = (Arc::new(AtomicBool::new(false)), Arc::new(Event::new()));
        let there = |processor: usize| fibre::Builder::new().on_processor(processor);
        let inside = Arc::clone(&gate);
        let waiter = there(0)
            .name("visible")
            .spawn_in(&cluster, move || inside.wait());
        let told = Arc::clone(&stop);
        let busy = there(1).spawn_in(&cluster, move || {
            while !told.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        assert_eq!(await_waiting("visible").awaited.kind(), WaitKind::Event);
        stop.store(true, Ordering::Relaxed);
        gate.set();
        waiter.unwrap().join().unwrap();
        busy.unwrap().join().unwrap();
        cluster.stop();
    });
}

/// Fibres that a cluster leaves behind are told of with what they wait for.
#[test]
fn left_fibres_tell_what_they_wait_for() {
    watched(|| {
        let cluster = any_cluster().processors(1).build().unwrap();
        let semaphore: &'static Semaphore = Box::leak(Box::new(Semaphore::new(0)));
        let left = fibre::Builder::new().name("left");
        let left = left.spawn_in(&cluster, || semaphore.acquire()).unwrap();
        await_waiting("left");
        let none = Duration::ZERO;
        let error = cluster.stop_within(none, none).unwrap_err();
        drop(left);
        let awaited = error.left[0].awaited.unwrap();
        assert_eq!(awaited.kind(), WaitKind::Semaphore);
        assert_eq!(
            awaited.address(),
            Some(std::ptr::from_ref(semaphore).addr())
        );
        let expected = format!("(\"left\") that waits for the semaphore at {semaphore:p}");
        assert!(error.to_string().contains(&expected), "{error}");
    });
}

/// Since when they wait is noted where the environment asks for it, in every build.
#[test]
fn times_are_noted_on_demand() {
    if plays("sleeper") {
        no_core_file();
        let on = std::env::var("FIBRE_WAIT_TIMES").unwrap() == "1";
        let gate = Arc::new(Event::new());
        let inside = Arc::clone(&gate);
        let named = fibre::Builder::new().name("sleeper");
        let sleeper = named.spawn(move || inside.wait()).unwrap();
        let first = await_waiting("sleeper").since;
        thread::sleep(Duration::from_millis(30));
        let second = await_waiting("sleeper").since;
        assert_eq!((first.is_some(), second.is_some()), (on, on));
        if let (Some(first), Some(second)) = (first, second) {
            assert!(second.elapsed() >= Duration::from_millis(25));
            // Each is told as an age, and made a moment of at another time: not quite the same.
            assert!(second.max(first) - second.min(first) < Duration::from_secs(5));
        }
        gate.set();
        return sleeper.join().unwrap();
    }
    for value in ["1", "0"] {
        // A search for deadlocks notes times, too.
        let environment = [("FIBRE_WAIT_TIMES", value), ("FIBRE_DEADLOCK", "off")];
        let output = spawn_child("sleeper", &environment);
        assert!(output.status.success(), "{}", errors(&output));
    }
    let output = spawn_child("sleeper", &[("FIBRE_WAIT_TIMES", "often")]);
    let text = errors(&output);
    assert_eq!(output.status.code(), Some(101), "{text}");
    assert!(text.contains("FIBRE_WAIT_TIMES must be 0 or 1"), "{text}");
}
