//! Signals that a fibre lets in, and that no thread does.
//!
//! The kernel gives a signal that is sent to the process to a thread that lets it in. Processors
//! let nothing in, and masks of fibres are records ([`sigmask`](crate::sigmask)). So a signal that
//! the program's threads block would wait for ever, though a fibre lets it in. For these signals
//! there is a thread, which is started when the initial thread first blocks something that a fibre
//! may let in. It blocks all signals, and learns of each that comes by a `signalfd` that it never
//! reads. If the signal is still pending then, it lets it in for a moment, as long as these three
//! hold:
//!
//! 1. No call waits for it (`sigwait` and its kin): a waiting call goes first.
//! 2. No other thread of the process lets it in: the kernel has given that one the signal, even if
//!    it has not come to it yet. `/proc` tells. It may end or change its mind before it does, so
//!    this is looked at again after a while.
//! 3. Some fibre that has begun and has not ended lets it in.
//!
//! The handler runs on that thread, as handlers of other such signals run on the initial one. If
//! there is no handler, the signal has its default effect. A fibre that begins to let in a pending
//! signal takes it itself, before its call returns. So does a fibre that ends or blocks again what
//! it has let in: it says so first, and then takes what is pending. A signal that the thread leaves
//! alone because of what the fibre has said was there when the fibre looked, or came later.
//!
//! # Memory ordering
//!
//! A waiting call counts itself with sequential consistency before it looks for pending signals,
//! and looks again afterwards. The kernel orders the rest: a signal that is sent after a call has
//! returned finds what that call has said.

use crate::exit::LETS_SIGNALS_IN;
use crate::record;
use crate::self_signal::let_in;
use fibre_core::internal::{live_fibres, signals_blocked_by_program, start_helper};
use fibre_core::is_forked_child;
use fibre_io::posix::signal_set::{self, LAST, bit, lowest};
use fibre_io::posix::temporary_fd::signalfd;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;
use rustix::time::Timespec;
use std::ffi::c_int;
use std::mem::{self, MaybeUninit};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering};
use std::thread::sleep;
use std::time::Duration;

/// What the thread is called.
const NAME: &str = "fibre/signals";

/// How often it looks if it has no descriptors to hear of signals by, or there is a signal that
/// another thread is to take.
const BETWEEN: Duration = Duration::from_millis(10);

/// Whether the thread has been started.
static STARTED: AtomicBool = AtomicBool::new(false);

/// What the initial thread has said that it blocks; zero, and what was blocked when the first
/// cluster was started, before.
static INITIAL: AtomicU64 = AtomicU64::new(0);

/// The descriptors by which the thread hears of signals, for [`look_again`]: of signals, and of
/// events.
static EARS: [AtomicI32; 2] = [const { AtomicI32::new(-1) }; 2];

/// Whether it has said anything.
static HAS_SAID: AtomicBool = AtomicBool::new(false);

/// How many wait for each signal.
static WAITED: [AtomicU32; LAST as usize + 1] = [const { AtomicU32::new(0) }; LAST as usize + 1];

/// What the initial thread blocks, as far as it has said so.
fn blocked_by_initial() -> u64 {
    if HAS_SAID.load(Ordering::Relaxed) {
        INITIAL.load(Ordering::Relaxed)
    } else {
        signals_blocked_by_program()
    }
}

/// Notes that the initial thread blocks these signals, and no others. It is no fibre, or does this
/// for one of them.
pub fn note_initial(blocked: u64, for_fibre: bool) {
    let before = blocked_by_initial();
    INITIAL.store(blocked, Ordering::Relaxed);
    HAS_SAID.store(true, Ordering::Relaxed);
    let has_others = || live_fibres() > u64::from(for_fibre);
    if blocked & !before != 0 && !is_forked_child() && has_others() {
        start();
    }
}

/// Notes that a fibre blocks these signals, and no others.
pub fn note_fibre(blocked: u64) {
    if blocked_by_initial() & !blocked != 0 {
        start();
    }
}

/// Starts the thread. Without one to be had, the next call tries again.
fn start() {
    if !STARTED.load(Ordering::Relaxed) && !STARTED.swap(true, Ordering::Relaxed) {
        let started = start_helper(NAME.into(), serve);
        STARTED.store(started.is_ok(), Ordering::Relaxed);
    }
}

/// Whether the thread has been started: there have been signals that only fibres let in.
#[inline]
pub fn is_started() -> bool {
    STARTED.load(Ordering::Relaxed)
}

/// Lets in what is pending for the process, of signals that the calling fibre has begun to let in,
/// or has let in until now. Returns what that was.
pub fn let_in_pending(signals: u64) -> u64 {
    if signals & blocked_by_initial() == 0 {
        return 0;
    }
    let mut left = pending() & signals;
    if left != 0 {
        left &= !waited();
    }
    let found = left;
    while let Some(signal) = lowest(left) {
        left &= !bit(signal);
        let_in(signal);
    }
    found
}

/// What is pending for the process, or the calling thread, which blocks it.
fn pending() -> u64 {
    // SAFETY: a set of our own; all zeros is one.
    unsafe {
        let mut set: libc::sigset_t = mem::zeroed();
        libc::sigpending(&raw mut set);
        signal_set::read(&raw const set)
    }
}

/// The signals that calls wait for, as a set.
fn waited() -> u64 {
    let is_waited = |signal: &c_int| {
        let count = WAITED.get(signal.unsigned_abs() as usize);
        count.is_some_and(|count| count.load(Ordering::SeqCst) > 0)
    };
    (1..=LAST)
        .filter(is_waited)
        .fold(0, |signals, signal| signals | bit(signal))
}

/// Says that the caller waits for signals, until it is dropped.
#[derive(Debug)]
pub struct Waiting(u64);

impl Waiting {
    /// Counts the caller as waiting for these signals.
    pub fn new(signals: u64) -> Self {
        each(signals, |count| count.fetch_add(1, Ordering::SeqCst));
        Self(signals)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        each(self.0, |count| count.fetch_sub(1, Ordering::SeqCst));
        if STARTED.load(Ordering::Relaxed) && pending() & self.0 != 0 {
            look_again();
        }
    }
}

/// Changes how many wait for each of these.
fn each(mut signals: u64, change: impl Fn(&AtomicU32) -> u32) {
    while let Some(signal) = lowest(signals) {
        signals &= !bit(signal);
        if let Some(count) = WAITED.get(signal.unsigned_abs() as usize) {
            change(count);
        }
    }
}

/// Of these pending signals, lets in those that a fibre lets in and that no thread or waiting call
/// is to have. The calling thread blocks them all. Returns whether there is one that a fibre lets
/// in and another thread is to have.
fn let_in_wanted(pending: u64) -> bool {
    let mut left = pending & !waited();
    if left == 0 {
        return false;
    }
    let blocked = blocked_by_others();
    let mut others = false;
    while let Some(signal) = lowest(left) {
        left &= !bit(signal);
        match record::any_lets_in(signal) {
            true if blocked & bit(signal) != 0 => let_in(signal),
            wanted => others |= wanted,
        }
    }
    others
}

/// What all other threads of the process block; nothing, if that cannot be told.
fn blocked_by_others() -> u64 {
    // SAFETY: no requirement.
    let own = unsafe { libc::gettid() };
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else {
        return 0;
    };
    let others = threads.filter_map(|thread| {
        let number = thread.ok()?.file_name().into_string().ok()?;
        (number.parse() != Ok(own)).then_some(number)
    });
    others
        .filter_map(|other| blocked_by(&other))
        .fold(u64::MAX, |all, mask| all & mask)
}

/// What a thread of the process blocks; `None` if it has ended. Two fields need no crate.
fn blocked_by(thread: &str) -> Option<u64> {
    let status = std::fs::read(format!("/proc/self/task/{thread}/status")).ok()?;
    let mut lines = status.split(|&byte| byte == b'\n');
    let word = |line: &[u8], name| {
        Some(
            str::from_utf8(line.strip_prefix(name)?)
                .ok()?
                .trim()
                .to_owned(),
        )
    };
    let mut value = |name: &'static [u8]| lines.find_map(|line| word(line, name));
    // An ended thread takes no signal, though it is listed until its end has been noticed.
    if value(b"State:")?.starts_with(['Z', 'X']) {
        return None;
    }
    u64::from_str_radix(&value(b"SigBlk:")?, 16).ok()
}

/// What the thread does.
fn serve() {
    LETS_SIGNALS_IN.begin();
    signal_set::block(u64::MAX);
    let mut ears = None;
    loop {
        if ears.is_none() {
            ears = Ears::new().ok();
        }
        let again = let_in_wanted(pending()).then_some(BETWEEN);
        // They may be gone: programs close what they do not know.
        if !ears.as_ref().is_some_and(|ears| ears.wait(again)) {
            ears = None;
            sleep(BETWEEN);
        }
    }
}

/// Has the thread look at what is pending as if it had just come. It may have closed its
/// descriptors, or the program has: what is no such instance any more, the kernel refuses.
#[cold]
fn look_again() {
    let [signals, events] = EARS.each_ref().map(|fd| fd.load(Ordering::Relaxed));
    if signals < 0 || events < 0 {
        return;
    }
    // SAFETY: the numbers are passed to the kernel only.
    let [signals, events] = [signals, events].map(|fd| unsafe { BorrowedFd::borrow_raw(fd) });
    let _ = epoll::modify(events, signals, EventData::new_u64(0), Ears::WANTED);
}

/// By what the thread hears that signals come.
struct Ears {
    /// Is readable when any is pending. Only kept.
    _signals: OwnedFd,
    /// Tells of each that comes, also while others are pending.
    events: OwnedFd,
}

impl Ears {
    /// What it is to tell of.
    const WANTED: EventFlags = EventFlags::IN.union(EventFlags::ET);

    /// Opens descriptors that tell of all signals.
    fn new() -> Result<Self, Errno> {
        let (signals, events) = (signalfd(u64::MAX)?, epoll::create(CreateFlags::CLOEXEC)?);
        epoll::add(&events, &signals, EventData::new_u64(0), Self::WANTED)?;
        EARS[0].store(signals.as_raw_fd(), Ordering::Relaxed);
        EARS[1].store(events.as_raw_fd(), Ordering::Relaxed);
        Ok(Self {
            _signals: signals,
            events,
        })
    }

    /// Waits until one has come, so long at most. `false`: that cannot be heard.
    fn wait(&self, most: Option<Duration>) -> bool {
        let mut room = [MaybeUninit::uninit(); 1];
        let most = most.and_then(|most| Timespec::try_from(most).ok());
        match epoll::wait(&self.events, &mut room, most.as_ref()) {
            Ok((told, _)) => !told.is_empty() || most.is_some(),
            Err(error) => error == Errno::INTR,
        }
    }
}
