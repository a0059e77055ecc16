//! Deadlines of one processor's waiting fibres.
//!
//! A heap of waiters with back-references, so that a wait that ends early takes its entry out
//! without a search. The entry itself lies on the stack of the waiting fibre, so arming a deadline
//! allocates nothing once the heap has grown.
//!
//! Deadlines tend to grow, so new entries stay at the end, and arming is O(1). Taking an entry out
//! moves the last one into its place, and from there towards the end again. Each step on the way
//! writes to an entry on another fibre's stack, which is in no cache if many fibres wait. So each
//! node has four children, in one or two cache lines, and not two: that halves the steps (LaMarca
//! and Ladner, "The influence of caches on the performance of heaps", 1996).
//!
//! Due entries fire in batches of [`BATCH`] at most, and a busy processor fires no more of them
//! than started fibres have had turns since. So the queue of these fibres does not grow. A million
//! deadlines at the same time, of fibres that then run once, delay nobody for longer than a few of
//! them would.
//!
//! A deadline on the wall clock ([`WallTime`]) is an entry that is due when that clock is to be
//! looked at. If it does not show the deadline yet, the entry is put off instead of fired; its
//! waiter does not notice.
//!
//! Each processor has a heap behind a lock of its own. Mostly the owner is alone with it. The lock
//! is there for the rare fibre that waits on one processor and continues on another (migration). If
//! started fibres move, it is also there for a processor that fires due entries while the owner
//! runs one fibre for long.
//!
//! Invariant: an entry is in the heap only while its owner is inside `Wait::park`, which takes it
//! out, under the lock, before the frame ends. The timer claims waiters under the lock and resumes
//! them after it.

use crate::sync::thread_mutex::Mutex;
use crate::wait::waiter::{Resume, Waiter, Wakeable};
use crate::wait::wall_clock::WallTime;
use std::cell::Cell;
use std::mem::offset_of;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The index of an entry that is in no heap.
const OUT: usize = usize::MAX;

/// Children of a node.
const ARITY: usize = 4;

/// How many entries fire at once; then it is the fibres' turn.
pub(crate) const BATCH: u32 = 64;

/// The most places behind the last one that are told of.
const STALE: usize = 128;

/// A deadline of one wait, in the frame of the waiting fibre.
#[derive(Debug)]
pub(crate) struct Entry<F> {
    /// When the entry fires, or is to be looked at.
    deadline: Instant,
    /// What the wall clock has to show for the entry to fire.
    moment: Option<WallTime>,
    /// The waiter that the entry wakes.
    waiter: NonNull<Waiter<F>>,
    /// Its place in the heap, kept under the heap's lock.
    index: Cell<usize>,
}

impl<F> Entry<F> {
    /// An entry that is in no heap yet.
    pub(crate) fn new(deadline: Instant, waiter: &Waiter<F>) -> Self {
        Self {
            deadline,
            moment: None,
            waiter: NonNull::from(waiter),
            index: Cell::new(OUT),
        }
    }

    /// An entry that is in no heap yet, for a moment of the wall clock.
    pub(crate) fn by_wall_clock(moment: WallTime, waiter: &Waiter<F>) -> Self {
        let look = moment.next_look().unwrap_or_else(Instant::now);
        Self {
            moment: Some(moment),
            ..Self::new(look, waiter)
        }
    }
}

/// The heap of one processor. See the module text.
#[derive(Debug)]
pub(crate) struct Timers<F> {
    /// The moment from which times are counted.
    birth: Instant,
    /// Parents fire no later than their children.
    heap: Mutex<Vec<Slot<F>>>,
    /// How many have fired. Written under the heap's lock, as the other two.
    fired: AtomicU64,
    /// By how many nanoseconds they have fired late, all together.
    lateness: AtomicU64,
    /// By how many the latest one has.
    latest: AtomicU64,
}

/// What a processor's timers have done so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TimerCounts {
    /// Deadlines that have ended a wait, or would have if it had not just ended.
    pub fired: u64,
    /// How late they came, all together, in nanoseconds.
    pub lateness: u64,
    /// How late the latest one came, in nanoseconds.
    pub latest: u64,
    /// Deadlines to come.
    pub armed: usize,
}

/// One place in the heap: the deadline is here too, so that sifting reads nothing else.
#[derive(Debug)]
struct Slot<F> {
    /// The deadline, in nanoseconds since the heap's birth.
    deadline: u64,
    /// The entry that fires then.
    entry: NonNull<Entry<F>>,
}

impl<F> Clone for Slot<F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for Slot<F> {}

// SAFETY: entries are touched under the lock only, and are alive while in the heap.
unsafe impl<F> Send for Timers<F> {}
// SAFETY: entries are touched under the lock only, and are alive while in the heap.
unsafe impl<F> Sync for Timers<F> {}

impl<F> Default for Timers<F> {
    fn default() -> Self {
        Self {
            birth: Instant::now(),
            heap: Mutex::new(Vec::new()),
            fired: AtomicU64::new(0),
            lateness: AtomicU64::new(0),
            latest: AtomicU64::new(0),
        }
    }
}

impl<F: Wakeable> Timers<F> {
    /// Puts an entry in.
    ///
    /// # Safety
    ///
    /// The entry, and its waiter, stay where they are until [`remove`](Self::remove)
    /// has been called with it.
    pub(crate) unsafe fn insert(&self, entry: &Entry<F>) {
        let deadline = self.age_at(entry.deadline);
        let mut heap = self.heap.lock();
        heap.push(Slot {
            deadline,
            entry: NonNull::from(entry),
        });
        let last = heap.len() - 1;
        sift_up(&mut heap, last);
    }

    /// Takes an entry out, if it has not fired.
    pub(crate) fn remove(&self, entry: &Entry<F>) {
        let mut heap = self.heap.lock();
        if entry.index.get() != OUT {
            remove_at(&mut heap, entry.index.get());
        }
    }

    /// When the next entry fires.
    pub(crate) fn next(&self) -> Option<Instant> {
        let age = self.heap.lock().first()?.deadline;
        self.birth.checked_add(Duration::from_nanos(age))
    }

    /// Fires what is due at `now`, in order, `limit` at most. `true`: more may be due.
    pub(crate) fn fire(&self, now: Instant, limit: u32) -> bool {
        self.fire_by(now, limit, WallTime::now)
    }

    /// The same, for an owner that does not come to it: how many waits that has ended.
    pub(crate) fn fire_for_owner(&self, now: Instant, limit: u32) -> u64 {
        let age = self.age_at(now);
        let due = (0..limit).map_while(|_| self.take_due(age, WallTime::now));
        due.flatten().map(Resume::resume).count() as u64
    }

    /// [`fire`](Self::fire) with a given wall clock.
    fn fire_by(&self, now: Instant, limit: u32, wall_clock: impl Fn() -> WallTime) -> bool {
        if self.heap.lock().is_empty() {
            return false;
        }
        let age = self.age_at(now);
        for _ in 0..limit {
            match self.take_due(age, &wall_clock) {
                Some(Some(resume)) => resume.resume(),
                Some(None) => {}
                None => return false,
            }
        }
        true
    }

    /// Takes one due entry out and claims its waiter, or puts it off; `None`: nothing is due.
    fn take_due(&self, now: u64, wall_clock: impl Fn() -> WallTime) -> Option<Option<Resume<F>>> {
        let mut heap = self.heap.lock();
        let first = heap.first_mut().filter(|slot| slot.deadline <= now)?;
        // SAFETY: the entry is in the heap, hence alive; we have the lock.
        let moment = unsafe { first.entry.as_ref() }.moment;
        if let Some(wait) = moment.and_then(|moment| moment.wait_at(wall_clock())) {
            // Less than two seconds, which fit.
            first.deadline = now.saturating_add(wait.as_nanos() as u64);
            sift_down(&mut heap, 0);
            return Some(None);
        }
        let slot = remove_at(&mut heap, 0);
        self.count_fired(now - slot.deadline);
        // SAFETY: the entry is in the heap, hence alive, with its waiter; we have the lock.
        Some(unsafe { slot.entry.as_ref().waiter.as_ref() }.time_out())
    }

    /// Counts a deadline that fires so many nanoseconds late. Under the heap's lock.
    fn count_fired(&self, late: u64) {
        let add = |count: &AtomicU64, more: u64| {
            let before = count.load(Ordering::Relaxed);
            count.store(before.wrapping_add(more), Ordering::Relaxed);
        };
        add(&self.fired, 1);
        add(&self.lateness, late);
        if late > self.latest.load(Ordering::Relaxed) {
            self.latest.store(late, Ordering::Relaxed);
        }
    }

    /// What they have done so far.
    pub(crate) fn counts(&self) -> TimerCounts {
        let armed = self.heap.lock().len();
        TimerCounts {
            fired: self.fired.load(Ordering::Relaxed),
            lateness: self.lateness.load(Ordering::Relaxed),
            latest: self.latest.load(Ordering::Relaxed),
            armed,
        }
    }

    /// Where the words are that may still name an entry which has been taken out: those of places
    /// behind the last one. Of very many, the nearest ones. `None`: the heap has been locked for so
    /// long. Blocks the thread.
    pub(crate) fn stale_words(&self, limit: Duration) -> Option<impl Iterator<Item = usize>> {
        let heap = self.heap.try_lock_for(limit)?;
        let places = heap.len()..heap.capacity().min(heap.len() + STALE);
        let entry = heap.as_ptr().addr() + offset_of!(Slot<F>, entry);
        Some(places.map(move |place| entry + place * size_of::<Slot<F>>()))
    }

    /// A time in nanoseconds since the heap's birth: zero for earlier times, and the largest number
    /// for times more than five centuries later.
    fn age_at(&self, time: Instant) -> u64 {
        let age = time.saturating_duration_since(self.birth).as_nanos();
        u64::try_from(age).unwrap_or(u64::MAX)
    }
}

/// Puts `slot` at `index` and tells its entry.
fn place<F>(heap: &mut [Slot<F>], index: usize, slot: Slot<F>) {
    heap[index] = slot;
    // SAFETY: entries in the heap are alive, and we have the lock.
    unsafe { slot.entry.as_ref() }.index.set(index);
}

/// Moves the slot at `index` towards the root until its parent fires no later.
fn sift_up<F>(heap: &mut [Slot<F>], mut index: usize) {
    let slot = heap[index];
    while index > 0 {
        let parent = (index - 1) / ARITY;
        if heap[parent].deadline <= slot.deadline {
            break;
        }
        place(heap, index, heap[parent]);
        index = parent;
    }
    place(heap, index, slot);
}

/// Moves the slot at `index` away from the root until its children fire no earlier.
fn sift_down<F>(heap: &mut [Slot<F>], mut index: usize) {
    let slot = heap[index];
    while let Some(child) = first_child(heap, index) {
        if slot.deadline <= heap[child].deadline {
            break;
        }
        place(heap, index, heap[child]);
        index = child;
    }
    place(heap, index, slot);
}

/// The child of `index` that fires first.
fn first_child<F>(heap: &[Slot<F>], index: usize) -> Option<usize> {
    let first = ARITY * index + 1;
    let children = first..(first + ARITY).min(heap.len());
    children.min_by_key(|&child| heap[child].deadline)
}

/// Takes the slot at `index` out.
fn remove_at<F>(heap: &mut Vec<Slot<F>>, index: usize) -> Slot<F> {
    let slot = heap.swap_remove(index);
    // SAFETY: it was in the heap, hence alive, and we have the lock.
    unsafe { slot.entry.as_ref() }.index.set(OUT);
    if index < heap.len() {
        sift_down(heap, index);
        sift_up(heap, index);
    }
    slot
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait::waiter::{Outcome, ThreadParker};
    use std::cell::OnceCell;
    use std::collections::BTreeSet;

    struct Nobody;
    impl Wakeable for Nobody {
        unsafe fn resume(_: NonNull<Self>) {}

        unsafe fn resume_at_home(_: NonNull<Self>) {}
    }

    /// A wait of the thread that owns the parker.
    fn waiter_for(parker: &ThreadParker) -> Waiter<Nobody> {
        // SAFETY: parkers of these tests outlive the waits.
        unsafe { Waiter::for_thread(parker) }
    }

    #[test]
    fn fires_in_order_and_forgets_the_removed() {
        let timers = Timers::<Nobody>::default();
        let start = Instant::now();
        let parkers: Vec<ThreadParker> = (0..100).map(|_| ThreadParker::new()).collect();
        let waiters: Vec<_> = parkers.iter().map(waiter_for).collect();
        let entries: Vec<_> = waiters
            .iter()
            .enumerate()
            .map(|(i, waiter)| {
                Entry::new(start + Duration::from_millis((i as u64 * 37) % 100), waiter)
            })
            .collect();
        for entry in &entries {
            // SAFETY: the entries outlive the heap's use of them.
            unsafe { timers.insert(entry) };
        }
        for entry in entries.iter().step_by(3) {
            timers.remove(entry);
            timers.remove(entry);
        }
        for millisecond in 0..100 {
            let now = start + Duration::from_millis(millisecond);
            while timers.fire(now, 3) {}
            for (i, (entry, waiter)) in entries.iter().zip(&waiters).enumerate() {
                let due = i % 3 != 0 && entry.deadline <= now;
                assert_eq!(waiter.is_claimed(), due, "entry {i} at {millisecond} ms");
                if due {
                    assert_eq!(waiter.outcome(), Outcome::TimedOut);
                }
            }
            assert!(timers.next().is_none_or(|next| next > now));
        }
        assert!(timers.next().is_none());
        // Less than a nanosecond is lost where the heap was born before `start`.
        let counts = timers.counts();
        assert_eq!((counts.fired, counts.armed), (66, 0));
        assert!(counts.lateness <= 66 && counts.latest <= 1, "{counts:?}");
        let (parker, late) = (ThreadParker::new(), Duration::from_millis(3));
        let waiter = waiter_for(&parker);
        let entry = Entry::new(start, &waiter);
        // SAFETY: it fires before it goes.
        unsafe { timers.insert(&entry) };
        assert!(timers.fire(start + late, 1));
        assert_eq!(timers.counts().fired, 67);
        assert_eq!(timers.counts().latest, late.as_nanos() as u64);
    }

    /// A deadline on the wall clock follows it, forwards and back; the waiter is disturbed once,
    /// when the deadline has come.
    #[test]
    fn set_clocks_are_followed() {
        let timers = Timers::<Nobody>::default();
        let parker = ThreadParker::new();
        let [early, late] = [0, 1].map(|_| waiter_for(&parker));
        let (wall, start) = (WallTime::now(), Instant::now());
        let at = |second: u64| start + Duration::from_secs(second);
        let shows = |second: u64| move || wall.after(Duration::from_secs(second));
        let entries = [
            Entry::by_wall_clock(shows(3)(), &early),
            Entry::by_wall_clock(shows(3600)(), &late),
        ];
        // SAFETY: they are taken out before they go.
        entries
            .iter()
            .for_each(|entry| unsafe { timers.insert(entry) });
        let is_claimed = || [&early, &late].map(Waiter::is_claimed);
        assert!(timers.next().is_some_and(|next| next <= at(2)));
        // It has been set back by ten seconds, ...
        for second in 1..=12 {
            while timers.fire_by(at(second), 1, shows(second.saturating_sub(10))) {}
            assert_eq!(is_claimed(), [false; 2], "{second}");
            assert!(
                timers
                    .next()
                    .is_some_and(|next| next > at(second) && next <= at(second + 1))
            );
        }
        while timers.fire_by(at(13), 1, shows(3)) {}
        assert_eq!(is_claimed(), [true, false]);
        // ... and forwards by hours.
        while timers.fire_by(at(14), 1, shows(7200)) {}
        assert_eq!(is_claimed(), [true; 2]);
        assert!(timers.next().is_none());
    }

    /// A deadline on the wall clock is looked at every second. Whatever else is due before its next
    /// look comes first, however often it has been put off.
    #[test]
    fn what_is_put_off_stands_behind_what_is_due_before() {
        let timers = Timers::<Nobody>::default();
        let parker = ThreadParker::new();
        let (wall, start) = (WallTime::now(), Instant::now());
        let at = |milliseconds: u64| start + Duration::from_millis(milliseconds);
        let hour = wall.after(Duration::from_secs(3600));
        let walls: Vec<_> = (0..3).map(|_| waiter_for(&parker)).collect();
        let plains: Vec<_> = (0..40).map(|_| waiter_for(&parker)).collect();
        let entries: Vec<_> = walls
            .iter()
            .map(|waiter| Entry::by_wall_clock(hour, waiter))
            .collect();
        // Four a second, half-way between the looks.
        let deadlines: Vec<_> = (0..40).map(|i| at(500 + 250 * i)).collect();
        let deadline_entries: Vec<_> = deadlines
            .iter()
            .zip(&plains)
            .map(|(&deadline, waiter)| Entry::new(deadline, waiter))
            .collect();
        for entry in entries.iter().chain(&deadline_entries) {
            // SAFETY: they are taken out before they go, or fire.
            unsafe { timers.insert(entry) };
        }
        for (index, waiter) in plains.iter().enumerate() {
            // A look of a processor between two deadlines, which puts off, and one at the deadline.
            for now in [
                deadlines[index] - Duration::from_millis(100),
                deadlines[index],
            ] {
                while timers.fire_by(now, 1, || wall) {}
                assert!(timers.next().is_some_and(|next| next > now), "at {index}");
            }
            assert!(waiter.is_claimed(), "deadline {index} has not fired");
            assert_eq!(
                plains.iter().filter(|waiter| waiter.is_claimed()).count(),
                index + 1
            );
        }
        assert!(!walls.iter().any(Waiter::is_claimed));
        entries.iter().for_each(|entry| timers.remove(entry));
        assert!(timers.next().is_none());
    }

    /// A waiter and its entry, at a place of their own.
    struct Wait {
        waiter: Waiter<Nobody>,
        entry: OnceCell<Entry<Nobody>>,
        /// When it is due, in nanoseconds since the start.
        age: Cell<u64>,
    }

    /// A heap, and beside it a sorted set that says what must happen.
    struct Trial<'a> {
        timers: Timers<Nobody>,
        start: Instant,
        waits: &'a [Wait],
        /// Age and index of those that are armed.
        model: BTreeSet<(u64, usize)>,
        /// How many have been armed so far.
        armed: usize,
        now: u64,
    }

    impl<'a> Trial<'a> {
        fn new(waits: &'a [Wait]) -> Self {
            let timers = Timers::default();
            Self {
                start: Instant::now(),
                timers,
                waits,
                model: BTreeSet::new(),
                armed: 0,
                now: 0,
            }
        }

        fn time(&self, age: u64) -> Instant {
            self.start + Duration::from_nanos(age)
        }

        fn arm(&mut self, age: u64) {
            let Some(wait) = self.waits.get(self.armed) else {
                return;
            };
            let entry = Entry::new(self.time(age), &wait.waiter);
            wait.age.set(age);
            // SAFETY: waits outlive the heap's use of them, at their places.
            unsafe { self.timers.insert(wait.entry.get_or_init(|| entry)) };
            self.model.insert((age, self.armed));
            self.armed += 1;
        }

        fn cancel(&mut self, index: usize) {
            if let Some(entry) = self.waits[index].entry.get() {
                self.timers.remove(entry);
                self.model.remove(&(self.waits[index].age.get(), index));
            }
        }

        fn fire(&mut self) {
            let more = self.timers.fire(self.time(self.now), BATCH);
            let due = self.model.range(..=(self.now, usize::MAX)).count();
            assert_eq!(more, due >= BATCH as usize);
            let is_claimed = |index: usize| self.waits[index].waiter.is_claimed();
            let batch: Vec<_> = self.model.iter().take(due.min(BATCH as usize)).collect();
            // Of equal deadlines any may be the last of a full batch.
            let last = batch.last().map_or(0, |(age, _)| *age);
            for (age, index) in batch {
                assert!(
                    is_claimed(*index) || more && *age == last,
                    "{age} not fired"
                );
            }
            let waits = self.waits;
            self.model
                .retain(|(_, index)| !waits[*index].waiter.is_claimed());
        }

        fn check(&self) {
            let first = self.model.first().map(|(age, _)| self.time(*age));
            assert_eq!(self.timers.next(), first);
            let mut armed = self.waits[..self.armed].iter();
            let early = |wait: &Wait| wait.age.get() > self.now && wait.waiter.is_claimed();
            assert!(!armed.any(early), "nobody is woken early");
        }
    }

    /// Random arming, cancelling and firing: of deadlines that grow, of random ones and past
    /// ones, and of many that are equal.
    #[test]
    fn behaves_like_a_sorted_set() {
        let mut numbers = fastrand::Rng::with_seed(1);
        let mut random = |below: u64| numbers.u64(..below);
        let parker = ThreadParker::new();
        for round in 0..15 {
            let wait = || Wait {
                waiter: waiter_for(&parker),
                entry: OnceCell::new(),
                age: Cell::new(0),
            };
            let waits: Vec<Wait> = std::iter::repeat_with(wait).take(500).collect();
            let mut trial = Trial::new(&waits);
            for _ in 0..2000 {
                match random(4) {
                    0 | 1 => trial.arm(match round % 3 {
                        0 => trial.now + 1000,
                        1 => random(trial.now + 5000),
                        _ => (trial.now + random(3000)) / 500 * 500,
                    }),
                    2 => trial.cancel(random(500) as usize),
                    _ => {
                        trial.now += random(800);
                        trial.fire();
                    }
                }
                trial.check();
            }
            (0..waits.len()).for_each(|index| trial.cancel(index));
            trial.check();
        }
    }

    #[test]
    fn times_beyond_the_range_are_the_last() {
        let timers = Timers::<Nobody>::default();
        let parker = ThreadParker::new();
        let (soon, late) = (waiter_for(&parker), waiter_for(&parker));
        let century = Duration::from_secs(100 * 365 * 24 * 3600);
        let now = Instant::now();
        let entries = [
            Entry::new(now + century * 1000, &late),
            Entry::new(
                now.checked_sub(Duration::from_secs(1)).unwrap_or(now),
                &soon,
            ),
        ];
        // SAFETY: they are taken out before they go.
        entries
            .iter()
            .for_each(|entry| unsafe { timers.insert(entry) });
        assert!(!timers.fire(now, 9) && soon.is_claimed() && !late.is_claimed());
        assert!(timers.next().is_some_and(|next| next > now + century * 5));
        assert!(!timers.fire(now + century, 9) && !late.is_claimed());
        timers.remove(&entries[0]);
    }
}
