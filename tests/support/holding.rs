//! An allocator that notes what is allocated and freed while a short lock is held. Whoever includes
//! this makes it the program's. Only debug builds tell of locks.

use std::alloc::{GlobalAlloc, Layout, System};
use std::backtrace::Backtrace;
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

thread_local! {
    /// How many short locks the thread holds.
    static HELD: Cell<u32> = const { Cell::new(0) };
    /// What the thread has allocated and freed meanwhile.
    static NOTED: Cell<usize> = const { Cell::new(0) };
}

/// What all threads have.
static ALL: AtomicUsize = AtomicUsize::new(0);

/// Of how many the place is told.
const TOLD: usize = 5;

/// The system's allocator, which is watched.
pub struct Watched;

/// Notes a call of the allocator.
fn note() {
    if HELD.try_with(Cell::get).unwrap_or(0) > 0 {
        let _ = NOTED.try_with(|noted| noted.set(noted.get() + 1));
        ALL.fetch_add(1, Relaxed);
    }
}

/// Hears of locks. Tells of a place when the lock has been given back, as that allocates.
fn hear(is_taken: bool) {
    let held = match is_taken {
        true => HELD.get() + 1,
        false => HELD.get() - 1,
    };
    HELD.set(held);
    thread_local! {
        /// How many have been told of.
        static TOLD_OF: Cell<usize> = const { Cell::new(0) };
    }
    let (told, noted) = (TOLD_OF.get(), NOTED.get());
    if held == 0 && told < noted {
        TOLD_OF.set(noted);
        if ALL.load(Relaxed) <= TOLD {
            let place = Backtrace::force_capture();
            eprintln!("memory is allocated or freed under a short lock, given back here:\n{place}");
        }
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
    NOTED.get()
}

/// What all threads have, without the check of [`begin`].
pub fn all() -> usize {
    ALL.load(Relaxed)
}
