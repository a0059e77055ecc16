//! An allocator that notes what is allocated and freed while a short lock is held. Whoever includes
//! this makes it the program's. Only debug builds tell of locks.

use std::alloc::{GlobalAlloc, Layout, System};
use std::backtrace::Backtrace;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};

/// What is known of one thread.
struct Thread {
    /// How many short locks it holds.
    held: AtomicU32,
    /// What it has allocated and freed meanwhile.
    noted: AtomicUsize,
    /// Of how much of that the place has been told.
    told: AtomicUsize,
}

/// All threads, by the kernel's numbers, which are smaller than this on 64-bit machines. Pages that
/// are not used are not there.
static THREADS: [Thread; 1 << 22] = [const {
    Thread {
        held: AtomicU32::new(0),
        noted: AtomicUsize::new(0),
        told: AtomicUsize::new(0),
    }
}; 1 << 22];

/// The calling thread.
fn this() -> &'static Thread {
    // SAFETY: a call without arguments.
    let number = unsafe { libc::gettid() };
    &THREADS[number.unsigned_abs() as usize % THREADS.len()]
}

/// What all threads have.
static ALL: AtomicUsize = AtomicUsize::new(0);

/// Of how many the place is told.
const TOLD: usize = 5;

/// The system's allocator, which is watched.
pub struct Watched;

/// Notes a call of the allocator.
fn note() {
    let this = this();
    if this.held.load(Relaxed) > 0 {
        this.noted.fetch_add(1, Relaxed);
        ALL.fetch_add(1, Relaxed);
    }
}

/// Hears of locks. Tells of a place when the lock has been given back, as that allocates.
fn hear(is_taken: bool) {
    let this = this();
    let held = match is_taken {
        true => this.held.fetch_add(1, Relaxed) + 1,
        false => this.held.fetch_sub(1, Relaxed) - 1,
    };
    let noted = this.noted.load(Relaxed);
    if held == 0 && this.told.swap(noted, Relaxed) < noted && ALL.load(Relaxed) <= TOLD {
        let place = Backtrace::force_capture();
        eprintln!("memory is allocated or freed under a short lock, given back here:\n{place}");
    }
}

// SAFETY: the system's allocator.
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note();
        // SAFETY: passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        note();
        // SAFETY: passed on.
        unsafe { System.dealloc(block, layout) };
    }
}

#[global_allocator]
static ALLOCATOR: Watched = Watched;

/// Begins to watch. Checks that the allocator and the locks are heard.
pub fn begin() {
    use fibre_core::internal::{ShortLock, watch_short_locks};
    watch_short_locks(hear);
    let lock = ShortLock::new(None);
    let before = own();
    let mut held = lock.lock();
    *held = Some(Box::new(7_u64));
    drop(held);
    assert_eq!(own(), before + 1, "an allocation is not noted");
    let value = lock.lock().take();
    drop(value);
    assert_eq!(own(), before + 1);
    ALL.fetch_sub(own() - before, Relaxed);
}

/// What this thread has allocated and freed under short locks.
pub fn own() -> usize {
    this().noted.load(Relaxed)
}

/// What all threads have, without the check of [`begin`].
pub fn all() -> usize {
    ALL.load(Relaxed)
}
