//! Memory and mappings that run out: spawns are refused, all others go on, and once something has
//! come back spawns succeed again. Each case needs a process of its own.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod support;

use fibre::{Builder, Cluster, JoinHandle, StackError};
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
    /// Nobody yet.
    fn new(stack_size: usize) -> Self {
        let cluster = Cluster::builder().processors(2).stack_size(stack_size);
        Self {
            cluster: cluster.build().unwrap(),
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

    /// How many have ended.
    fn ended(&self) -> usize {
        self.handles
            .iter()
            .filter(|fibre| fibre.is_finished())
            .count()
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

/// Lets this process have so many bytes of addresses more than it has now.
fn limit_addresses(more: u64) {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = statm.split(' ').next().unwrap().parse().unwrap();
    let limit = Rlimit {
        current: Some(pages * 4096 + more),
        maximum: getrlimit(Resource::As).maximum,
    };
    setrlimit(Resource::As, limit).unwrap();
}

/// Addresses run out with stacks that are taken at once: the spawn that has none says so.
#[test]
fn without_addresses_eager_spawns_are_refused() {
    alone(&[], || {
        let mut crowd = Crowd::new(4 << 20);
        crowd.add(Builder::new()).unwrap();
        eventually(|| crowd.blocked() == 1);
        limit_addresses(400 << 20);
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

/// Addresses run out with fibres that take their stacks when they run: they end with an error,
/// and as soon as one has, spawns are refused and no more doomed fibres pile up.
#[test]
fn after_a_refusal_spawns_are_refused() {
    alone(&[], || {
        let mut crowd = Crowd::new(4 << 20);
        crowd.add(Builder::new()).unwrap();
        eventually(|| crowd.blocked() == 1);
        limit_addresses(400 << 20);
        for round in 0..3 {
            let mut refused = None;
            while refused.is_none() {
                assert!(crowd.handles.len() < 1000, "spawns are never refused");
                refused = crowd.add(Builder::new()).err();
                // As slowly as they run.
                let all = crowd.handles.len();
                eventually(|| crowd.blocked() + crowd.ended() == all);
            }
            assert_eq!(refused.unwrap().kind(), ErrorKind::OutOfMemory);
            for _ in 0..100 {
                crowd.add(Builder::new()).unwrap_err();
            }
            let doomed = crowd.end();
            // Later the spawns alone may find out.
            let fewest = usize::from(round == 0);
            assert!(
                (fewest..=4).contains(&doomed),
                "{doomed} were spawned in vain"
            );
            crowd.latch = Latch::new();
            crowd.blocked = Arc::default();
            // As many stacks as before come back.
            while crowd.handles.len() < 50 {
                if crowd.add(Builder::new()).is_err() {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
        }
        crowd.end();
        crowd.cluster.stop();
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
