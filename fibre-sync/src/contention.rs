//! The contention profile: the places where callers wait for locks.
//!
//! When it is off, a call that finds its lock taken pays for one relaxed load, and other calls pay
//! nothing. When it is on, such a call reads the clock twice and adds to the sums of its place in
//! the program, which `#[track_caller]` gives.
//!
//! Places are kept in lists that only grow, one for each value of a small hash. So no call ever
//! waits for the profile: one compare-and-swap publishes an entry, and its sums have no order among
//! them. A program has no more places than it has calls.

use fibre_core::internal::{DebugFlag, warn};
use fibre_core::is_forked_child;
use std::fmt;
use std::panic::Location;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How many lists there are.
const LISTS: usize = 64;

/// How many places a table shows.
const SHOWN: usize = 32;

/// Whether the profile is on.
static SWITCH: DebugFlag = DebugFlag::new("FIBRE_LOCK_PROFILE").with_report(say_all);

/// All places where a call has waited.
static PLACES: [AtomicPtr<Site>; LISTS] = [const { AtomicPtr::new(ptr::null_mut()) }; LISTS];

/// How a call ended that found its lock taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It found the lock free in the end.
    Taken,
    /// The lock was handed over to it.
    HandedOver,
    /// Its limit came first.
    GaveUp,
}

/// A call that has found its lock taken, if that is of interest.
#[derive(Debug)]
#[must_use = "it is counted when it ends"]
pub(crate) struct Contended(Option<(Instant, &'static Location<'static>)>);

impl Contended {
    /// The call has begun.
    #[inline]
    #[track_caller]
    pub(crate) fn begin() -> Self {
        let location = Location::caller();
        Self(SWITCH.is_on().then(|| (Instant::now(), location)))
    }

    /// The call has ended.
    #[inline]
    pub(crate) fn end(self, how: Ending) {
        if let Some((since, location)) = self.0 {
            Site::of(location).count(how, since.elapsed());
        }
    }
}

/// The sums of one place. Never freed.
#[derive(Debug)]
struct Site {
    location: &'static Location<'static>,
    /// The next one of its list.
    next: *const Self,
    contended: AtomicU64,
    handed_over: AtomicU64,
    given_up: AtomicU64,
    /// In nanoseconds, as the next one.
    waited: AtomicU64,
    longest: AtomicU64,
}

// SAFETY: what `next` points to is never freed, and never changed but by its atomics.
unsafe impl Sync for Site {}

impl Site {
    /// The entry of a place, made if there is none yet.
    fn of(location: &'static Location<'static>) -> &'static Self {
        let list = &PLACES[(location.line() * 31 + location.column()) as usize % LISTS];
        let mut first = list.load(Ordering::Acquire);
        if let Some(known) = Self::find(first, location) {
            return known;
        }
        let new = Box::leak(Box::new(Self {
            location,
            next: first,
            contended: AtomicU64::new(0),
            handed_over: AtomicU64::new(0),
            given_up: AtomicU64::new(0),
            waited: AtomicU64::new(0),
            longest: AtomicU64::new(0),
        }));
        while let Err(now) = list.compare_exchange(first, new, Ordering::Release, Ordering::Acquire)
        {
            if let Some(known) = Self::find(now, location) {
                // SAFETY: it was leaked above, and nobody else has seen it.
                drop(unsafe { Box::from_raw(new) });
                return known;
            }
            first = now;
            new.next = first;
        }
        new
    }

    /// The entry of a place in a list.
    fn find(first: *const Self, location: &Location<'_>) -> Option<&'static Self> {
        all(first).find(|place| ptr::eq(place.location, location) || place.location == location)
    }

    /// Adds one call.
    fn count(&self, how: Ending, waited: Duration) {
        let waited = u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX);
        self.contended.fetch_add(1, Ordering::Relaxed);
        match how {
            Ending::Taken => 0,
            Ending::HandedOver => self.handed_over.fetch_add(1, Ordering::Relaxed),
            Ending::GaveUp => self.given_up.fetch_add(1, Ordering::Relaxed),
        };
        self.waited.fetch_add(waited, Ordering::Relaxed);
        self.longest.fetch_max(waited, Ordering::Relaxed);
    }

    /// What is known of it.
    fn read(&self) -> ContendedPlace {
        let nanoseconds = |sum: &AtomicU64| Duration::from_nanos(sum.load(Ordering::Relaxed));
        ContendedPlace {
            location: self.location,
            contended: self.contended.load(Ordering::Relaxed),
            handed_over: self.handed_over.load(Ordering::Relaxed),
            given_up: self.given_up.load(Ordering::Relaxed),
            waited: nanoseconds(&self.waited),
            longest: nanoseconds(&self.longest),
        }
    }
}

/// The entries of a list.
fn all(first: *const Site) -> impl Iterator<Item = &'static Site> {
    // SAFETY: published entries are complete, by release and acquire, and never freed.
    let entry = |place: *const Site| unsafe { place.as_ref() };
    std::iter::successors(entry(first), move |place| entry(place.next))
}

/// A call in the program that has found a lock taken. See [`contention`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContendedPlace {
    /// Where it stands.
    pub location: &'static Location<'static>,
    /// How often it found its lock taken.
    pub contended: u64,
    /// How often of these the lock was handed over to it.
    pub handed_over: u64,
    /// How often of these it gave up at a deadline, or because the fibre was cancelled.
    pub given_up: u64,
    /// How long it has waited in total.
    pub waited: Duration,
    /// How long it has waited at most.
    pub longest: Duration,
}

/// Where callers have waited for locks, the longest total waits first. See [`contention`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contention(Vec<ContendedPlace>);

impl Contention {
    /// The places.
    #[must_use]
    pub fn places(&self) -> &[ContendedPlace] {
        &self.0
    }
}

impl fmt::Display for Contention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("no lock was waited for");
        }
        let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
        let header = ["waits", "total ms", "longest ms", "handed", "gave up"];
        let [waits, total, longest, handed, gave_up] = header;
        write!(
            f,
            "{waits:>10} {total:>12} {longest:>12} {handed:>10} {gave_up:>10}  where"
        )?;
        for place in self.0.iter().take(SHOWN) {
            write!(
                f,
                "\n{:>10} {:>12.3} {:>12.3} {:>10} {:>10}  {}",
                place.contended,
                milliseconds(place.waited),
                milliseconds(place.longest),
                place.handed_over,
                place.given_up,
                place.location,
            )?;
        }
        match self.0.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(f, "\nand {more} other places"),
        }
    }
}

/// Which calls of the program have found a lock taken since the profile was switched on. They are
/// calls of [`Mutex`](crate::Mutex) and [`RwLock`](crate::RwLock), of all kinds, and the relocking
/// of a [`Condvar`](crate::Condvar). [`profile_contention`] switches the profile on, and so does
/// the environment variable `FIBRE_LOCK_PROFILE=1`, which also prints the table to standard error
/// when the process exits. Like Go's mutex profile it tells where the time goes, but by the waiting
/// calls and not by the holders. Blocks nothing; waits that are being counted meanwhile may be
/// missing.
///
/// ```
/// use fibre::sync::{Mutex, contention, profile_contention};
/// use std::time::Duration;
///
/// profile_contention(true);
/// let mutex = Mutex::new(());
/// fibre::scope(|scope| {
///     let guard = mutex.lock();
///     scope.spawn(|| drop(mutex.lock()));
///     fibre::sleep(Duration::from_millis(20));
///     drop(guard);
/// });
/// println!("{}", contention());
/// assert!(contention().places()[0].longest > Duration::ZERO);
/// ```
#[must_use]
pub fn contention() -> Contention {
    let lists = PLACES.iter().map(|first| first.load(Ordering::Acquire));
    let mut places: Vec<_> = lists.flat_map(|first| all(first)).map(Site::read).collect();
    places.sort_by_key(|place| std::cmp::Reverse(place.waited));
    Contention(places)
}

/// Switches the profile on or off. What has been counted stays. See [`contention`].
pub fn profile_contention(on: bool) {
    SWITCH.set(on);
}

/// What is said when the process exits.
extern "C" fn say_all() {
    if !is_forked_child() {
        warn(format_args!("contended locks:\n{}", contention()));
    }
}
