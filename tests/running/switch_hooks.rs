//! Functions of the program that are called at each switch.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use crate::support;

use fibre::sync::{Mutex, Semaphore};
use fibre::{
    Cluster, SwitchHooks, SwitchReason, SwitchedFibre, activity, channel, install_switch_hooks,
};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use support::drops::{Counted, OnDrop};
use support::process::{end_after, errors, no_core_file, plays, spawn_child};
use support::{Drops, Random, processor_counts, run_in};

/// What hooks have been told, in order: that a fibre was switched to (`None`), or from.
type Log = Arc<std::sync::Mutex<Vec<(u64, Option<SwitchReason>)>>>;

/// Hooks that note all calls.
#[derive(Clone, Default)]
struct Notes(Log);

impl SwitchHooks for Notes {
    fn switch_in(&self, fibre: &SwitchedFibre<'_>) {
        assert!(!fibre::in_fibre());
        self.0.lock().unwrap().push((fibre.id(), None));
    }

    fn switch_out(&self, fibre: &SwitchedFibre<'_>, reason: SwitchReason) {
        assert!(!fibre::in_fibre());
        self.0.lock().unwrap().push((fibre.id(), Some(reason)));
    }
}

impl Notes {
    /// The reasons for which each fibre has left its stack. Between two of them it must have been
    /// switched to, once.
    fn reasons(&self) -> HashMap<u64, Vec<SwitchReason>> {
        let mut all: HashMap<u64, (bool, Vec<SwitchReason>)> = HashMap::new();
        for &(fibre, reason) in &*self.0.lock().unwrap() {
            let (runs, reasons) = all.entry(fibre).or_default();
            assert_eq!(*runs, reason.is_some(), "fibre {fibre}, after {reasons:?}");
            *runs = reason.is_none();
            reasons.extend(reason);
        }
        assert!(all.values().all(|(runs, _)| !runs), "a fibre runs on");
        let reasons = all
            .into_iter()
            .map(|(fibre, (_, reasons))| (fibre, reasons));
        reasons.collect()
    }
}

/// Runs `body` in clusters with these hooks: with 1, 2 and 4 processors, and where each wake-up of
/// a fibre lands on another processor.
fn for_each_hooked<H: SwitchHooks>(
    hooks: impl Fn() -> H,
    body: impl Fn(&Cluster) + Send + Sync + 'static,
) {
    let body = Arc::new(body);
    for processors in processor_counts() {
        for moves in [false, true] {
            let builder = Cluster::builder().processors(processors);
            let builder = builder.switch_hooks(hooks());
            let builder = match moves {
                // SAFETY: what these fibres have in thread-locals is taken along by hooks.
                true => unsafe { builder.force_migration() },
                false => builder,
            };
            run_in(builder.build().unwrap(), Arc::clone(&body));
        }
    }
}

/// Each switch is told once, with its reason, and the calls for one fibre alternate.
#[test]
fn each_switch_is_told_once() {
    use SwitchReason::{Ends, Waits, Yields};
    for processors in processor_counts() {
        let notes = Notes::default();
        let builder = Cluster::builder().processors(processors);
        let cluster = builder.switch_hooks(notes.clone()).build().unwrap();
        let never = Arc::new(Semaphore::new(0));
        let (a, b) = (Arc::clone(&never), Arc::clone(&never));
        let waiting = cluster.spawn(move || {
            a.acquire();
            let id = fibre::id().unwrap();
            fibre::sleep(Duration::from_millis(1));
            // A fibre is made way for.
            fibre::spawn_now(|| ()).join().unwrap();
            id
        });
        let waking = cluster.spawn(move || {
            let id = fibre::id().unwrap();
            fibre::sleep(Duration::from_millis(1));
            b.release();
            id
        });
        let ids = [waiting, waking].map(|fibre| fibre.join().unwrap());
        let panicking = cluster.spawn(|| {
            let _waits = OnDrop(|| fibre::sleep(Duration::from_millis(1)));
            panic!("on purpose");
        });
        assert!(panicking.join().is_err());
        cluster.stop();
        let reasons = notes.reasons();
        let of = |id: u64| reasons[&id].clone();
        let [waiting, waking] = ids.map(of);
        assert_eq!(waking, [Waits, Ends]);
        // It need not wait for permits that are there already, nor for a fibre that has ended.
        let yields = waiting.iter().filter(|reason| **reason == Yields).count();
        assert!(yields <= 1 && waiting.contains(&Waits), "{waiting:?}");
        assert_eq!(waiting.last(), Some(&Ends));
        assert!(reasons.values().all(|all| all.last() == Some(&Ends)));
        assert_eq!(reasons.len(), 4);
    }
}

/// A fibre that yields is told as such, and so is one that goes to another cluster.
#[test]
fn reasons_are_told() {
    let notes = Notes::default();
    // SAFETY: the fibre keeps nothing that belongs to a kernel thread.
    let build = || unsafe { Cluster::builder().move_started_fibres() };
    let build = || build().processors(1).switch_hooks(notes.clone()).build();
    let (here, there) = (build().unwrap(), build().unwrap());
    let other = there.clone();
    let fibre = here.spawn(move || {
        fibre::spawn(|| ());
        fibre::yield_now();
        fibre::migrate_to(&other).unwrap();
        fibre::id().unwrap()
    });
    let id = fibre.join().unwrap();
    here.stop();
    there.stop();
    let reasons = notes.reasons();
    let expected = [
        SwitchReason::Yields,
        SwitchReason::Moves,
        SwitchReason::Ends,
    ];
    assert_eq!(reasons[&id], expected);
}

/// The order of the calls of two hooks.
#[test]
fn hooks_are_nested() {
    struct Named(&'static str, Arc<std::sync::Mutex<Vec<String>>>);

    impl SwitchHooks for Named {
        fn switch_in(&self, _: &SwitchedFibre<'_>) {
            self.1.lock().unwrap().push(format!("{} in", self.0));
        }

        fn switch_out(&self, _: &SwitchedFibre<'_>, _: SwitchReason) {
            self.1.lock().unwrap().push(format!("{} out", self.0));
        }
    }

    let log = Arc::default();
    let cluster = Cluster::builder().processors(1);
    let cluster = cluster.switch_hooks(Named("a", Arc::clone(&log)));
    let cluster = cluster.switch_hooks(Named("b", Arc::clone(&log)));
    let cluster = cluster.build().unwrap();
    cluster.spawn(|| ()).join().unwrap();
    cluster.stop();
    assert_eq!(*log.lock().unwrap(), ["a in", "b in", "b out", "a out"]);
}

thread_local! {
    /// What a library keeps for one flow of control: its context, as a stack.
    static CONTEXT: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

fibre::fibre_local! {
    /// The same of a fibre that is switched out.
    static KEPT: Cell<Vec<u64>> = Cell::default();
}

/// Takes the context out and puts it back.
struct KeepContext;

impl SwitchHooks for KeepContext {
    fn switch_in(&self, fibre: &SwitchedFibre<'_>) {
        let kept = KEPT.with_switched_if_any(fibre, Cell::take);
        let before = CONTEXT.replace(kept.unwrap_or_default());
        assert!(before.is_empty(), "another fibre has left {before:?}");
    }

    fn switch_out(&self, fibre: &SwitchedFibre<'_>, _: SwitchReason) {
        let context = CONTEXT.take();
        if !context.is_empty() {
            let kept = KEPT.with_switched(fibre, |kept| kept.set(context));
            assert!(kept.is_some(), "a fibre has ended within a context");
        }
    }
}

/// A context of the library: entered when made, left when dropped.
struct Entered(u64);

impl Entered {
    #[inline(never)]
    fn new(number: u64) -> Self {
        CONTEXT.with_borrow_mut(|context| context.push(number));
        Self(number)
    }
}

impl Drop for Entered {
    #[inline(never)]
    fn drop(&mut self) {
        let left = CONTEXT.with_borrow_mut(Vec::pop);
        assert_eq!(left, Some(self.0));
    }
}

/// The calling fibre's context, as the library sees it.
#[inline(never)]
fn context() -> Vec<u64> {
    CONTEXT.with_borrow(Vec::clone)
}

/// Fibres that enter contexts, wait in every way, and panic now and then.
#[test]
fn what_libraries_keep_stays_with_the_fibre() {
    let seed = Random::seed();
    for_each_hooked(
        || KeepContext,
        move |_| {
            let mut random = Random::new(seed);
            let lock = Arc::new(Mutex::new(0_u32));
            let (sender, receiver) = channel::bounded::<u64>(1);
            let receiving = fibre::spawn(move || receiver.iter().count());
            let fibres: Vec<_> = (0..50)
                .map(|me| {
                    let (mut random, lock) = (random.split(), Arc::clone(&lock));
                    let sender = sender.clone();
                    fibre::spawn(move || {
                        assert_eq!(context(), []);
                        let sent = deeper(me * 1000, 0, &mut random, &lock, &sender);
                        assert_eq!(context(), []);
                        sent
                    })
                })
                .collect();
            drop(sender);
            let sent: usize = fibres.into_iter().map(|fibre| fibre.join().unwrap()).sum();
            assert_eq!(receiving.join().unwrap(), sent);
        },
    );
}

/// One context within the others; returns how often it has sent.
fn deeper(
    number: u64,
    depth: usize,
    random: &mut Random,
    lock: &Mutex<u32>,
    sender: &channel::Sender<u64>,
) -> usize {
    let _entered = Entered::new(number + depth as u64);
    let expected: Vec<u64> = (0..=depth as u64).map(|at| number + at).collect();
    let mut sent = 0;
    for _ in 0..random.below(8) {
        match random.below(7) {
            0 => fibre::yield_now(),
            1 => fibre::sleep(Duration::from_micros(random.below(100) as u64)),
            2 => {
                let mut guard = lock.lock();
                *guard += 1;
                fibre::yield_now();
            }
            3 => {
                sender.send(number).unwrap();
                sent += 1;
            }
            4 => fibre::spawn_now(|| assert_eq!(context(), []))
                .join()
                .unwrap(),
            5 if depth < 4 => sent += deeper(number, depth + 1, random, lock, sender),
            5 => {
                // It is not unwound while another fibre of the thread waits in a destructor.
                let _ = fibre::timeout(Duration::from_micros(10), || {
                    let _inner = Entered::new(number + 999);
                    fibre::sleep(Duration::from_millis(2));
                });
            }
            _ => {
                let panics = std::panic::catch_unwind(|| {
                    let _inner = Entered::new(number + 999);
                    let _waits = OnDrop(|| fibre::sleep(Duration::from_micros(10)));
                    std::panic::resume_unwind(Box::new("on purpose"));
                });
                assert!(panics.is_err());
            }
        }
        assert_eq!(context(), expected);
    }
    sent
}

/// Visits to threads for calls that block, groups, and activities.
#[test]
fn contexts_go_through_everything() {
    struct Job;

    impl activity::Work for Job {
        fn run(this: &activity::Activity<Self>) {
            assert_eq!(context(), []);
            let _entered = Entered::new(1);
            fibre::yield_now();
            assert_eq!(context(), [1]);
            let _ = this;
        }
    }

    for_each_hooked(
        || KeepContext,
        |_| {
            let _entered = Entered::new(7);
            let seen = fibre::blocking(context);
            assert_eq!((seen, context()), (vec![], vec![7]));
            let counted = fibre::group(|group| {
                let _entered = Entered::new(8);
                for number in 100..110 {
                    group.spawn(move || {
                        let _entered = Entered::new(number);
                        fibre::yield_now();
                        assert_eq!(context(), [number]);
                        Ok::<_, ()>(())
                    });
                }
                while group.next().is_some() {
                    assert_eq!(context(), [7, 8]);
                }
                Ok(())
            });
            assert!(counted.is_ok());
            let job = activity::Activity::new(None, Job).unwrap();
            for _ in 0..10 {
                job.schedule().unwrap();
                fibre::yield_now();
                assert_eq!(context(), [7]);
            }
        },
    );
}

/// What a hook makes is dropped by the fibre at its end, and made by no hook after that.
#[test]
fn values_made_by_hooks_are_dropped_with_their_fibres() {
    struct Makes(Drops, AtomicUsize);

    fibre::fibre_local! {
        static MADE: RefCell<Option<Counted>> = RefCell::new(None);
    }

    impl SwitchHooks for Makes {
        fn switch_in(&self, fibre: &SwitchedFibre<'_>) {
            MADE.with_switched(fibre, |made| {
                if made.borrow().is_none() {
                    self.1.fetch_add(1, Ordering::Relaxed);
                    *made.borrow_mut() = Some(self.0.value());
                }
            });
        }

        fn switch_out(&self, fibre: &SwitchedFibre<'_>, reason: SwitchReason) {
            let made = MADE.with_switched_if_any(fibre, |made| made.borrow().is_some());
            let expected = (reason != SwitchReason::Ends).then_some(true);
            assert_eq!(made, expected);
            if reason == SwitchReason::Ends {
                assert!(MADE.with_switched(fibre, |_| ()).is_none());
            }
        }
    }

    let drops = Drops::new();
    let hooks = Makes(drops.clone(), AtomicUsize::new(0));
    let cluster = Cluster::builder().processors(2).switch_hooks(hooks);
    let cluster = cluster.build().unwrap();
    let body = || fibre::sleep(Duration::from_millis(1));
    let fibres: Vec<_> = (0..100).map(|_| cluster.spawn(body)).collect();
    fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
    cluster.stop();
    assert_eq!(drops.count(), 100);
}

/// What a hook makes while destructors of fibre-local values give way is dropped, too, also if it
/// gives way itself each time.
#[test]
fn values_made_by_hooks_in_destructors_are_dropped() {
    struct Makes(Drops, Arc<AtomicUsize>);

    struct GivesWay(Option<Counted>);

    impl Drop for GivesWay {
        fn drop(&mut self) {
            fibre::sleep(Duration::from_micros(10));
            drop(self.0.take());
            fibre::sleep(Duration::from_micros(10));
        }
    }

    fibre::fibre_local! {
        static MADE: RefCell<GivesWay> = RefCell::new(GivesWay(None));
        static OWN: Cell<Option<GivesWay>> = Cell::new(None);
    }

    impl Makes {
        fn see_to(&self, fibre: &SwitchedFibre<'_>) {
            MADE.with_switched(fibre, |made| {
                if made.borrow().0.is_none() {
                    self.1.fetch_add(1, Ordering::Relaxed);
                    made.borrow_mut().0 = Some(self.0.value());
                }
            });
        }
    }

    impl SwitchHooks for Makes {
        fn switch_in(&self, fibre: &SwitchedFibre<'_>) {
            self.see_to(fibre);
        }

        fn switch_out(&self, fibre: &SwitchedFibre<'_>, _: SwitchReason) {
            self.see_to(fibre);
        }
    }

    let (drops, made) = (Drops::new(), Arc::new(AtomicUsize::new(0)));
    let cluster = Cluster::builder().processors(2);
    let cluster = cluster.switch_hooks(Makes(drops.clone(), Arc::clone(&made)));
    let cluster = cluster.build().unwrap();
    let body = || OWN.set(Some(GivesWay(None)));
    let fibres: Vec<_> = (0..100).map(|_| cluster.spawn(body)).collect();
    fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
    cluster.stop();
    assert!(made.load(Ordering::Relaxed) > 100);
    assert_eq!(drops.count(), made.load(Ordering::Relaxed));
}

/// Hooks may wake fibres and spawn some.
#[test]
fn hooks_may_wake_and_spawn() {
    #[derive(Clone, Default)]
    struct Wakes(Arc<(AtomicUsize, std::sync::OnceLock<Semaphore>)>);

    impl SwitchHooks for Wakes {
        fn switch_in(&self, _: &SwitchedFibre<'_>) {}

        fn switch_out(&self, _: &SwitchedFibre<'_>, reason: SwitchReason) {
            if reason == SwitchReason::Ends && self.0.0.fetch_add(1, Ordering::Relaxed) < 10 {
                let wakes = self.clone();
                let waker = move || wakes.0.1.get().unwrap().release();
                drop(fibre::spawn(waker));
            }
        }
    }

    for processors in processor_counts() {
        let hooks = Wakes::default();
        let _ = hooks.0.1.set(Semaphore::new(0));
        let cluster = Cluster::builder().processors(processors);
        let cluster = cluster.switch_hooks(hooks.clone()).build().unwrap();
        cluster.spawn(|| ()).join().unwrap();
        hooks.0.1.get().unwrap().acquire_many(10);
        cluster.stop();
    }
}

/// Those of the process are called in all clusters, the default one included, and cannot be added
/// once there is one.
#[test]
fn hooks_of_the_process_are_called_everywhere() {
    if !plays("program") {
        for trace in [None, Some(("FIBRE_TRACE", "ring:64K"))] {
            let ended = spawn_child("program", trace.as_slice());
            assert!(ended.status.success(), "{}", errors(&ended));
        }
        return;
    }
    end_after(Duration::from_secs(60));
    let (process, own) = (Notes::default(), Notes::default());
    install_switch_hooks(process.clone()).unwrap();
    fibre::spawn(fibre::yield_now).join().unwrap();
    let error = install_switch_hooks(Notes::default()).unwrap_err();
    assert!(error.to_string().contains("before the first cluster"));
    let cluster = Cluster::builder().switch_hooks(own.clone());
    let cluster = cluster.build().unwrap();
    let id = cluster.spawn(fibre::id).join().unwrap().unwrap();
    cluster.stop();
    assert_eq!(process.reasons().len(), 2);
    assert_eq!(own.reasons().into_keys().collect::<Vec<_>>(), [id]);
}

/// A hook that panics ends the process, with words that say so.
#[test]
fn a_hook_that_panics_ends_the_process() {
    struct Panics;

    impl SwitchHooks for Panics {
        fn switch_in(&self, _: &SwitchedFibre<'_>) {}

        fn switch_out(&self, _: &SwitchedFibre<'_>, _: SwitchReason) {
            panic!("the hook's own words");
        }
    }

    if plays("panics") {
        no_core_file();
        let cluster = Cluster::builder().switch_hooks(Panics).build().unwrap();
        cluster.spawn(|| ()).join().unwrap();
        // Until the processor has come to the hook.
        cluster.stop();
        return;
    }
    let ended = spawn_child("panics", &[]);
    let errors = errors(&ended);
    assert!(!ended.status.success());
    assert!(errors.contains("the hook's own words"), "{errors}");
    assert!(errors.contains("a switch hook has panicked"), "{errors}");
}

/// A hook that waits is found in builds with debug assertions; in others its processor waits.
#[test]
fn a_hook_that_waits_is_found() {
    struct Waits;

    impl SwitchHooks for Waits {
        fn switch_in(&self, _: &SwitchedFibre<'_>) {
            fibre::sleep(Duration::from_millis(1));
        }

        fn switch_out(&self, _: &SwitchedFibre<'_>, _: SwitchReason) {}
    }

    if plays("waits") {
        no_core_file();
        let cluster = Cluster::builder().switch_hooks(Waits).build().unwrap();
        cluster.spawn(|| ()).join().unwrap();
        cluster.stop();
        return;
    }
    let ended = spawn_child("waits", &[]);
    let errors = errors(&ended);
    assert_eq!(ended.status.success(), !cfg!(debug_assertions), "{errors}");
    if cfg!(debug_assertions) {
        assert!(errors.contains("a switch hook waits"), "{errors}");
    }
}
