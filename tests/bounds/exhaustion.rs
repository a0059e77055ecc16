//! Memory and mappings that run out: spawns are refused, all others go on, and once something has
//! come back spawns succeed again. Each case needs a process of its own. AddressSanitizer ends a
//! process that has no addresses for its own use, so cases with a limit of these are left to other
//! builds.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use crate::support;

use fibre::{Builder, Cluster, ClusterBuilder, JoinHandle, StackError};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use support::process::{child, errors, plays, spawn_child};
use support::{Latch, eventually, watched};

/// A cluster and fibres of it that are blocked.
struct Crowd {
    cluster: Cluster,
    latch: Arc<Latch>,
    blocked: Arc<AtomicUsize>,
    handles: Vec<JoinHandle<usize>>,
}

impl Crowd {
    /// A crowd of nobody.
    fn new(stack_size: usize) -> Self {
        Self::of(Cluster::builder(), stack_size)
    }

    /// The same in a cluster of this kind.
    fn of(builder: ClusterBuilder, stack_size: usize) -> Self {
        let builder = builder.processors(2).stack_size(stack_size);
        Self {
            cluster: builder.build().unwrap(),
            latch: Latch::new(),
            blocked: Arc::default(),
            handles: Vec::new(),
        }
    }

    /// Adds a fibre that blocks; the error if it cannot be spawned.
    fn add(&mut self, builder: Builder) -> std::io::Result<()> {
        let (latch, blocked) = (Arc::clone(&self.latch), Arc::clone(&self.blocked));
        let number = self.handles.len();
        let fibre = builder.spawn_in(&self.cluster, move || {
            blocked.fetch_add(1, Ordering::SeqCst);
            latch.wait();
            number
        })?;
        self.handles.push(fibre);
        Ok(())
    }

    /// How many are blocked.
    fn blocked(&self) -> usize {
        self.blocked.load(Ordering::SeqCst)
    }

    /// Lets all go on, and waits for their ends; returns how many were refused.
    fn end(&mut self) -> usize {
        self.latch.open();
        let handles = self.handles.drain(..).enumerate();
        let refused = handles.filter_map(|(number, fibre)| {
            let outcome = fibre.join();
            let payload = outcome.map(|said| assert_eq!(said, number)).err()?;
            Some(payload.downcast::<StackError>().unwrap())
        });
        refused.count()
    }
}

/// Runs the calling test in a process of its own with this environment.
#[track_caller]
fn alone(environment: &[(&str, &str)], body: impl FnOnce() + Send + 'static) {
    if plays("alone") {
        return watched(body);
    }
    let output = spawn_child("alone", environment);
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &errors(&output);
    let end = text.lines().rev().take(12).collect::<Vec<_>>().join(" / ");
    assert!(output.status.success(), "{}: {end}", output.status);
}

/// The limit of a process that may have so many bytes of addresses, or of data, more than this one
/// has now.
#[cfg(not(feature = "sanitizer"))]
fn limit_of(resource: Resource, more: u64) -> Rlimit {
    let name = if resource == Resource::As {
        "VmSize:"
    } else {
        "VmData:"
    };
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let mut line = status.lines().filter_map(|line| line.strip_prefix(name));
    let now = line.next().unwrap().trim().trim_end_matches(" kB");
    Rlimit {
        current: Some(now.parse::<u64>().unwrap() * 1024 + more),
        maximum: getrlimit(resource).maximum,
    }
}

/// Lets this process have so many bytes of addresses, or of data, more than it has now.
#[cfg(not(feature = "sanitizer"))]
fn limit(resource: Resource, more: u64) {
    setrlimit(resource, limit_of(resource, more)).unwrap();
}

/// What a process can be limited to that stacks and threads take: addresses, and those of them that
/// may be written.
#[cfg(not(feature = "sanitizer"))]
const LIMITED: [Resource; 2] = [Resource::As, Resource::Data];

/// Stacks that are kept with thread-locals for fibres to come give their addresses to other ones.
#[cfg(not(feature = "sanitizer"))]
#[test]
fn stacks_with_thread_locals_are_not_kept_from_spawns() {
    alone(&[("MALLOC_ARENA_MAX", "1")], || {
        // SAFETY: these fibres keep no references to thread-locals.
        let builder = unsafe { Cluster::builder().own_thread_locals() };
        let mut crowd = Crowd::of(builder, 16 << 20);
        for _ in 0..4 {
            crowd.add(Builder::new()).unwrap();
        }
        eventually(|| crowd.blocked() == 4);
        assert_eq!(crowd.end(), 0);
        // A stack of twice the size fits where these are.
        limit(Resource::As, 8 << 20);
        let large = || Builder::new().stack_size(32 << 20);
        eventually(|| match large().spawn_in(&crowd.cluster, || ()) {
            Ok(fibre) => fibre.join().is_ok(),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::OutOfMemory);
                false
            }
        });
    });
}

/// Addresses run out with stacks that are taken at once: the spawn that has none says so.
#[cfg(not(feature = "sanitizer"))]
#[test]
fn without_addresses_eager_spawns_are_refused() {
    alone(&[], || {
        let mut crowd = Crowd::new(4 << 20);
        crowd.add(Builder::new()).unwrap();
        eventually(|| crowd.blocked() == 1);
        limit(Resource::As, 400 << 20);
        for _ in 0..3 {
            let error = (0..200).find_map(|_| crowd.add(Builder::new().eager_stack()).err());
            let error = error.expect("200 stacks do not fit");
            assert_eq!(error.kind(), ErrorKind::OutOfMemory);
            let all = crowd.handles.len();
            assert!(all > 50, "only {all}");
            // Whoever has a stack runs.
            eventually(|| crowd.blocked() == all);
            assert_eq!(crowd.end(), 0);
            crowd.latch = Latch::new();
            crowd.blocked = Arc::default();
        }
        crowd.cluster.stop();
    });
}

/// Addresses run out with fibres that take their stacks when they run: the spawns for which there
/// are none are refused, at once, and all the others run.
#[cfg(not(feature = "sanitizer"))]
#[test]
fn what_has_been_spawned_runs() {
    alone(&[], || {
        for size in [64 << 10, 4 << 20, 16 << 20] {
            for resource in LIMITED {
                spawn_until_refused(size, resource);
            }
        }
    });
}

/// Spawns fibres with such stacks until they are refused, and again.
#[cfg(not(feature = "sanitizer"))]
fn spawn_until_refused(size: usize, resource: Resource) {
    let mut crowd = Crowd::new(size);
    crowd.add(Builder::new()).unwrap();
    eventually(|| crowd.blocked() == 1);
    limit(resource, 400 << 20);
    for _ in 0..3 {
        // Faster than they run.
        let refused = (0..10_000).find_map(|_| crowd.add(Builder::new()).err());
        assert_eq!(refused.unwrap().kind(), ErrorKind::OutOfMemory);
        let all = crowd.handles.len();
        assert!(all > 10, "only {all}");
        eventually(|| crowd.blocked() == all);
        assert_eq!(crowd.end(), 0, "some were spawned in vain");
        crowd.latch = Latch::new();
        crowd.blocked = Arc::default();
        // As many stacks as before come back.
        while crowd.handles.len() < all / 2 {
            if crowd.add(Builder::new()).is_err() {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
    crowd.end();
    crowd.cluster.stop();
    let unlimited = getrlimit(resource).maximum;
    let limit = Rlimit {
        current: unlimited,
        maximum: unlimited,
    };
    setrlimit(resource, limit).unwrap();
}

/// A program may use up its memory as soon as it has its cluster: processors that begin later need
/// none.
#[cfg(not(feature = "sanitizer"))]
#[test]
fn a_cluster_that_has_been_built_needs_no_more() {
    const PROCESSORS: usize = 48;
    // The processors share one heap, and there is no room in it that another one could not have.
    let environment = [("MALLOC_ARENA_MAX", "1"), ("FIBRE_MAX_SPARE", "0")];
    if plays("full") {
        // On one CPU, this thread comes to the limit before most of the processors begin.
        let here = rustix::thread::sched_getaffinity(None).unwrap();
        let cpu = (0..1024).find(|&cpu| here.is_set(cpu)).unwrap();
        let mut one = rustix::thread::CpuSet::new();
        one.set(cpu);
        rustix::thread::sched_setaffinity(None, &one).unwrap();
        until_harness_waits();
        let cluster = Cluster::builder().processors(PROCESSORS).build().unwrap();
        fill_memory(Resource::As, 0, 0);
        std::thread::sleep(Duration::from_millis(300));
        let refused = Builder::new().spawn_in(&cluster, || ()).is_err();
        let said = if refused { "refused" } else { "spawned" };
        // SAFETY: words that live for ever; and it ends at once, as what runs at an exit could want
        // memory.
        unsafe {
            libc::write(2, said.as_ptr().cast(), said.len());
            libc::_exit(0)
        };
    }
    for _ in 0..5 {
        let output = spawn_child("full", &environment);
        let end = errors(&output);
        assert!(output.status.success(), "{}: {end}", output.status);
    }
}

/// Fibres that have been spawned and have not begun have the promise of a stack, which costs
/// addresses and nothing else.
#[test]
fn promises_cost_no_memory() {
    const FIBRES: usize = 50_000;
    alone(&[], || {
        let resident = || {
            let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
            let pages = statm.split(' ').nth(1).unwrap();
            pages.parse::<usize>().unwrap() * 4096
        };
        let cluster = Cluster::builder().processors(1).stack_size(1 << 20);
        let cluster = cluster.build().unwrap();
        let paused = cluster.pause().unwrap();
        let before = resident();
        let spawn = |_| Builder::new().spawn_in(&cluster, || ()).unwrap();
        let fibres: Vec<_> = (0..FIBRES).map(spawn).collect();
        let each = (resident() - before) / FIBRES;
        assert!(each < 1024, "{each} bytes for each fibre");
        let mapped = fibre::stack_statistics();
        assert!(
            mapped.iter().all(|class| class.existing < 100),
            "{mapped:?}"
        );
        drop(paused);
        fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
        cluster.stop();
    });
}

/// Mappings run out, where guards cost some: eager spawns are refused while others can still
/// have mappings, and again and again.
#[test]
fn without_mappings_eager_spawns_are_refused() {
    const MOST: usize = 33_000;
    let limit = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap();
    if limit.trim().parse::<usize>().unwrap() > 2 * MOST {
        return println!("this machine allows too many mappings: not tested");
    }
    alone(&[("FIBRE_GUARD", "mprotect")], || {
        let mut crowd = Crowd::new(32 * 1024);
        for _ in 0..2 {
            let refused = (0..MOST).find_map(|_| crowd.add(Builder::new().eager_stack()).err());
            assert_eq!(refused.unwrap().kind(), ErrorKind::OutOfMemory);
            assert!(crowd.handles.len() > MOST / 2);
            // Others still have mappings.
            std::thread::spawn(|| drop(vec![0_u8; 64 << 20]))
                .join()
                .unwrap();
            assert_eq!(crowd.end(), 0);
            crowd.latch = Latch::new();
        }
        crowd.cluster.stop();
    });
}

/// A process that has locked its memory gets stacks, with guards.
#[test]
fn locked_memory_has_guards_too() {
    #[allow(unconditional_recursion, reason = "that is what it is for")]
    fn recurse(depth: usize) -> usize {
        let frame = std::hint::black_box([depth; 64]);
        recurse(depth + 1) + frame[depth % 64]
    }
    if plays("locked") {
        support::process::no_core_file();
        // SAFETY: no pointers.
        let locked = unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) } == 0;
        if !locked {
            println!("not allowed");
            return;
        }
        return watched(|| {
            let mut crowd = Crowd::new(64 * 1024);
            (0..500).for_each(|_| crowd.add(Builder::new()).unwrap());
            eventually(|| crowd.blocked() == 500);
            assert_eq!(crowd.end(), 0);
            let greedy = Builder::new().name("greedy");
            let _ = greedy
                .spawn_in(&crowd.cluster, || recurse(0))
                .unwrap()
                .join();
        });
    }
    let output = child("locked", &[]).output().unwrap();
    let (said, text) = (String::from_utf8_lossy(&output.stdout), errors(&output));
    if said.contains("not allowed") {
        return println!("this process may not lock its memory: not tested");
    }
    assert!(
        text.contains("stack overflow in fibre 'greedy'"),
        "{}: {text}",
        output.status
    );
}

/// The environment sets a limit for fibres, too.
#[test]
fn the_environment_limits_fibres() {
    alone(&[("FIBRE_MAX_FIBRES", "7")], || {
        let mut crowd = Crowd::new(64 * 1024);
        let refused = (0..8)
            .find_map(|_| crowd.add(Builder::new()).err())
            .unwrap();
        assert_eq!(refused.kind(), ErrorKind::WouldBlock);
        assert_eq!(crowd.handles.len(), 7);
        crowd.end();
        crowd.cluster.stop();
    });
}

/// Takes memory until there is next to none, and then gives back `room` bytes of it, and lets there
/// be so many addresses, or bytes of data, more.
#[cfg(not(feature = "sanitizer"))]
fn fill_memory(resource: Resource, addresses: u64, room: usize) {
    let room = Vec::<u8>::with_capacity(room);
    let mut blocks = Vec::<Vec<u8>>::with_capacity(1 << 20);
    let now = limit_of(resource, 0);
    let later = limit_of(resource, addresses);
    setrlimit(resource, now).unwrap();
    for size in (6..24).rev().map(|bit| 1 << bit) {
        loop {
            let mut block = Vec::new();
            let full = block.try_reserve_exact(size).is_err();
            if full || blocks.len() == blocks.capacity() {
                break;
            }
            blocks.push(block);
        }
    }
    std::mem::forget(blocks);
    drop(room);
    setrlimit(resource, later).unwrap();
}

/// Waits until the main thread, which has started the test, only waits for its end: until then it
/// may want memory.
#[cfg(not(feature = "sanitizer"))]
fn until_harness_waits() {
    let stat = format!("/proc/self/task/{}/stat", std::process::id());
    eventually(|| std::fs::read_to_string(&stat).unwrap().contains(") S "));
}

/// There is memory for some of a cluster's threads only, or just for all of them: it is built, or
/// that is an error.
#[cfg(not(feature = "sanitizer"))]
#[test]
fn short_of_memory_a_cluster_is_refused() {
    const MORE: &str = "MORE";
    const LIMIT: &str = "LIMITED";
    let number = |name| std::env::var(name).unwrap().parse::<u64>().unwrap();
    if plays("refused") {
        until_harness_waits();
        limit(LIMITED[number(LIMIT) as usize], number(MORE));
        let cluster = Cluster::builder().processors(12).build();
        let said = match &cluster {
            Ok(_) => "it was built",
            Err(error) if error.kind() == ErrorKind::OutOfMemory => "it was refused",
            Err(error) if error.kind() == ErrorKind::WouldBlock => "no thread was to be had",
            Err(_) => "something else",
        };
        // SAFETY: words that live for ever.
        unsafe {
            libc::write(2, said.as_ptr().cast(), said.len());
            libc::_exit(0)
        };
    }
    let mut seen = std::collections::BTreeSet::new();
    for limited in ["0", "1"] {
        for step in 0..80_u64 {
            let more = (step * (512 << 10)).to_string();
            let environment = [(MORE, &*more), (LIMIT, limited)];
            let output = spawn_child("refused", &environment);
            let end = errors(&output);
            assert!(
                output.status.success(),
                "{environment:?}: {}: {end}",
                output.status
            );
            seen.insert(end);
        }
    }
    let [built, _, ..] = &seen.iter().collect::<Vec<_>>()[..] else {
        panic!("always the same: {seen:?}")
    };
    assert_eq!(*built, "it was built", "{seen:?}");
    assert!(!seen.contains("something else"), "{seen:?}");
}

/// Memory is short before the default cluster has been started: whatever there is room for, the
/// first spawn has an error or a fibre that ends.
#[cfg(not(feature = "sanitizer"))]
#[test]
fn short_of_memory_the_first_spawn_is_refused() {
    const ADDRESSES: &str = "ADDRESSES_MORE";
    const ROOM: &str = "MEMORY_MORE";
    const LIMIT: &str = "LIMITED";
    let number = |name| std::env::var(name).unwrap().parse::<u64>().unwrap();
    if plays("first") {
        until_harness_waits();
        let resource = LIMITED[number(LIMIT) as usize];
        fill_memory(resource, number(ADDRESSES), number(ROOM) as usize);
        let said = match Builder::new().spawn(|| 7).map(JoinHandle::join) {
            Ok(Ok(_)) => "it ran",
            Ok(Err(_)) => "it had no stack",
            Err(error) if error.kind() == ErrorKind::OutOfMemory => "it was refused",
            Err(error) if error.kind() == ErrorKind::WouldBlock => "no thread was to be had",
            Err(_) => "something else",
        };
        // SAFETY: words that live for ever; and it ends at once, as what runs at an exit could want
        // memory.
        unsafe {
            libc::write(2, said.as_ptr().cast(), said.len());
            libc::_exit(0)
        };
    }
    let mut seen = std::collections::BTreeSet::new();
    for (processors, limited) in [("1", "0"), ("2", "0"), ("1", "1"), ("2", "1")] {
        for step in 0..40_u64 {
            let (addresses, room) = (step * (256 << 10), step % 8 * 1000);
            let (addresses, room) = (addresses.to_string(), room.to_string());
            let environment = [
                (ADDRESSES, &*addresses),
                (ROOM, &*room),
                (LIMIT, limited),
                ("FIBRE_PROCESSORS", processors),
            ];
            let output = spawn_child("first", &environment);
            let end = errors(&output);
            assert!(
                output.status.success(),
                "{environment:?}: {}: {end}",
                output.status
            );
            seen.extend(end.lines().last().map(str::to_owned));
        }
    }
    let known = [
        "it ran",
        "it had no stack",
        "it was refused",
        "no thread was to be had",
    ];
    assert!(seen.iter().all(|said| known.contains(&&**said)), "{seen:?}");
    assert!(
        seen.contains("it was refused") && seen.len() > 1,
        "{seen:?}"
    );
}
