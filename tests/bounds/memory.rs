//! What stacks occupy, and when it goes back. Cases that look at the memory of the whole process
//! have one of their own: the test starts itself again in another role.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use crate::support;

use fibre::{Builder, Cluster, ClusterBuilder};
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use support::process::{errors, plays, spawn_child};
use support::{Latch, eventually, watched};

/// Bytes.
const MIB: usize = 1 << 20;

/// Uses `bytes` of stack, all of it, and a little more.
fn dig(bytes: usize) -> usize {
    let here = 0_u8;
    dig_down_to((&raw const here).addr() - bytes)
}

/// Recurses until the stack has grown down to this address.
fn dig_down_to(bottom: usize) -> usize {
    let frame = black_box([1_u8; 1024]);
    if frame.as_ptr().addr() <= bottom {
        return frame.len();
    }
    dig_down_to(bottom) + usize::from(black_box(&frame)[17])
}

/// Bytes of this process that are in memory.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}

/// A cluster whose stacks have the default size, whatever the environment says.
fn builder(processors: usize) -> ClusterBuilder {
    let builder = Cluster::builder().processors(processors);
    builder.stack_size(256 * 1024).wipe_stacks(false)
}

/// Has `count` fibres blocked at once, the `i`th after it has used `depth(i)` bytes of stack;
/// calls `meanwhile`, and waits for their ends.
fn blocked_at_once(
    cluster: &Cluster,
    count: usize,
    depth: impl Fn(usize) -> usize,
    meanwhile: impl FnOnce(),
) {
    let latch = Latch::new();
    let blocked = Arc::new(AtomicUsize::new(0));
    let handles: Vec<_> = (0..count)
        .map(|i| {
            let (latch, blocked, depth) = (Arc::clone(&latch), Arc::clone(&blocked), depth(i));
            cluster.spawn(move || {
                black_box(dig(depth));
                blocked.fetch_add(1, Ordering::SeqCst);
                latch.wait();
            })
        })
        .collect();
    eventually(|| blocked.load(Ordering::SeqCst) == count);
    meanwhile();
    latch.open();
    handles
        .into_iter()
        .for_each(|handle| handle.join().unwrap());
}

/// Runs the calling test in a process of its own.
fn alone(body: impl FnOnce() + Send + 'static) {
    if plays("alone") {
        return watched(body);
    }
    let output = spawn_child("alone", &[]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &errors(&output);
    assert!(output.status.success(), "{}: {text}", output.status);
}

/// [`alone`], for cases that measure memory: not with the sanitizer, which has its own for each
/// byte of ours, and keeps what is freed.
fn measured(body: impl FnOnce() + Send + 'static) {
    if !cfg!(feature = "sanitizer") {
        alone(body);
    }
}

/// Memory of a burst comes back although the processors have nothing more to do.
#[test]
fn memory_of_a_burst_comes_back() {
    measured(|| {
        const FIBRES: usize = 4000;
        let cluster = builder(2).build().unwrap();
        let before = resident();
        blocked_at_once(
            &cluster,
            FIBRES,
            |_| 60 * 1024,
            || {
                assert!(resident() > before + FIBRES * 56 * 1024);
            },
        );
        eventually(|| resident() < before + 16 * MIB);
        cluster.stop();
    });
}

/// Fibres that seldom recurse deeply do not make all stacks deep, although the same stacks go
/// round all the time.
#[test]
fn deep_recursion_does_not_accumulate() {
    measured(|| {
        const FIBRES: usize = 2000;
        const DEEP: usize = 200 * 1024;
        let cluster = builder(1).build().unwrap();
        let mut most = 0;
        for round in 0..60 {
            let depth = |i: usize| if i % 20 == round % 20 { DEEP } else { 0 };
            blocked_at_once(&cluster, FIBRES, depth, || most = most.max(resident()));
        }
        // Were all of them deep, it would be 400 MiB.
        assert!(most < 160 * MIB, "{} MiB", most / MIB);
        cluster.stop();
    });
}

/// A hundred thousand blocked fibres cost a page each, and few mappings.
#[test]
fn blocked_fibres_cost_a_page_each() {
    measured(|| {
        const FIBRES: usize = 100_000;
        let cluster = builder(2).build().unwrap();
        let before = resident();
        blocked_at_once(
            &cluster,
            FIBRES,
            |_| 0,
            || {
                let each = (resident() - before) / FIBRES;
                // Builds without optimisation need two pages more.
                let pages = if cfg!(debug_assertions) { 3 } else { 2 };
                assert!(each < 4096 * pages + 1024, "{each} bytes each");
                let mappings = std::fs::read_to_string("/proc/self/maps").unwrap();
                assert!(mappings.lines().count() < 4000);
            },
        );
        cluster.stop();
    });
}

/// The statistics know how many stacks there are, who is on them, and how deep it went.
#[test]
fn statistics_are_right() {
    alone(|| {
        const FIBRES: usize = 100;
        const SIZE: usize = 512 * 1024;
        let class = || {
            let classes = fibre::stack_statistics();
            classes.into_iter().find(|class| class.size == SIZE)
        };
        assert_eq!(class(), None);
        let cluster = Cluster::builder().processors(2).stack_size(SIZE);
        let cluster = cluster.build().unwrap();
        let depth = |i| if i == 17 { 300 * 1024 } else { 0 };
        blocked_at_once(&cluster, FIBRES, depth, || {
            let class = class().unwrap();
            assert_eq!(class.in_use, FIBRES);
            assert!(class.existing >= FIBRES);
            assert!(class.resident >= FIBRES * 4096 + 300 * 1024, "{class:?}");
            assert!((300 * 1024..SIZE).contains(&class.deepest), "{class:?}");
        });
        eventually(|| class().unwrap().in_use == 0);
        assert!(class().unwrap().deepest >= 300 * 1024);
        cluster.stop();
        let class = class().unwrap();
        assert_eq!((class.cached, class.resident), (0, 0), "{class:?}");
    });
}

/// A fibre can ask how deep it has been.
#[test]
fn fibres_know_how_deep_they_were() {
    let cluster = builder(1).build().unwrap();
    let used = cluster.spawn(|| {
        let before = fibre::stack_used().unwrap();
        black_box(dig(100 * 1024));
        (before, fibre::stack_used().unwrap())
    });
    let (before, after) = used.join().unwrap();
    assert!(before < 32 * 1024, "{before}");
    assert!((100 * 1024..160 * 1024).contains(&after), "{after}");
    assert_eq!(fibre::stack_used(), None);
    cluster.stop();
}

/// Whether a fibre can read what the one before has left on their stack, if the process does
/// `before` that when it has a stack already. `None`: that took so long that the stack has been
/// given up.
fn secrets_stay(wipes: bool, before: impl FnOnce()) -> Option<bool> {
    const SECRET: usize = 0x5ec7e7;
    let cluster = builder(1).wipe_stacks(wipes).build().unwrap();
    cluster.spawn(|| ()).join().unwrap();
    before();
    let place = Arc::new(AtomicPtr::new(std::ptr::null_mut()));
    let told = Arc::clone(&place);
    let leave = move || {
        let deep = black_box([SECRET; 4096]);
        told.store(std::ptr::from_ref(&deep[7]).cast_mut(), Ordering::SeqCst);
    };
    cluster.spawn(leave).join().unwrap();
    let found = Builder::new().spawn_in(&cluster, move || {
        let address = place.load(Ordering::SeqCst);
        let here = 0_u8;
        let distance = (&raw const here).addr().wrapping_sub(address.addr());
        // SAFETY: below our frame on our own stack, which is mapped, and used by nobody.
        (distance < 256 * 1024).then(|| unsafe { address.read_volatile() })
    });
    let found = found.unwrap().join().unwrap();
    cluster.stop();
    found.map(|found| found == SECRET)
}

/// What a fibre leaves on its stack the next one cannot read, if the cluster wipes its stacks.
#[test]
fn wiped_stacks_hold_nothing() {
    // Pages that nobody has needed for a while are gone, too.
    eventually(|| secrets_stay(false, || ()) == Some(true));
    eventually(|| {
        let stay = secrets_stay(true, || ());
        assert_ne!(stay, Some(true));
        stay.is_some()
    });
}

/// Nor in a process that locks all the memory that it has when it has stacks.
#[test]
fn wiped_stacks_hold_nothing_though_locked() {
    alone(|| {
        let lock = || {
            // SAFETY: no pointers.
            if unsafe { libc::mlockall(libc::MCL_CURRENT) } != 0 {
                println!("this process may not lock its memory: not tested");
            }
        };
        eventually(|| {
            let stay = secrets_stay(true, lock);
            assert_ne!(stay, Some(true));
            stay.is_some()
        });
    });
}
