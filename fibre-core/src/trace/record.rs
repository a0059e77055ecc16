//! The process's recording: whether it is on, and all tracks.
//!
//! Tracks are made when processors begin. They stay when these end, so that a trace shows what came
//! before; but only the newest of these stay, since a process may start and stop clusters all the
//! time.
//!
//! Plain threads share one track, and one thread at a time uses it. A thread that finds it taken
//! tries a few times, and then leaves its event out. So no thread waits for a preempted one.

use super::clock::{self, TraceClock};
use super::track::{TraceTrack, Track};
use crate::config::trace_setting::TraceSetting;
use crate::sync::thread_mutex::Mutex;
use crate::sync::{SPIN_LIMIT, spin_hint};
use crate::sys::numbers::kernel_thread;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// How many tracks of processors that have ended are kept.
const MOST_ENDED: usize = 16;

/// The bytes of an event.
const EVENT: usize = 16;

/// Whether events are recorded. Written once, before the first processor begins.
static ON: AtomicBool = AtomicBool::new(false);

/// Whether anybody wants to know of spawns. Written before the first processor begins.
static SPAWNS_NOTED: AtomicBool = AtomicBool::new(false);

/// The recording, if there is any.
static RECORDING: OnceLock<Option<Recording>> = OnceLock::new();

/// The recording of the process.
struct Recording {
    setting: TraceSetting,
    /// The clocks at its beginning.
    begun: TraceClock,
    /// Tracks of processors, in the order these began.
    tracks: Mutex<Vec<Arc<Track>>>,
    /// The track of all plain threads.
    plain: Option<Track>,
    /// Whether a thread has that.
    taken: AtomicBool,
}

/// Begins to record, if the environment asks for it and nothing is recorded yet. Before the first
/// processor begins.
pub(crate) fn begin() {
    let _ = RECORDING.get_or_init(|| {
        let setting = TraceSetting::from_environment()?;
        clock::begin();
        let recording = Recording {
            begun: TraceClock::now(),
            tracks: Mutex::new(Vec::new()),
            plain: Track::new(setting.ring / EVENT, None, 0, 0),
            taken: AtomicBool::new(false),
            setting,
        };
        ON.store(true, Ordering::Relaxed);
        note_spawns();
        Some(recording)
    });
}

/// Has spawns noted from now on. Before the first processor begins.
pub(crate) fn note_spawns() {
    SPAWNS_NOTED.store(true, Ordering::Relaxed);
}

/// Whether spawns are noted: as events, or beside the fibres. One flag, so that a spawn looks once.
#[inline(always)]
pub(crate) fn are_spawns_noted() -> bool {
    SPAWNS_NOTED.load(Ordering::Relaxed)
}

/// Whether events are recorded.
#[inline(always)]
pub(crate) fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// The recording, if there is any.
fn recording() -> Option<&'static Recording> {
    RECORDING.get()?.as_ref()
}

/// A track for the calling thread, which is a processor from now on: the one with the number
/// `processor` of a cluster with this name and number. `None`: nothing is recorded, or there is no
/// memory.
pub(crate) fn new_track(cluster: &str, number: u64, processor: usize) -> Option<Arc<Track>> {
    let recording = recording()?;
    let events = recording.setting.ring / EVENT;
    let track = Track::new(events, Some(cluster.to_owned()), number, processor)?;
    let thread = kernel_thread();
    track.thread.store(thread, Ordering::Relaxed);
    let track = Arc::new(track);
    let mut tracks = recording.tracks.lock();
    let has_ended = |track: &Arc<Track>| Arc::strong_count(track) == 1;
    let ended = tracks.iter().filter(|track| has_ended(track)).count();
    let mut to_go = ended.saturating_sub(MOST_ENDED);
    tracks.retain(|track| {
        let goes = to_go > 0 && has_ended(track);
        to_go -= usize::from(goes);
        !goes
    });
    tracks.push(Arc::clone(&track));
    Some(track)
}

/// Calls `f` with the track of plain threads, and the kernel's number of this one, unless others
/// have the track.
#[cold]
pub(crate) fn on_plain_thread(f: impl FnOnce(&Track, u64)) {
    /// Gives the track back when dropped.
    struct Taken<'a>(&'a AtomicBool);
    impl Drop for Taken<'_> {
        fn drop(&mut self) {
            self.0.store(false, Ordering::Release);
        }
    }
    let Some(recording) = recording() else {
        return;
    };
    let Some(plain) = &recording.plain else {
        return;
    };
    for _ in 0..SPIN_LIMIT {
        if !recording.taken.swap(true, Ordering::Acquire) {
            let _taken = Taken(&recording.taken);
            return f(plain, u64::from(kernel_thread().unsigned_abs()));
        }
        spin_hint();
    }
    plain.dropped.fetch_add(1, Ordering::Relaxed);
}

/// What `FIBRE_TRACE` asked for when the first cluster was started. `None`: nothing is recorded.
#[must_use]
pub fn trace_setting() -> Option<&'static TraceSetting> {
    recording().map(|recording| &recording.setting)
}

/// The clocks when the recording began, and now. `None`: nothing is recorded.
#[must_use]
pub fn trace_clock() -> Option<[TraceClock; 2]> {
    recording().map(|recording| [recording.begun, TraceClock::now()])
}

/// Shows what is on each track now, one after the other. Any thread; stops nothing.
///
/// # Errors
///
/// That of `show`, which is called no more then.
pub fn trace_tracks<E>(mut show: impl FnMut(TraceTrack) -> Result<(), E>) -> Result<(), E> {
    let Some(recording) = recording() else {
        return Ok(());
    };
    let tracks = recording.tracks.lock().clone();
    let all = tracks.iter().map(|track| &**track);
    all.chain(&recording.plain)
        .try_for_each(|track| show(TraceTrack::of(track)))
}
