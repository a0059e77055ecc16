//! Holding all threads of the program still for a moment.
//!
//! A signal asks each thread, and its handler waits until all may go on. Meanwhile the thread's
//! registers lie on its stack, where the kernel has put them.
//!
//! ```text
//!   a thread's slot:  ASKED ──► HELD        its handler is there, and waits
//! ```
//!
//! The word of the hold has its number, zero if there is none. A handler waits as long as the word
//! has the number that it found, so a late one neither stays for ever nor is taken for a thread of
//! the next hold.
//!
//! From the first question until all go on, the holder takes no memory and no lock: a held thread
//! may have the allocator's.
//!
//! # Memory ordering
//!
//! A handler releases its slot's stack address with HELD, and the holder acquires that. The holder
//! releases the slots with the word, and a handler acquires them.

use super::ask::{SIGNAL, ask};
use crate::descriptors::has_own_descriptors;
use crate::threads::is_kernel_worker;
use std::io::{self, Write};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How long all threads together have to answer.
const TIMEOUT: Duration = Duration::from_millis(200);

/// For how long a thread may block the signal before anything is held.
const BLOCKED: Duration = Duration::from_millis(20);

/// The sleep between two looks at the answers.
const BETWEEN: Duration = Duration::from_micros(50);

/// The most threads that are held.
const SLOTS: usize = 1 << 15;

const ASKED: u32 = 1;
const HELD: u32 = 2;
/// It has ended.
const GONE: u32 = 3;

/// A thread that is held.
#[derive(Debug)]
struct Slot {
    thread: AtomicI32,
    state: AtomicU32,
    /// The words of its [`Place`].
    stack: AtomicUsize,
    frame: AtomicUsize,
    pointer: AtomicUsize,
    lent: AtomicBool,
}

/// Where a held thread is.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Place {
    /// The stack pointer of what was interrupted.
    pub stack: usize,
    /// An address in the frame of the handler; above it, on the same stack, the kernel has put the
    /// registers.
    pub frame: usize,
    /// The thread control block.
    pub pointer: usize,
    /// Whether it is on the stack that a handler of the program was lent, wherever that lies.
    pub lent: bool,
}

/// The slots of all threads; made once.
static TABLE: AtomicPtr<Slot> = AtomicPtr::new(ptr::null_mut());

/// How many slots are in use.
static USED: AtomicUsize = AtomicUsize::new(0);

/// The number of the hold; zero: all go on.
static WORD: AtomicU32 = AtomicU32::new(0);

/// The number of the last hold.
static LAST: AtomicU32 = AtomicU32::new(0);

/// The slots in use.
fn slots() -> &'static [Slot] {
    let table = TABLE.load(Ordering::Acquire);
    if table.is_null() {
        return &[];
    }
    // SAFETY: a mapping of so many slots that stays; zeros are a slot.
    unsafe { std::slice::from_raw_parts(table, USED.load(Ordering::Acquire)) }
}

/// In the handler of the signal, on this thread: whether the thread was asked to stay, and has
/// stayed. Async-signal-safe.
pub(crate) fn stayed(thread: i32, place: Place) -> bool {
    let number = WORD.load(Ordering::Acquire);
    if number == 0 {
        return false;
    }
    let Some(slot) = slots().iter().find(|slot| {
        slot.thread.load(Ordering::Relaxed) == thread && slot.state.load(Ordering::Relaxed) == ASKED
    }) else {
        return false;
    };
    slot.stack.store(place.stack, Ordering::Relaxed);
    slot.frame.store(place.frame, Ordering::Relaxed);
    slot.pointer.store(place.pointer, Ordering::Relaxed);
    slot.lent.store(place.lent, Ordering::Relaxed);
    slot.state.store(HELD, Ordering::Release);
    while WORD.load(Ordering::Acquire) == number {
        // SAFETY: waits while the word is so.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                WORD.as_ptr(),
                libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
                number,
                ptr::null::<libc::timespec>(),
            )
        };
    }
    true
}

/// While this exists, the threads are held.
#[derive(Debug)]
#[must_use = "all go on when this is dropped"]
pub(crate) struct Held(());

impl Held {
    /// Makes room, before anything is held. `false`: there is no memory.
    pub(crate) fn prepare() -> bool {
        if !TABLE.load(Ordering::Acquire).is_null() {
            return true;
        }
        // SAFETY: a new mapping.
        let table = unsafe {
            libc::mmap(
                ptr::null_mut(),
                SLOTS * size_of::<Slot>(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if table == libc::MAP_FAILED {
            return false;
        }
        TABLE.store(table.cast(), Ordering::Release);
        true
    }

    /// Holds all threads of the process but the caller's, those with own descriptors, those of the
    /// kernel, and these.
    /// The handler of the signal has to call [`stayed`]. Blocks the thread; no other one may do
    /// this meanwhile.
    ///
    /// # Errors
    ///
    /// The number of a thread that has not answered; zero: there are too many threads, or they
    /// cannot be listed or asked. All go on.
    pub(crate) fn all(still: &[i32]) -> Result<Self, i32> {
        // SAFETY: a number.
        let own = unsafe { libc::gettid() };
        let is_asked = |thread| {
            let is_left_out = thread == own || still.contains(&thread);
            !is_left_out && !has_own_descriptors(thread) && !is_of_kernel(thread)
        };
        if let Some(thread) = is_deaf_for_long(is_asked) {
            return Err(thread);
        }
        USED.store(0, Ordering::Release);
        let number = LAST.fetch_add(1, Ordering::Relaxed).wrapping_add(1).max(1);
        WORD.store(number, Ordering::Release);
        let held = Self(());
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let before = USED.load(Ordering::Relaxed);
            let mut fits = true;
            let listed = for_each_thread(&mut |thread| {
                let known = slots()
                    .iter()
                    .any(|slot| slot.thread.load(Ordering::Relaxed) == thread);
                if !known && is_asked(thread) {
                    fits &= add(thread);
                }
            });
            if !listed || !fits {
                return Err(0);
            }
            let late = loop {
                let late = slots().iter().find(|slot| !has_answered(slot));
                if late.is_none() || Instant::now() >= deadline {
                    break late;
                }
                nap();
            };
            if let Some(late) = late {
                return Err(late.thread.load(Ordering::Relaxed));
            }
            // A thread that was started meanwhile comes with the next round.
            if USED.load(Ordering::Relaxed) == before {
                return Ok(held);
            }
        }
    }

    /// Where the held threads are.
    pub(crate) fn places(&self) -> impl Iterator<Item = Place> + Clone {
        let held = |slot: &&Slot| slot.state.load(Ordering::Acquire) == HELD;
        slots().iter().filter(held).map(|slot| Place {
            stack: slot.stack.load(Ordering::Relaxed),
            frame: slot.frame.load(Ordering::Relaxed),
            pointer: slot.pointer.load(Ordering::Relaxed),
            lent: slot.lent.load(Ordering::Relaxed),
        })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        WORD.store(0, Ordering::Release);
        // SAFETY: wakes those that wait on the word.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                WORD.as_ptr(),
                libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
                i32::MAX,
            )
        };
    }
}

/// Asks a thread. `false`: there is no slot for it, or the kernel does not let it be asked.
fn add(thread: i32) -> bool {
    let used = USED.load(Ordering::Relaxed);
    if used == SLOTS {
        return false;
    }
    // SAFETY: within the mapping of the slots.
    let slot = unsafe { &*TABLE.load(Ordering::Acquire).add(used) };
    slot.thread.store(thread, Ordering::Relaxed);
    slot.state.store(ASKED, Ordering::Relaxed);
    USED.store(used + 1, Ordering::Release);
    let asked = ask(thread);
    if asked == Ok(None) {
        slot.state.store(GONE, Ordering::Relaxed);
    }
    asked.is_ok()
}

/// Whether a thread is held, or has ended.
fn has_answered(slot: &Slot) -> bool {
    if slot.state.load(Ordering::Acquire) != ASKED {
        return true;
    }
    let gone = has_ended(slot.thread.load(Ordering::Relaxed));
    let asked = slot.state.load(Ordering::Acquire) == ASKED;
    if gone && asked {
        slot.state.store(GONE, Ordering::Relaxed);
    }
    gone || !asked
}

/// Whether a thread has ended.
fn has_ended(thread: i32) -> bool {
    // SAFETY: no signal; this asks whether there is such a thread.
    let asked = unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, 0) };
    if asked != 0 && io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH) {
        return true;
    }
    let mut text = [0; 512];
    let text = read(thread, "stat", &mut text);
    // Behind the name in brackets comes a letter: it has ended, and others still run.
    let name = text.iter().rposition(|byte| *byte == b')');
    let state = name.and_then(|at| text.get(at + 2));
    matches!(state, Some(b'Z' | b'X'))
}

/// A thread that would not answer for some time: it goes on to block the signal, or is stopped. One
/// that begins or ends blocks all signals for a moment. Where threads do so all the time, this
/// gives up after a while.
fn is_deaf_for_long(is_asked: impl Fn(i32) -> bool) -> Option<i32> {
    let begun = Instant::now();
    let (mut suspect, mut since) = (0, begun);
    loop {
        let mut found = None;
        // A failure shows when threads are asked.
        let _ = for_each_thread(&mut |thread| {
            if (found.is_none() || thread == suspect) && is_deaf(thread) && is_asked(thread) {
                found = Some(thread);
            }
        });
        let (found, now) = (found?, Instant::now());
        if found != suspect {
            (suspect, since) = (found, now);
        }
        if now - since >= BLOCKED {
            return Some(found);
        }
        if now - begun >= TIMEOUT {
            return None;
        }
        nap();
    }
}

/// Whether a thread blocks the signal, is stopped, or waits for a device.
fn is_deaf(thread: i32) -> bool {
    let mut text = [0; 4096];
    let text = read(thread, "status", &mut text);
    let after = |name: &[u8]| {
        let mut lines = text.split(|byte| *byte == b'\n');
        let found = lines.find_map(|line| line.strip_prefix(name));
        found.unwrap_or_default().trim_ascii()
    };
    if matches!(after(b"State:").first(), Some(b'T' | b't' | b'D')) {
        return true;
    }
    let digits = after(b"SigBlk:");
    let mask = digits.iter().fold(0_u64, |mask, digit| {
        mask << 4 | u64::from(char::from(*digit).to_digit(16).unwrap_or(0))
    });
    mask >> (SIGNAL - 1) & 1 != 0
}

/// Whether a thread is the kernel's.
fn is_of_kernel(thread: i32) -> bool {
    is_kernel_worker(read(thread, "stat", &mut [0; 512]))
}

/// Sleeps for a moment.
fn nap() {
    let time = libc::timespec {
        tv_sec: 0,
        tv_nsec: BETWEEN.subsec_nanos().into(),
    };
    // SAFETY: a time.
    unsafe { libc::nanosleep(&raw const time, ptr::null_mut()) };
}

/// Reads a file of a thread's; empty if there is none. Takes no memory.
fn read<'t>(thread: i32, file: &str, into: &'t mut [u8]) -> &'t [u8] {
    let mut path = [0; 64];
    let written = write!(&mut path[..63], "/proc/self/task/{thread}/{file}");
    debug_assert!(written.is_ok(), "there is room");
    // SAFETY: the path ends with a zero, as there is room for one; the slice is there.
    unsafe {
        let opened = libc::open(path.as_ptr().cast(), libc::O_RDONLY | libc::O_CLOEXEC);
        if opened < 0 {
            return &[];
        }
        let length = libc::read(opened, into.as_mut_ptr().cast(), into.len());
        libc::close(opened);
        &into[..usize::try_from(length).unwrap_or(0)]
    }
}

/// Calls `f` with the numbers of all threads. Takes no memory. `false`: they cannot be listed.
fn for_each_thread(f: &mut dyn FnMut(i32)) -> bool {
    /// Where the length and the name of an entry are.
    const LENGTH: usize = 16;
    const NAME: usize = 19;
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC;
    // SAFETY: a path that ends with a zero.
    let opened = unsafe { libc::open(c"/proc/self/task".as_ptr(), flags) };
    if opened < 0 {
        return false;
    }
    let mut bytes = [0_u8; 4096];
    let listed = loop {
        // SAFETY: the kernel writes to the array at most.
        let length = unsafe {
            libc::syscall(
                libc::SYS_getdents64,
                opened,
                bytes.as_mut_ptr(),
                bytes.len(),
            )
        };
        let Ok(length) = usize::try_from(length) else {
            break false;
        };
        if length == 0 {
            break true;
        }
        let mut at = 0;
        while at + NAME < length {
            let entry = usize::from(u16::from_ne_bytes([
                bytes[at + LENGTH],
                bytes[at + LENGTH + 1],
            ]));
            let digits = bytes[at + NAME..length]
                .iter()
                .take_while(|byte| byte.is_ascii_digit());
            let number = digits.fold(0, |number, digit| number * 10 + i32::from(digit - b'0'));
            if number != 0 {
                f(number);
            }
            at += entry.max(NAME);
        }
    };
    // SAFETY: opened above.
    unsafe { libc::close(opened) };
    listed
}
