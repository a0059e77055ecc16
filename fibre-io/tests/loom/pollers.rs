//! Models of who polls: the duty of `shared`, the shifts of the poller fibre and its master, and
//! the calls of processors to a poller's thread; and of who watches busy processors.
//!
//! Run by `cargo xtask loom`. The steps are those of `poller/`, of `processor/idle.rs` and of
//! `processor/watch.rs`, on the shipped words. The kernel is a lock with two flags here.

use fibre_core::internal::queue::QueueKind;
use fibre_core::internal::set::IdleSet;
use fibre_core::internal::shared_queues::SharedQueues;
use fibre_core::internal::watchers::Watch;
use fibre_core::model::{self, Watched, finds_bug, finds_planted};
use fibre_io::poll_words::poll_lock::Duty;
use fibre_io::poll_words::poll_request::Calls;
use fibre_io::poll_words::poll_turn::Shift;
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::sync::{Arc, Mutex};
use loom::thread;

/// Two processors that share an instance.
struct Pair {
    duty: Duty,
    /// What is in the hands of the one who polls.
    events: Watched,
}

impl Pair {
    /// Polls, with the duty.
    fn poll(&self) {
        self.events.count();
    }

    /// `Shared::poll`; planted: the duty is kept.
    fn service(&self, keeps: bool) {
        if self.duty.take() {
            self.poll();
            if !keeps {
                self.duty.give_back();
            }
        }
    }
}

/// One processor is serviced and goes to sleep, the other one goes to sleep, too. Then one
/// of them sleeps in the instance, and polls when it wakes up.
fn two_go_to_sleep(keeps: bool) {
    let pair = Arc::new(Pair {
        duty: Duty::new(),
        events: Watched::default(),
    });
    let other = Arc::clone(&pair);
    let other = thread::spawn(move || {
        let inside = other.duty.take();
        if inside {
            other.poll();
        }
        inside
    });
    pair.service(keeps);
    let inside = pair.duty.take();
    if inside {
        pair.poll();
    }
    let others = other.join().unwrap();
    assert!(inside || others, "all sleep, and nobody polls");
}

/// All sleep only if one of them polls, and never two do.
#[test]
fn the_duty_is_never_lost_nor_doubled() {
    model::check(|| two_go_to_sleep(false));
}

/// Planted: who polls at a service keeps the duty.
#[test]
fn planted_kept_duty_is_found() {
    finds_bug(|| two_go_to_sleep(true));
}

/// Planted: the duty is looked at, and then taken.
#[test]
fn planted_torn_duty_is_found() {
    finds_planted("duty: looked at, then taken", || two_go_to_sleep(false));
}

/// The kernel's view of a cluster's instance, and of the master's registration of it.
#[derive(Default)]
struct Kernel {
    /// Events that nobody has taken.
    events: bool,
    /// Whether the master is to be told.
    watched: bool,
    /// Whether it has been told, and has not heard yet.
    told: bool,
}

impl Kernel {
    /// Tells the master, if there is something and it wants to know.
    fn tell(&mut self) {
        if self.events && self.watched {
            self.watched = false;
            self.told = true;
        }
    }
}

/// A cluster of one processor, with a poller fibre.
struct Cluster {
    kernel: Mutex<Kernel>,
    shift: Shift,
    shared_queues: SharedQueues,
    /// Events that have been delivered.
    delivered: AtomicBool,
}

/// What to do wrong.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Planted {
    Nothing,
    /// The processor does not look at the shift after it has said that it is idle.
    NoSecondLook,
}

impl Cluster {
    fn new() -> Arc<Self> {
        let kernel = Kernel {
            watched: true,
            ..Kernel::default()
        };
        Arc::new(Self {
            kernel: Mutex::new(kernel),
            shift: Shift::new(),
            shared_queues: SharedQueues::new(1, QueueKind::default()),
            delivered: AtomicBool::new(false),
        })
    }

    /// Something comes in, and if the master is told of it, it calls.
    fn arrive(&self) {
        let mut kernel = self.kernel.lock().unwrap();
        kernel.events = true;
        kernel.tell();
        drop(kernel);
        self.hear();
    }

    /// The master's loop, if it has been told.
    fn hear(&self) {
        if std::mem::take(&mut self.kernel.lock().unwrap().told) {
            self.shift.call();
            self.shared_queues.wake_next();
        }
    }

    /// `FibrePoller::poll`.
    fn poll(&self) {
        if !self.shift.begin() {
            return;
        }
        let events = std::mem::take(&mut self.kernel.lock().unwrap().events);
        if events {
            self.delivered.store(true, Ordering::SeqCst);
        }
        self.shift.end(events, || self.watch_again());
    }

    /// `Place::watch_again`.
    fn watch_again(&self) {
        let mut kernel = self.kernel.lock().unwrap();
        kernel.watched = true;
        kernel.tell();
    }

    /// The processor, from running out of work to being asleep; `false`: it does not sleep.
    fn rest(&self, planted: Planted) -> bool {
        if self.shift.is_due() {
            self.poll();
            return false;
        }
        self.shared_queues.idle.enter(0);
        let sleeps = planted == Planted::NoSecondLook || !self.shift.is_due();
        if !sleeps {
            self.shared_queues.idle.leave(0);
        }
        sleeps
    }
}

/// The poller is due, without reason, when something comes in; the processor polls, and goes
/// to sleep. By then it has delivered, or somebody will wake it.
fn event_and_sleep(planted: Planted) {
    let cluster = Cluster::new();
    // An event that has been taken already.
    cluster.kernel.lock().unwrap().watched = false;
    cluster.shift.call();
    let arriving = Arc::clone(&cluster);
    let arrival = thread::spawn(move || {
        arriving.arrive();
        thread::yield_now();
        arriving.hear();
    });
    while !cluster.rest(planted) {
        thread::yield_now();
    }
    arrival.join().unwrap();
    // What the kernel told the master in the end.
    cluster.hear();
    let delivered = cluster.delivered.load(Ordering::SeqCst);
    let woken = cluster.shared_queues.sleeper(0).is_notified() && cluster.shift.is_due();
    assert!(delivered || woken, "it sleeps on an event");
}

/// An event is delivered, or the master wakes the processor for it.
#[test]
fn the_poller_fibre_and_its_master_lose_nothing() {
    model::check(|| event_and_sleep(Planted::Nothing));
}

/// Planted: the master's call comes before it is on shift.
#[test]
fn planted_call_before_the_shift_is_found() {
    finds_planted(
        "shift: the kernel is asked before it is the master's",
        || {
            event_and_sleep(Planted::Nothing);
        },
    );
}

/// Planted: check, then sleep.
#[test]
fn planted_missing_look_at_the_shift_is_found() {
    finds_bug(|| event_and_sleep(Planted::NoSecondLook));
}

/// Two processors with a turn to poll at any time, and the master, which calls once it is asked to
/// watch again. Each poll `finds` something, or none does.
fn two_polls(finds: bool) {
    struct Instance {
        shift: Shift,
        events: Watched,
        watched: AtomicBool,
    }
    impl Instance {
        fn poll(&self, finds: bool) {
            if self.shift.begin() {
                self.events.count();
                let watch_again = || self.watched.store(true, Ordering::Relaxed);
                self.shift.end(finds, watch_again);
                assert!(!finds || !self.watched.load(Ordering::Relaxed));
            }
        }
    }
    let instance = Arc::new(Instance {
        shift: Shift::new(),
        events: Watched::default(),
        watched: AtomicBool::new(false),
    });
    assert!(!instance.shift.begin() && !instance.shift.is_due());
    instance.shift.call();
    let [processor, master] = [(); 2].map(|()| Arc::clone(&instance));
    let processor = thread::spawn(move || processor.poll(finds));
    let master = thread::spawn(move || {
        // The kernel tells him, which is no reason to see what others did before.
        let told = &master.watched;
        let told = told.compare_exchange(true, false, Ordering::Relaxed, Ordering::Relaxed);
        if told.is_ok() {
            master.shift.call();
        }
    });
    instance.poll(finds);
    processor.join().unwrap();
    master.join().unwrap();
    let told = instance.watched.load(Ordering::Relaxed);
    assert!(instance.shift.is_due() || !finds && told);
    assert_eq!(instance.shift.is_due(), instance.shift.begin());
}

/// One polls at a time, and sees what the one before it did.
#[test]
fn polls_follow_each_other() {
    model::check(|| two_polls(true));
    model::check(|| two_polls(false));
}

/// `ThreadPoller::wait_for_idle`, up to the wait, beside a processor that goes idle. Planted: the
/// calls are forgotten after the look.
fn idle_and_wait(forgets_late: bool) {
    let (calls, idle) = (Calls::new(), IdleSet::new(1));
    let shared = Arc::new((calls, idle));
    let processor = Arc::clone(&shared);
    // A call from before.
    shared.0.call();
    let processor = thread::spawn(move || {
        processor.1.enter(0);
        processor.0.call();
    });
    let (calls, idle) = &*shared;
    let polls = if forgets_late {
        let polls = idle.is_any();
        calls.forget();
        polls
    } else {
        calls.forget();
        idle.is_any()
    };
    processor.join().unwrap();
    assert!(
        polls || calls.is_called(),
        "it waits, and a processor is idle"
    );
}

/// The thread polls, or is called.
#[test]
fn a_call_to_the_thread_is_not_lost() {
    model::check(|| idle_and_wait(false));
}

/// Planted: a call that came after the look is forgotten.
#[test]
fn planted_late_forgetting_is_found() {
    finds_bug(|| idle_and_wait(true));
}

/// A wait of the thread ends with the call.
#[test]
fn a_call_ends_the_wait() {
    model::check(|| {
        let calls = Arc::new(Calls::new());
        let caller = Arc::clone(&calls);
        let caller = thread::spawn(move || caller.call());
        calls.wait(None);
        caller.join().unwrap();
    });
}

/// One processor becomes busy while another one, which has watched, sleeps on for good. Planted:
/// that one looks first.
fn busy_and_unwatched(looks_first: bool) {
    let shared = Arc::new((Watch::new(), AtomicBool::new(false)));
    shared.0.begin();
    let busy = Arc::clone(&shared);
    let busy = thread::spawn(move || {
        busy.1.store(true, Ordering::Relaxed);
        busy.0.is_off()
    });
    let (watch, others_are_busy) = &*shared;
    let sees = if looks_first {
        let sees = others_are_busy.load(Ordering::Relaxed);
        watch.end();
        sees
    } else {
        watch.end();
        let _ = watch.is_off();
        others_are_busy.load(Ordering::Relaxed)
    };
    let called = busy.join().unwrap();
    assert!(sees || called, "busy, and nobody watches");
}

/// A processor that stops to watch sees that another one is busy, or that one sees that nobody
#[test]
fn who_becomes_busy_is_watched() {
    model::check(|| busy_and_unwatched(false));
}

/// Planted: the look comes before the end of the watch.
#[test]
fn planted_look_before_the_end_is_found() {
    finds_bug(|| busy_and_unwatched(true));
}
