//! What a test does with its run.

use crate::stage::Stage;
use fibre_core::sleep;
use fibre_sync::Event;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// A run of a test, as its fibres see it: its time, and when it has come to rest. Clones are the
/// same run.
///
/// ```
/// use std::time::{Duration, Instant};
///
/// fibre_test::run(|sim| {
///     let begun = Instant::now();
///     fibre::sleep(Duration::from_secs(3600));
///     assert_eq!(begun.elapsed(), Duration::from_secs(3600));
///     assert_eq!(sim.now(), Duration::from_secs(3600));
/// });
/// ```
#[derive(Debug, Clone)]
pub struct Sim(Arc<Stage>);

impl Sim {
    /// The run on this stage.
    pub(crate) fn of(stage: Arc<Stage>) -> Self {
        Self(stage)
    }

    /// How much time has passed since the run began. Blocks nothing.
    ///
    /// ```
    /// fibre_test::run(|sim| {
    ///     assert!(sim.now().is_zero());
    ///     sim.advance(std::time::Duration::from_millis(5));
    ///     assert_eq!(sim.now().as_millis(), 5);
    /// });
    /// ```
    #[must_use]
    pub fn now(&self) -> Duration {
        self.0.elapsed()
    }

    /// Waits until nothing can run, while no time passes: all other fibres have ended, or wait for
    /// time to pass, or for each other. Blocks the fibre.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering};
    ///
    /// static DONE: AtomicU32 = AtomicU32::new(0);
    ///
    /// fibre_test::run(|sim| {
    ///     let fibres = [1, 2, 3].map(|step| {
    ///         fibre::spawn(move || {
    ///             (0..step).for_each(|_| fibre::yield_now());
    ///             DONE.fetch_add(1, Ordering::Relaxed);
    ///         })
    ///     });
    ///     sim.settle();
    ///     assert_eq!(DONE.load(Ordering::Relaxed), 3);
    ///     assert!(sim.now().is_zero());
    ///     fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
    /// });
    /// ```
    ///
    /// # Panics
    ///
    /// If the caller is no fibre of this run.
    pub fn settle(&self) {
        self.refuse_strangers();
        let settled = Arc::new(Event::new());
        self.0.settle(Arc::clone(&settled));
        settled.wait();
    }

    /// Lets this much time pass, and all that is due until then happen. Then nothing can run, as
    /// after [`settle`](Self::settle). Blocks the fibre.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// fibre_test::run(|sim| {
    ///     let beats = fibre::spawn(|| {
    ///         let mut interval = fibre::Interval::new(Duration::from_secs(10));
    ///         for _ in 0..6 {
    ///             let _ = interval.tick();
    ///         }
    ///     });
    ///     sim.advance(Duration::from_secs(59));
    ///     assert!(!beats.is_finished());
    ///     sim.advance(Duration::from_secs(1));
    ///     assert!(beats.is_finished());
    /// });
    /// ```
    ///
    /// # Panics
    ///
    /// If the caller is no fibre of this run.
    pub fn advance(&self, time: Duration) {
        self.refuse_strangers();
        sleep(time);
        self.settle();
    }

    /// A number of this range, which follows from the seed: for what a test does at random, such as
    /// the moment of a fault. An empty range gives its start. Blocks nothing.
    ///
    /// ```
    /// use fibre_test::Sim;
    ///
    /// Sim::builder().seeds(10).run(|sim| {
    ///     let dice = sim.draw(1..7);
    ///     assert!((1..7).contains(&dice));
    /// });
    /// ```
    ///
    /// # Panics
    ///
    /// If the caller is no fibre of this run.
    #[must_use]
    pub fn draw(&self, range: Range<u64>) -> u64 {
        self.refuse_strangers();
        self.0.with_network(|network| network.draw_noted(&range))
    }

    /// Says what holds from now on, for as long as the run goes on: the run fails when a fibre
    /// gives way, waits or ends and `holds` returns `false`, or panics. It is called between two
    /// fibres, so it must not wait: it can read atomics, and take locks by `try_lock`. Blocks
    /// nothing.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicU32, Ordering};
    ///
    /// fibre_test::run(|sim| {
    ///     let inside = Arc::new(AtomicU32::new(0));
    ///     let (seen, lock) = (Arc::clone(&inside), fibre::sync::Mutex::new(()));
    ///     sim.always("one at most is inside", move || seen.load(Ordering::Relaxed) <= 1);
    ///     fibre::scope(|scope| {
    ///         for _ in 0..3 {
    ///             scope.spawn(|| {
    ///                 let _guard = lock.lock();
    ///                 inside.fetch_add(1, Ordering::Relaxed);
    ///                 fibre::yield_now();
    ///                 inside.fetch_sub(1, Ordering::Relaxed);
    ///             });
    ///         }
    ///     });
    /// });
    /// ```
    pub fn always(&self, name: impl Into<String>, holds: impl Fn() -> bool + Send + 'static) {
        self.0.invariants.always(name.into(), Box::new(holds));
    }

    /// Says that something happens here in some run, though not in each: a test fails that has no
    /// run with `happens`, for a name that it has come to. So it shows that its runs reach what it
    /// is written for. A run that is repeated by `FIBRE_TEST` does not fail for that. Blocks
    /// nothing.
    ///
    /// ```
    /// use fibre_test::{Schedule, Sim};
    /// use std::sync::Arc;
    ///
    /// let runs = Sim::builder().seeds(50).schedule(Schedule::random());
    /// let _ = runs.run(|sim| {
    ///     let lock = Arc::new(fibre::sync::Mutex::new(0));
    ///     let other = Arc::clone(&lock);
    ///     let adds = fibre::spawn(move || *other.lock() += 1);
    ///     sim.sometimes("the other one was first", *lock.lock() == 1);
    ///     adds.join().unwrap();
    /// });
    /// ```
    pub fn sometimes(&self, name: impl Into<String>, happens: bool) {
        self.0.invariants.sometimes(name.into(), happens);
    }

    /// What it plays on.
    pub(crate) fn stage(&self) -> &Arc<Stage> {
        &self.0
    }

    /// Panics if the caller is no fibre of this run.
    pub(crate) fn refuse_strangers(&self) {
        let is_ours = fibre_core::in_fibre() && self.0.is_callers();
        assert!(is_ours, "only a fibre of the run can wait for it");
    }
}
