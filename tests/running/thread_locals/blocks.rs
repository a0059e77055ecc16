//! How blocks are made, renewed and kept; and clusters of other kinds beside these.

use super::{builder, for_each_kind, moving};
use crate::support;
use fibre::{Builder, Cluster};
use std::cell::Cell;
use std::collections::HashSet;
use std::io::ErrorKind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use support::process::{errors, plays, spawn_child};

thread_local!(static CELL: Cell<usize> = const { Cell::new(0) });

/// The address of the caller's value.
fn place() -> usize {
    CELL.with(|cell| std::ptr::from_ref(cell).addr())
}

/// Fibres that are there at the same time have different blocks; later ones use these again, also
/// in a cluster to come.
#[test]
fn blocks_are_used_again() {
    const FIBRES: usize = 300;
    let all_places = || {
        let cluster = builder().processors(2).build().unwrap();
        let places = Arc::new(Mutex::new(Vec::new()));
        let fibres: Vec<_> = (0..FIBRES)
            .map(|number| {
                let places = Arc::clone(&places);
                cluster.spawn(move || {
                    CELL.set(number);
                    places.lock().unwrap().push(place());
                    while places.lock().unwrap().len() < FIBRES {
                        fibre::sleep(Duration::from_millis(1));
                    }
                    assert_eq!(CELL.get(), number);
                })
            })
            .collect();
        fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
        cluster.stop();
        let places: HashSet<usize> = places.lock().unwrap().iter().copied().collect();
        assert_eq!(places.len(), FIBRES);
        places
    };
    let (first, second) = (all_places(), all_places());
    let again = first.intersection(&second).count();
    assert!(again > FIBRES / 2, "{again} of {FIBRES}");
}

/// Stacks of all sizes, and those that are wiped.
#[test]
fn stacks_of_all_sizes_have_blocks() {
    for wipe in [false, true] {
        let cluster = builder().processors(2).wipe_stacks(wipe).build().unwrap();
        for size in [32 << 10, 64 << 10, 1 << 20, 64 << 20] {
            for number in 0..5 {
                let fibre = Builder::new().stack_size(size).spawn_in(&cluster, move || {
                    assert_eq!(CELL.replace(number), 0);
                    fibre::yield_now();
                    CELL.get()
                });
                assert_eq!(fibre.unwrap().join().unwrap(), number);
            }
        }
        cluster.stop();
    }
}

/// Each run of an activity begins with the thread-locals of a new thread.
#[test]
fn runs_of_activities_are_threads() {
    use fibre::activity::{Activity, Work};
    struct Counts(AtomicUsize);
    impl Work for Counts {
        fn run(this: &Activity<Self>) {
            assert_eq!(CELL.replace(1), 0);
            fibre::yield_now();
            assert_eq!(CELL.get(), 1);
            this.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    for_each_kind(|_| {
        let activity = Activity::new(None, Counts(AtomicUsize::new(0))).unwrap();
        for round in 1..=50 {
            activity.schedule().unwrap();
            support::eventually(|| activity.0.load(Ordering::Relaxed) == round);
        }
    });
}

/// Clusters of both kinds work side by side. Fibres of one call into the other, and do not go
/// there.
#[test]
fn both_kinds_are_side_by_side() {
    // SAFETY: the fibres below keep nothing that belongs to a kernel thread.
    let plain = unsafe { Cluster::builder().processors(2).move_started_fibres() };
    let plain = plain.build().unwrap();
    for_each_kind(move |own| {
        CELL.set(5);
        let theirs = plain.spawn(|| (CELL.replace(0), fibre::in_fibre()));
        assert_eq!(theirs.join().unwrap(), (0, true));
        assert_eq!(CELL.get(), 5);
        let (there, here) = (plain.clone(), own.clone());
        let refused = fibre::migrate_to(&there).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Unsupported);
        let refused = plain.spawn(move || fibre::migrate_to(&here).unwrap_err().kind());
        assert_eq!(refused.join().unwrap(), ErrorKind::Unsupported);
        assert_eq!(CELL.get(), 5);
    });
}

/// A fibre takes its thread-locals along to another cluster of its kind.
#[test]
fn fibres_migrate_with_their_values() {
    let other = moving().processors(2).build().unwrap();
    for_each_kind(move |home| {
        let (home, other) = (home.clone(), other.clone());
        let traveller = fibre::spawn(move || {
            let at = place();
            for number in 0..20 {
                CELL.set(number);
                fibre::migrate_to(if number % 2 == 0 { &other } else { &home }).unwrap();
                assert_eq!((CELL.get(), place()), (number, at));
            }
        });
        traveller.join().unwrap();
    });
}

/// The environment asks for it, and the fibres of the process's first cluster have it.
#[test]
fn the_environment_asks_for_it() {
    if !plays("asked") {
        let output = spawn_child("asked", &[("FIBRE_THREAD_LOCALS", "own")]);
        assert_eq!(errors(&output), "");
        return;
    }
    let fibres: Vec<_> = (1..=20)
        .map(|number| {
            fibre::spawn(move || {
                CELL.set(number);
                fibre::yield_now();
                CELL.get() == number
            })
        })
        .collect();
    assert!(fibres.into_iter().all(|fibre| fibre.join().unwrap()));
}

/// What a fibre that never runs again has set is not the next one's.
#[test]
fn fibres_that_are_left_behind_keep_their_blocks() {
    let cluster = builder().processors(1).build().unwrap();
    let (begun, told) = std::sync::mpsc::channel();
    let go = Arc::new(AtomicUsize::new(0));
    let until = Arc::clone(&go);
    cluster.spawn(move || {
        CELL.set(9);
        begun.send(place()).unwrap();
        while until.load(Ordering::Acquire) == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        until.store(CELL.get(), Ordering::Release);
    });
    let there = told.recv().unwrap();
    let moment = Duration::from_millis(20);
    assert!(cluster.stop_within(moment, moment).is_err());
    let next = builder().processors(1).build().unwrap();
    let fibres: Vec<_> = (0..20)
        .map(|_| next.spawn(|| (CELL.get(), place())))
        .collect();
    for fibre in fibres {
        let (value, place) = fibre.join().unwrap();
        assert_eq!(value, 0);
        assert_ne!(place, there);
    }
    next.stop();
    go.store(1, Ordering::Release);
    support::eventually(|| go.load(Ordering::Acquire) == 9);
}

/// A stack that is lent for a call may have the block of an ended fibre, which the call leaves
/// alone.
#[test]
fn calls_on_big_stacks_spare_blocks() {
    /// Uses so many frames, each filled with what no block has.
    fn fill(depth: usize) -> usize {
        let frame = std::hint::black_box([usize::MAX - depth; 32]);
        if depth == 0 {
            frame[0]
        } else {
            fill(depth - 1) ^ frame[depth % 32]
        }
    }
    for_each_kind(|cluster| {
        for size in [64 << 10, 1 << 20] {
            for _ in 0..20 {
                let sized = || Builder::new().stack_size(size);
                let ended = sized().spawn_in(cluster, || CELL.replace(1)).unwrap();
                assert_eq!(ended.join().unwrap(), 0);
                fibre::on_big_stack(size, || fill(50)).unwrap();
                let next = sized().spawn_in(cluster, || CELL.replace(1)).unwrap();
                assert_eq!(next.join().unwrap(), 0);
                std::thread::spawn(|| ()).join().unwrap();
            }
        }
    });
}

/// Nothing that a fibre had on its stack, or in a thread-local, can be read after its end where
/// stacks are wiped.
#[test]
fn wiped_stacks_keep_nothing() {
    use std::os::unix::fs::FileExt;
    const SECRET: usize = 0x5ec2_e75e_c2e7_5ec2;
    let cluster = builder().processors(1).wipe_stacks(true).build().unwrap();
    let places = cluster.spawn(|| {
        CELL.set(SECRET);
        let local = std::hint::black_box([SECRET; 8]);
        [place(), (&raw const local).addr()]
    });
    let places = places.join().unwrap();
    cluster.stop();
    let memory = std::fs::File::open("/proc/self/mem").unwrap();
    for place in places {
        let mut word = [0; 8];
        // It may not be mapped any more.
        let read = memory.read_exact_at(&mut word, place as u64);
        assert!(read.is_err() || usize::from_ne_bytes(word) != SECRET);
    }
}

/// A library that is loaded while there are blocks has its thread-locals in them: each fibre begins
/// with the first values, whatever model the library uses, and its destructors of C run.
#[test]
fn libraries_may_be_loaded_later() {
    const SOURCE: &str = "#include <threads.h>
        static _Thread_local int value = 7;
        static _Thread_local char many[64];
        int exchange(int next) { int before = value; value = next; many[5]++; return before; }
        int count(void) { return many[5]; }";
    let folder = std::env::temp_dir().join(format!("fibre-thread-locals-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let source = folder.join("library.c");
    std::fs::write(&source, SOURCE).unwrap();
    for model in ["initial-exec", "global-dynamic"] {
        let library = folder.join(format!("{model}.so"));
        let mut compiler = std::process::Command::new("cc");
        compiler.args(["-shared", "-fPIC", &format!("-ftls-model={model}"), "-o"]);
        let built = compiler.arg(&library).arg(&source).status().unwrap();
        assert!(built.success());
        let name = std::ffi::CString::new(library.to_str().unwrap()).unwrap();
        for_each_kind(move |_| {
            // Blocks that are older than the library.
            super::crowd(20, &Arc::new(|_| fibre::yield_now()));
            // SAFETY: the library above, which runs nothing when it is loaded.
            let functions = unsafe {
                let library = libc::dlopen(name.as_ptr(), libc::RTLD_NOW);
                assert!(!library.is_null());
                [c"exchange", c"count"].map(|name| libc::dlsym(library, name.as_ptr()).addr())
            };
            let body = Arc::new(move |number: usize| {
                let [exchange, count] = functions.map(std::ptr::without_provenance::<()>);
                // SAFETY: functions of these types, of a library that stays.
                let (exchange, count) = unsafe {
                    (
                        std::mem::transmute::<*const (), extern "C" fn(i32) -> i32>(exchange),
                        std::mem::transmute::<*const (), extern "C" fn() -> i32>(count),
                    )
                };
                assert_eq!((exchange(number as i32), count()), (7, 1));
                fibre::yield_now();
                assert_eq!((exchange(0), count()), (number as i32, 2));
            });
            for _ in 0..5 {
                super::crowd(20, &body);
            }
        });
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
