//! The allocator runs out of memory: a spawn is an error, the closure comes to its end, and nothing
//! is counted or kept. The executable has an allocator of its own, which fails when a thread wants
//! it to.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use fibre::channel::bounded;
use fibre::select::after;
use fibre::sync::{AutoEvent, Event, Semaphore};
use fibre::{Builder, Cluster, WaitKind, select};
use std::alloc::{GlobalAlloc, Layout, System};
use std::io::ErrorKind;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use support::process::{end_after, plays, spawn_child};
use support::{Drops, eventually, processor_counts, watched};

/// The kernel's number of the thread whose allocations fail; zero for none.
static STARVED: AtomicI32 = AtomicI32::new(0);

/// Whether memory comes from nowhere near the system's allocator, and is never given back.
static ELSEWHERE: AtomicBool = AtomicBool::new(false);

/// The mapping that it comes from then, and how much of that is in use.
static FIELD: AtomicUsize = AtomicUsize::new(0);
static USED: AtomicUsize = AtomicUsize::new(0);
const FIELD_SIZE: usize = 1 << 30;

/// Takes a block of the mapping.
fn elsewhere(layout: Layout) -> *mut u8 {
    let field = FIELD.load(Ordering::Relaxed);
    let size = layout.size() + layout.align();
    let at = field + USED.fetch_add(size, Ordering::Relaxed);
    assert!(at + size <= field + FIELD_SIZE, "the mapping is used up");
    std::ptr::with_exposed_provenance_mut(at.next_multiple_of(layout.align()))
}

/// Held while there is one.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The system's allocator, with failures.
struct Failing;

// SAFETY: the system's allocator, or null.
unsafe impl GlobalAlloc for Failing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let starved = STARVED.load(Ordering::Relaxed);
        if starved != 0 && starved == support::kernel_thread() {
            return std::ptr::null_mut();
        }
        if ELSEWHERE.load(Ordering::Relaxed) {
            return elsewhere(layout);
        }
        // SAFETY: passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let field = FIELD.load(Ordering::Relaxed);
        if field != 0 && (field..field + FIELD_SIZE).contains(&block.addr()) {
            return;
        }
        // SAFETY: passed on.
        unsafe { System.dealloc(block, layout) };
    }
}

#[global_allocator]
static ALLOCATOR: Failing = Failing;

/// Calls `f` while no allocation of this thread succeeds. `f` must not leave its thread.
fn starved<R>(f: impl FnOnce() -> R) -> R {
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    STARVED.store(support::kernel_thread(), Ordering::Relaxed);
    let result = f();
    STARVED.store(0, Ordering::Relaxed);
    result
}

/// What is captured by the closures of these tests: blocks of that size are not kept by processors.
const CARGO: [u64; 100] = [7; 100];

/// Spawns in all ways that report errors; each is refused, drops its closure, and leaves nothing
/// counted.
fn all_are_refused(cluster: &Cluster) {
    let live = cluster.live();
    for eager in [false, true] {
        let builder = || {
            if eager {
                Builder::new().eager_stack()
            } else {
                Builder::new()
            }
        };
        let drops = Drops::new();
        let (here, there) = (drops.value(), drops.value());
        let refused = [
            starved(|| builder().spawn_in(cluster, move || (CARGO, here)).map(drop)),
            if fibre::id().is_some() {
                starved(|| builder().spawn(move || (CARGO, there)).map(drop))
            } else {
                drop(there);
                Err(ErrorKind::OutOfMemory.into())
            },
        ];
        for refused in refused {
            assert_eq!(refused.unwrap_err().kind(), ErrorKind::OutOfMemory);
        }
        assert_eq!(drops.count(), 2);
        if fibre::id().is_some() {
            fibre::scope(|scope| {
                let refused = starved(|| builder().spawn_scoped(scope, || CARGO).map(drop));
                assert_eq!(refused.unwrap_err().kind(), ErrorKind::OutOfMemory);
            });
        }
    }
    eventually(|| cluster.live() == live);
}

#[test]
fn without_memory_a_thread_is_refused() {
    for processors in processor_counts() {
        watched(move || {
            let cluster = Cluster::builder().processors(processors).build().unwrap();
            all_are_refused(&cluster);
            assert_eq!(cluster.spawn(|| CARGO.len()).join().unwrap(), 100);
            cluster.stop();
        });
    }
}

#[test]
fn without_memory_a_fibre_is_refused() {
    support::for_each_cluster(|cluster| {
        all_are_refused(cluster);
        assert_eq!(fibre::spawn(|| CARGO.len()).join().unwrap(), 100);
    });
}

/// Inheriting takes no memory. What is to be shown of it takes some, and is left out without.
#[test]
fn without_memory_a_fibre_inherits() {
    fibre::scoped_local!(static REQUEST: u64 = shown("request"));
    support::for_clusters(&[1], |_| {
        REQUEST.with(7, || {
            let looks = || (REQUEST.get(), fibre::labels());
            // Its block is kept for the next one.
            let (request, shown) = fibre::spawn(looks).join().unwrap();
            assert_eq!((request, &*shown), (Some(7), "request=7"));
            let child = starved(|| fibre::spawn(looks));
            let (request, shown) = child.join().unwrap();
            assert_eq!((request, &*shown), (Some(7), ""));
        });
    });
}

/// The error for another reason needs an allocation of its own, which must not be the end.
#[test]
fn a_refusal_for_another_reason_needs_no_memory() {
    let cluster = Cluster::builder()
        .processors(1)
        .max_fibres(1)
        .build()
        .unwrap();
    let inside = cluster.clone();
    let only = cluster.spawn(move || {
        // Blocks of this size are kept from this one on.
        let warm = starved(|| Builder::new().spawn_in(&inside, || ()).map(drop));
        warm.unwrap_err().kind()
    });
    let kind = only.join().unwrap();
    assert!(
        matches!(kind, ErrorKind::WouldBlock | ErrorKind::OutOfMemory),
        "{kind:?}"
    );
    cluster.stop();
}

/// Selects in vain among things of many kinds, for a moment and not at all, and then takes one that
/// is there.
#[allow(
    clippy::cognitive_complexity,
    reason = "what `select!` expands to is counted"
)]
fn select_among_many(starve: bool) {
    let (permits, event, never) = (Semaphore::new(0), AutoEvent::new(), Event::new());
    let (_sender, receiver) = bounded::<u32>(1);
    let waits = || {
        let ticks = select! {
            _permit = permits.permit_arm() => 0,
            () = event.wait_arm() => 1,
            () = never.wait_arm() => 2,
            recv(receiver) -> _ => 3,
            _ = after(Duration::from_millis(1)) => 4,
        };
        let nothing = select! {
            biased;
            _permit = permits.permit_arm(), if ticks == 4 => 0,
            Ok(_) = receiver.recv_arm() => 1,
            default => 2,
        };
        event.set();
        let set = select! {
            _permit = permits.permits_arm(2) => 0,
            () = event.wait_arm() => 1,
            default(Duration::from_secs(1000)) => 2,
        };
        (ticks, nothing, set)
    };
    let chosen = if starve { starved(waits) } else { waits() };
    assert_eq!(chosen, (4, 2, 1));
}

/// A selection allocates nothing, on a thread and in a fibre: an allocation that failed would end
/// the process.
#[test]
fn selections_need_no_memory() {
    watched(|| select_among_many(true));
    let cluster = Cluster::builder().processors(1).build().unwrap();
    let selects = || {
        // The processor's own memory, for deadlines and the like.
        select_among_many(false);
        select_among_many(true);
    };
    cluster.spawn(selects).join().unwrap();
    cluster.stop();
}

/// Where the blocks of fibres are not known, a search for stuck ones says so.
#[test]
#[cfg(not(feature = "sanitizer"))]
fn a_search_says_that_it_does_not_know_the_allocator() {
    if !plays("elsewhere") {
        let output = spawn_child("elsewhere", &[]);
        assert!(output.status.success(), "{output:?}");
        return;
    }
    end_after(Duration::from_secs(60));
    // SAFETY: a new mapping.
    let field = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            FIELD_SIZE,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    assert_ne!(field, libc::MAP_FAILED);
    FIELD.store(field.expose_provenance(), Ordering::Relaxed);
    ELSEWHERE.store(true, Ordering::Relaxed);
    drop(fibre::spawn(|| Event::new().wait()));
    let waits = || {
        fibre::waits()
            .iter()
            .any(|wait| wait.awaited.kind() == WaitKind::Event)
    };
    eventually(waits);
    let error = fibre::stuck().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("glibc's malloc"), "{error}");
}
