//! What the pollers promise, each of them: see the contract in `fibre-io/src/poller`.

use crate::support::process::{end_after, errors, no_core_file, plays, spawn_child};
use crate::support::sockets::{fresh_pair_with_std, pair};
use crate::support::{any_cluster, cpu_time_of, eventually, run_in, thread_exists, watched};
use fibre::{Builder, Cluster, ClusterBuilder, IoChoices, Poller, StealOrder};
use fibre_core::internal::Driver;
use std::io::{ErrorKind, Read, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

/// Runs a body as a fibre of a cluster with each poller, and with each number of processors.
fn with_each_poller(processors: &[usize], body: fn(&Cluster)) {
    for poller in Poller::ALL {
        for &count in processors {
            let builder = any_cluster().poller(poller).processors(count);
            run_in(builder.build().unwrap(), Arc::new(body));
        }
    }
}

/// A message goes back and forth, and each time both ends have to wait.
#[test]
fn each_poller_delivers() {
    with_each_poller(&[1, 2], |_| {
        let (mut near, mut far) = pair();
        let echo = fibre::spawn(move || {
            let mut byte = [0];
            while far.read(&mut byte).unwrap() == 1 {
                far.write_all(&byte).unwrap();
            }
        });
        for number in 0..30 {
            near.write_all(&[number]).unwrap();
            let mut byte = [0];
            near.read_exact(&mut byte).unwrap();
            assert_eq!(byte, [number]);
        }
        drop(near);
        echo.join().unwrap();
    });
}

/// Fibres that yield in a loop keep no event from others.
#[test]
fn yielding_starves_nobody() {
    with_each_poller(&[1, 2], |cluster| {
        let over = Arc::new(AtomicBool::new(false));
        let yielding: Vec<_> = (0..cluster.processors())
            .map(|processor| {
                let over = Arc::clone(&over);
                let builder = Builder::new().on_processor(processor);
                let yields = move || {
                    while !over.load(Ordering::SeqCst) {
                        fibre::yield_now();
                    }
                };
                builder.spawn(yields).unwrap()
            })
            .collect();
        let (mut near, mut far) = fresh_pair_with_std();
        let peer = thread::spawn(move || {
            thread::sleep(Duration::from_millis(5));
            far.write_all(b"x").unwrap();
            far
        });
        near.read_exact(&mut [0]).unwrap();
        over.store(true, Ordering::SeqCst);
        yielding.into_iter().for_each(|it| it.join().unwrap());
        drop(peer.join().unwrap());
    });
}

/// Occupies a processor without ever switching, until `done` or much too late; says which.
fn hog(processor: usize, begun: Arc<AtomicBool>, done: Arc<AtomicBool>) -> fibre::JoinHandle<bool> {
    let computes = move || {
        begun.store(true, Ordering::SeqCst);
        let began = Instant::now();
        while !done.load(Ordering::SeqCst) && began.elapsed() < Duration::from_secs(20) {
            std::hint::spin_loop();
        }
        done.load(Ordering::SeqCst)
    };
    let builder = Builder::new().on_processor(processor);
    builder.spawn(computes).unwrap()
}

/// A descriptor was first waited for on one processor, where a fibre then computes; the reader
/// on the other one hears of it all the same.
#[test]
fn a_fibre_that_computes_keeps_no_event_from_other_processors() {
    with_each_poller(&[2], |_| {
        let (mut near, mut far) = fresh_pair_with_std();
        let first = Builder::new().on_processor(0);
        let waits = move || {
            near.set_read_timeout(Some(Duration::from_millis(1)))
                .unwrap();
            let kind = near.read(&mut [0]).unwrap_err().kind();
            assert!(matches!(kind, ErrorKind::TimedOut | ErrorKind::WouldBlock));
            near.set_read_timeout(None).unwrap();
            near
        };
        let mut near = first.spawn(waits).unwrap().join().unwrap();
        let (begun, done) = (Arc::default(), Arc::<AtomicBool>::default());
        let answers = Arc::clone(&done);
        let reads = move || {
            near.read_exact(&mut [0]).unwrap();
            answers.store(true, Ordering::SeqCst);
        };
        let reader = Builder::new().on_processor(1).spawn(reads).unwrap();
        fibre::sleep(Duration::from_millis(2));
        let hog = hog(0, Arc::clone(&begun), done);
        let peer = thread::spawn(move || {
            while !begun.load(Ordering::SeqCst) {
                thread::sleep(Duration::from_millis(1));
            }
            thread::sleep(Duration::from_millis(15));
            far.write_all(b"x").unwrap();
            far
        });
        assert!(
            hog.join().unwrap(),
            "the reader waited for the other processor"
        );
        reader.join().unwrap();
        drop(peer.join().unwrap());
    });
}

/// The same if the idle processor has just served many events, between which it slept for moments
/// only, so that it set no timer to look after the other one. The monitor calls it, which without
/// spare processors does nothing else.
#[test]
fn events_are_kept_from_nobody_after_a_rush() {
    if !plays("rush") {
        let settings = [
            ("FIBRE_MONITOR", "1h"),
            ("FIBRE_MAX_SPARE", "0"),
            ("FIBRE_SPIN", "0"),
        ];
        let output = spawn_child("rush", &settings);
        assert!(output.status.success(), "{}", errors(&output));
        return;
    }
    let cluster = Cluster::builder().processors(2).build().unwrap();
    // How long its last sleep was is chance.
    let body = |_: &Cluster| (0..100).for_each(|_| rush_and_fall_silent());
    run_in(cluster, Arc::new(body));
}

/// Serves many events on the second of two processors, and has a reader there wait for one that is
/// delivered on the first one, which computes.
fn rush_and_fall_silent() {
    let (mut near, mut far) = fresh_pair_with_std();
    let wait = move || {
        near.set_read_timeout(Some(Duration::from_millis(1)))
            .unwrap();
        near.read(&mut [0]).unwrap_err();
        near.set_read_timeout(None).unwrap();
        near
    };
    let first = Builder::new().on_processor(0).spawn(wait).unwrap();
    let mut near = first.join().unwrap();
    let (begun, done) = (Arc::default(), Arc::<AtomicBool>::default());
    let on_second = || Builder::new().on_processor(1);
    let answers = Arc::clone(&done);
    let reads = move || {
        near.read_exact(&mut [0]).unwrap();
        answers.store(true, Ordering::SeqCst);
    };
    let reader = on_second().spawn(reads).unwrap();
    let (mut echo, mut caller) = fresh_pair_with_std();
    let echoes = move || {
        let mut byte = [0];
        while echo.read(&mut byte).unwrap() == 1 {
            echo.write_all(&byte).unwrap();
        }
    };
    let echoing = on_second().spawn(echoes).unwrap();
    let hog = hog(0, Arc::clone(&begun), done);
    let rush = move || {
        let mut rounds = 0;
        while rounds < 100 || !begun.load(Ordering::SeqCst) {
            caller.write_all(b"x").unwrap();
            caller.read_exact(&mut [0]).unwrap();
            rounds += 1;
        }
        far.write_all(b"x").unwrap();
        (far, caller)
    };
    let peers = thread::spawn(rush);
    assert!(hog.join().unwrap(), "the reader waited for the other one");
    reader.join().unwrap();
    drop(peers.join().unwrap());
    echoing.join().unwrap();
}

/// A way to sleep that events never come by. A processor that polls it in the place of its first
/// owner stays until that one sleeps and is to be woken, and takes what should wake it, as
/// `epoll_wait` may.
#[derive(Default)]
struct Slow {
    state: Mutex<SlowState>,
    changed: Condvar,
}

/// See [`Slow`].
#[derive(Default)]
struct SlowState {
    /// Whose poll is nothing special.
    owner: Option<ThreadId>,
    /// The owner sleeps, and hears of no deadline.
    asleep: bool,
    /// It is to be woken.
    interrupted: bool,
    /// Somebody else is polling.
    thief: bool,
    /// Somebody else has polled.
    stolen: bool,
    /// The owner has slept for far too long.
    overslept: bool,
}

/// Much longer than anything takes.
const TOO_LONG: Duration = Duration::from_secs(10);

impl Slow {
    /// Changes or reads the state.
    fn with<R>(&self, change: impl FnOnce(&mut SlowState) -> R) -> R {
        let result = change(&mut self.state.lock().unwrap());
        self.changed.notify_all();
        result
    }

    /// Waits, for too long at most; `false`: it was too long.
    fn wait(
        &self,
        goes_on: impl Fn(&SlowState) -> bool,
        then: impl FnOnce(&mut SlowState),
    ) -> bool {
        let state = self.state.lock().unwrap();
        let waits = |state: &mut SlowState| goes_on(state);
        let (mut state, timeout) = self
            .changed
            .wait_timeout_while(state, TOO_LONG, waits)
            .unwrap();
        then(&mut state);
        self.changed.notify_all();
        !timeout.timed_out()
    }
}

impl Driver for Slow {
    fn poll(&self) {
        let here = thread::current().id();
        let steals = self.with(|state| {
            let steals = !state.stolen && state.owner.is_some_and(|owner| owner != here);
            state.thief |= steals;
            steals
        });
        if steals {
            let waits = |state: &SlowState| !(state.asleep && state.interrupted);
            self.wait(waits, |state| {
                state.interrupted = false;
                state.stolen = true;
                state.thief = false;
            });
        }
    }

    fn sleep(&self, deadline: Option<Instant>) {
        if self.with(|state| state.owner.is_none()) {
            let least =
                deadline.map_or(TOO_LONG, |it| it.saturating_duration_since(Instant::now()));
            thread::sleep(least.min(Duration::from_millis(1)));
            return;
        }
        self.with(|state| state.asleep = true);
        let waits = |state: &SlowState| state.thief || !state.interrupted;
        let woken = self.wait(waits, |state| {
            state.asleep = false;
            state.interrupted = false;
        });
        self.with(|state| state.overslept |= !woken);
    }

    fn interrupt(&self) {
        self.with(|state| state.interrupted = true);
    }

    fn retire(&self) {}
}

/// A processor that looks after another one lets it be woken, should it go to sleep meanwhile.
#[test]
fn who_polls_for_another_one_keeps_no_wake_up() {
    let cluster = Cluster::builder().processors(2).build().unwrap();
    let drivers: Arc<Mutex<Vec<Arc<Slow>>>> = Arc::default();
    let made = Arc::clone(&drivers);
    let installs = move || {
        fibre_core::internal::with_drivers(0, |all| {
            all.own(|| {
                let driver = Arc::<Slow>::default();
                made.lock().unwrap().push(Arc::clone(&driver));
                Ok(driver)
            })
        })
        .is_ok()
    };
    assert!(watched(|| cluster.spawn(installs).join().unwrap()));
    let first = Arc::clone(&drivers.lock().unwrap()[0]);
    let on_first = || Builder::new().on_processor(0);
    let owned = Arc::clone(&first);
    let computes = move || {
        owned.with(|state| {
            state.owner = Some(thread::current().id());
            state.interrupted = false;
        });
        owned.wait(|state| !state.thief, |_| ())
    };
    let computes = on_first().spawn_in(&cluster, computes).unwrap();
    assert!(
        watched(|| computes.join().unwrap()),
        "nobody looked after it"
    );
    assert!(first.wait(|state| !state.asleep, |_| ()));
    let woken = on_first().spawn_in(&cluster, || 7).unwrap();
    assert_eq!(watched(|| woken.join().unwrap()), 7);
    let (stolen, overslept) = first.with(|state| (state.stolen, state.overslept));
    assert!(
        stolen && !overslept,
        "stolen: {stolen}, overslept: {overslept}"
    );
    first.with(|state| state.owner = None);
    watched(|| cluster.stop());
}

/// Where started fibres move, that holds for one that is at home where another one computes.
#[test]
fn a_fibre_that_computes_keeps_no_event_from_fibres_that_move() {
    for poller in Poller::ALL {
        // SAFETY: these fibres keep nothing across a wait that belongs to a kernel thread.
        let builder = unsafe { Cluster::builder().move_started_fibres() };
        let builder = builder.steal_order(StealOrder::LongestBusy);
        let cluster = builder.poller(poller).processors(2).build().unwrap();
        run_in(
            cluster,
            Arc::new(move |_: &Cluster| {
                let (mut near, mut far) = fresh_pair_with_std();
                let home = Arc::new(AtomicUsize::new(usize::MAX));
                let (begun, done) = (Arc::default(), Arc::<AtomicBool>::default());
                let (tells, answers) = (Arc::clone(&home), Arc::clone(&done));
                let reader = fibre::spawn(move || {
                    tells.store(fibre::processor().unwrap(), Ordering::SeqCst);
                    near.read_exact(&mut [0]).unwrap();
                    answers.store(true, Ordering::SeqCst);
                });
                eventually(|| home.load(Ordering::SeqCst) != usize::MAX);
                fibre::sleep(Duration::from_millis(2));
                let hog = hog(home.load(Ordering::SeqCst), Arc::clone(&begun), done);
                let peer = thread::spawn(move || {
                    while !begun.load(Ordering::SeqCst) {
                        thread::sleep(Duration::from_millis(1));
                    }
                    thread::sleep(Duration::from_millis(15));
                    far.write_all(b"x").unwrap();
                    far
                });
                assert!(hog.join().unwrap(), "{poller}: the reader was not stolen");
                reader.join().unwrap();
                drop(peer.join().unwrap());
            }),
        );
    }
}

/// Many readers become ready at once, with all wake-ups put off until they are queued.
#[test]
fn batched_unblocking_loses_nobody() {
    for poller in Poller::ALL {
        for count in [1, 2] {
            let builder = any_cluster().poller(poller).batched_unblocking(true);
            let cluster = builder.processors(count).build().unwrap();
            run_in(
                cluster,
                Arc::new(|_: &Cluster| {
                    let (readers, peers): (Vec<_>, Vec<_>) = (0..20)
                        .map(|_| {
                            let (mut near, far) = pair();
                            let reads = move || {
                                let mut sum = 0;
                                let mut byte = [0];
                                while near.read(&mut byte).unwrap() == 1 {
                                    sum += u32::from(byte[0]);
                                }
                                sum
                            };
                            (fibre::spawn(reads), far.into_std().unwrap())
                        })
                        .unzip();
                    let writer = thread::spawn(move || {
                        for _ in 0..5 {
                            peers
                                .iter()
                                .for_each(|mut peer| peer.write_all(&[3]).unwrap());
                            thread::sleep(Duration::from_millis(1));
                        }
                    });
                    let sums = readers.into_iter().map(|reader| reader.join().unwrap());
                    assert!(sums.into_iter().all(|sum| sum == 15));
                    writer.join().unwrap();
                }),
            );
        }
    }
}

/// A cluster of this poller that has done some I/O, and in which one fibre still waits for more
/// when the result is returned: the cluster, and what ends the wait.
fn waiting(builder: ClusterBuilder) -> (Cluster, std::net::TcpStream) {
    let cluster = builder.build().unwrap();
    let (mut near, mut far) = fresh_pair_with_std();
    let waits = cluster.spawn(move || {
        near.read_exact(&mut [0]).unwrap();
        near.write_all(b"!").unwrap();
        let _ = near.read(&mut [0]);
    });
    drop(waits);
    far.write_all(b"?").unwrap();
    far.read_exact(&mut [0]).unwrap();
    (cluster, far)
}

/// A fibre that waits without events costs nothing, and all threads are gone with the cluster.
#[test]
fn idle_pollers_are_idle_and_end_with_their_cluster() {
    for (number, poller) in Poller::ALL.into_iter().enumerate() {
        let name = format!("poll{number}");
        let builder = Cluster::builder().poller(poller).processors(2).name(&name);
        let (cluster, far) = watched(|| waiting(builder));
        let helper = format!("{name}/poll");
        let threaded = poller.to_string().starts_with("thread");
        // It comes with the first wait.
        eventually(|| !threaded || thread_exists(&helper));
        thread::sleep(Duration::from_millis(30));
        assert!(threaded || !thread_exists(&helper), "{poller}");
        // A list that is read while others' threads end may lack it once.
        eventually(|| !threaded || thread_exists(&helper));
        // It may still be about to become idle, and is for good then.
        let is_idle = || {
            let before = cpu_time_of(&name);
            thread::sleep(Duration::from_millis(100));
            Duration::from_nanos(cpu_time_of(&name) - before) < Duration::from_millis(1)
        };
        eventually(|| is_idle() && is_idle());
        drop(far);
        watched(|| cluster.stop());
        // A thread that has been joined is listed until the kernel is done with it.
        eventually(|| !thread_exists(&helper) && !thread_exists(&format!("{name}/0")));
    }
}

/// How many descriptors and threads this process has.
fn belongings() -> (usize, usize) {
    let count = |path| std::fs::read_dir(path).unwrap().count();
    (count("/proc/self/fd"), count("/proc/self/task"))
}

/// Clusters leave no descriptor and no thread behind.
#[test]
fn pollers_leave_nothing_behind() {
    if !plays("owner") {
        let output = spawn_child("owner", &[]);
        assert!(output.status.success(), "{}", errors(&output));
        return;
    }
    no_core_file();
    end_after(Duration::from_secs(60));
    // What the runtime has for itself, and the default cluster that plain threads wait with.
    let (cluster, far) = waiting(Cluster::builder());
    drop(far);
    cluster.stop();
    // A thread that has been joined is listed until the kernel is done with it.
    thread::sleep(Duration::from_millis(100));
    let (descriptors, threads) = belongings();
    for poller in Poller::ALL {
        for _ in 0..3 {
            let clusters = [(); 2].map(|()| waiting(Cluster::builder().poller(poller)));
            for (cluster, far) in clusters {
                drop(far);
                cluster.stop();
            }
            println!("{poller}");
            eventually(|| {
                let now = belongings();
                now.0 <= descriptors && now.1 <= threads
            });
        }
    }
}
