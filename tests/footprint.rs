//! What the runtime allocates where programs do not expect it. The executable has an allocator of
//! its own, which counts what a thread asks for.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use fibre::{Cluster, ClusterBuilder};
use std::alloc::{GlobalAlloc, Layout, System};
use std::fs;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use support::{eventually, kernel_thread, watched};

/// The kernel's number of the thread whose allocations are counted; zero for none.
static COUNTED: AtomicI32 = AtomicI32::new(0);
/// How often it has asked for memory.
static TIMES: AtomicUsize = AtomicUsize::new(0);
/// How many bytes it has been given and has not given back.
static BYTES: AtomicUsize = AtomicUsize::new(0);

/// Held by the test that counts.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The system's allocator, which counts.
struct Counting;

/// Whether this thread is the one whose allocations are counted.
fn is_counted() -> bool {
    let counted = COUNTED.load(Ordering::Relaxed);
    counted != 0 && counted == kernel_thread()
}

// SAFETY: the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_counted() {
            TIMES.fetch_add(1, Ordering::Relaxed);
            BYTES.fetch_add(layout.size(), Ordering::Relaxed);
        }
        // SAFETY: passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if is_counted() {
            BYTES.fetch_sub(layout.size(), Ordering::Relaxed);
        }
        // SAFETY: passed on.
        unsafe { System.dealloc(block, layout) };
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Calls `f`; returns how often this thread asked for memory meanwhile, and how many bytes it has
/// kept.
fn counted<R>(thread: i32, f: impl FnOnce() -> R) -> (R, usize, usize) {
    TIMES.store(0, Ordering::Relaxed);
    BYTES.store(1 << 40, Ordering::Relaxed);
    COUNTED.store(thread, Ordering::Relaxed);
    let result = f();
    COUNTED.store(0, Ordering::Relaxed);
    let kept = BYTES.load(Ordering::Relaxed) - (1 << 40);
    (result, TIMES.load(Ordering::Relaxed), kept)
}

/// Waits for the other test.
fn turn() -> impl Drop {
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The thread of the process' monitor.
fn monitor() -> i32 {
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    let is_it = |task: &fs::DirEntry| {
        let name = fs::read_to_string(task.path().join("comm"));
        name.is_ok_and(|name| name == "fibre-monitor\n")
    };
    let task = tasks.map(Result::unwrap).find(is_it).unwrap();
    task.file_name().to_str().unwrap().parse().unwrap()
}

/// A cluster of two processors, where two fibres do this until they are told to end.
fn busy(moves: bool, spare: usize, round: fn()) -> impl FnOnce() {
    let builder = Cluster::builder().processors(2).max_spare_processors(spare);
    let builder = if moves {
        // SAFETY: these fibres keep nothing of a kernel thread.
        unsafe { builder.move_started_fibres() }
    } else {
        builder
    };
    let cluster = builder.build().unwrap();
    let end = Arc::new(AtomicBool::new(false));
    let begun = Arc::new(AtomicUsize::new(0));
    let fibres = [0, 1].map(|_| {
        let (begun, end) = (Arc::clone(&begun), Arc::clone(&end));
        cluster.spawn(move || {
            begun.fetch_add(1, Ordering::Relaxed);
            while !end.load(Ordering::Relaxed) {
                round();
            }
        })
    });
    eventually(|| begun.load(Ordering::Relaxed) == 2);
    move || {
        end.store(true, Ordering::Relaxed);
        fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
        cluster.stop();
    }
}

/// The monitor of a program under a limit, or that is being stopped in the allocator by a debugger,
/// had better not need any memory for what it does a hundred times in a second.
#[test]
fn the_monitor_looks_without_allocating() {
    let _turn = turn();
    watched(|| {
        for moves in [true, false] {
            let rounds: [fn(); 3] = [
                // Fibres that switch.
                || fibre::yield_now(),
                // That keep their processors by spinning.
                std::hint::spin_loop,
                // By a call that blocks the thread.
                || std::thread::sleep(Duration::from_secs(1)),
            ];
            for (number, round) in rounds.into_iter().enumerate() {
                let end = busy(moves, 2, round);
                // It learns of the cluster and of its processors, and finds those that are stuck;
                // on a busy machine that takes a while.
                let ticks = || std::thread::sleep(Duration::from_millis(200));
                let times = || counted(monitor(), ticks).1;
                let times: Vec<_> = (0..10).map(|_| times()).take_while(|n| *n > 0).collect();
                assert!(
                    times.len() < 10,
                    "in 20 ticks each, round {number}: {times:?}"
                );
                end();
            }
        }
    });
}

/// A place for a processor that may be added costs what the documentation says.
#[test]
fn a_place_for_a_processor_takes_two_kilobytes() {
    let _turn = turn();
    watched(|| {
        let bytes = |places| {
            let build = || Cluster::builder().processors(1).max_spare_processors(0);
            let build = || ClusterBuilder::max_processors(build(), places).build();
            let (cluster, times, kept) = counted(kernel_thread(), build);
            cluster.unwrap().stop();
            (kept, times)
        };
        bytes(64);
        let (few, more) = (bytes(1000), bytes(2000));
        let each = (more.0 - few.0) / 1000;
        let times = (more.1 - few.1) as f64 / 1000.0;
        println!("{each} bytes, {times} blocks");
        assert!(each <= 2200, "{each} bytes");
    });
}

/// Binding a value takes one allocation, and another one if it is shown; inheriting it takes two
/// small ones in a fibre that shows something, and no other. Nothing is kept.
#[test]
fn a_scoped_value_is_one_allocation() {
    fibre::scoped_local! {
        static PLAIN: u64;
        static SHOWN: u64 = shown("request");
    }
    let _turn = turn();
    watched(|| {
        // A spare processor may come on a busy machine, and give back what this thread has.
        let builder = Cluster::builder().processors(1).max_spare_processors(0);
        let cluster = builder.build().unwrap();
        let times = |f: &dyn Fn()| {
            let ((), times, kept) = counted(kernel_thread(), f);
            assert_eq!(kept, 0);
            times
        };
        let on_a_thread = [
            times(&|| PLAIN.with(1, || ())),
            times(&|| SHOWN.with(1, || ())),
            times(&|| assert_eq!(PLAIN.get(), None)),
        ];
        assert_eq!(on_a_thread, [1, 2, 0]);
        let in_a_fibre = cluster.spawn(move || {
            let spawns = || fibre::spawn(|| PLAIN.get()).join().unwrap();
            // Blocks of this size are kept from now on.
            assert_eq!(spawns(), None);
            // So is the memory for what the fibre itself shows.
            SHOWN.with(1, || ());
            let inherits = || times(&|| assert_eq!(spawns(), Some(1)));
            [
                times(&|| PLAIN.with(1, || ())),
                times(&|| SHOWN.with(1, || ())),
                PLAIN.with(1, inherits),
                PLAIN.with(1, || SHOWN.with(2, inherits)),
            ]
        });
        assert_eq!(in_a_fibre.join().unwrap(), [1, 2, 0, 2]);
        cluster.stop();
    });
}
