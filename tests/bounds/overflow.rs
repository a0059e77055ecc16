//! Stacks that are used up, faults that are something else, and guards that run out. Each case
//! needs a process of its own: the test starts itself again in another role.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use crate::support;

use fibre::sync::Semaphore;
use fibre::{Builder, Cluster, StackError};
use std::hint::black_box;
use std::os::unix::process::ExitStatusExt;
use std::process::Output;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use support::process::{errors, no_core_file, plays, spawn_child};
#[cfg(not(feature = "sanitizer"))]
use support::stripped::run_stripped;
use support::{eventually, watched};

/// Both ways to guard a stack.
const GUARDS: [&[(&str, &str)]; 2] = [&[], &[("FIBRE_GUARD", "mprotect")]];

/// Where this file's functions are, in whatever program they are built.
const PLACE: &str = concat!(file!(), ":");

/// Uses up any stack. No other function of this program has frames of this size: optimised builds
/// fold equal functions into one, which has the place of the other.
#[allow(unconditional_recursion, reason = "that is what it is for")]
fn recurse(depth: usize) -> usize {
    let frame = black_box([depth; 66]);
    recurse(depth + 1) + frame[depth % 66]
}

/// Uses up any stack in steps of this size, touching only their ends.
#[allow(unconditional_recursion, reason = "that is what it is for")]
fn leap(depth: usize) -> usize {
    let frame = black_box([depth; 4096]);
    leap(depth + 1) + frame[depth % 64]
}

/// Checks that a process was ended by an overflow report that says all this.
#[track_caller]
fn assert_reported(output: &Output, words: &[&str]) {
    let text = errors(output);
    assert_eq!(output.status.signal(), Some(libc::SIGABRT), "{text}");
    for word in words {
        assert!(text.contains(word), "no {word:?} in {text}");
    }
}

/// An overflow ends the process with the fibre's name, number and stack size.
#[test]
fn overflow_is_reported() {
    if plays("culprit") {
        no_core_file();
        let fibre = Builder::new().name("greedy").stack_size(128 * 1024);
        let handle = fibre.spawn(|| {
            eprintln!("number {}", fibre::id().unwrap());
            fibre::label("conn", 42);
            recurse(0)
        });
        handle.unwrap().join().unwrap();
        return;
    }
    for guard in GUARDS {
        let output = spawn_child("culprit", guard);
        assert_reported(&output, &["stack overflow", "'greedy'", "131072 bytes"]);
        let text = errors(&output);
        let number = text.lines().find_map(|line| line.strip_prefix("number "));
        assert!(
            text.contains(&format!("id {}, conn=42)", number.unwrap())),
            "{text}"
        );
        assert_placed(&output, &["recurse at ", PLACE]);
    }
}

/// Checks that the report names this function among the innermost calls, and says that it has
/// called itself.
// Under the sanitizer functions have other stacks than their unwind tables say.
#[track_caller]
fn assert_placed(output: &Output, words: &[&str]) {
    if cfg!(feature = "sanitizer") {
        return;
    }
    let text = errors(output);
    let (_, calls) = text.split_once("the innermost calls:\n").expect(&text);
    let mut lines = calls.lines();
    // The instruction that has failed may be one of the compiler's own, for large frames.
    let says = |line: &str| words.iter().all(|word| line.contains(word));
    assert!(lines.by_ref().take(2).any(says), "{text}");
    assert!(lines.any(|line| line.contains(" times more")), "{text}");
}

/// A program without a table of symbols has addresses, of the file as it was linked.
#[cfg(not(feature = "sanitizer"))]
#[test]
fn overflow_in_a_stripped_program_has_addresses() {
    let own = std::thread::current().name().unwrap().to_owned();
    let (suite, _) = own.split_at(own.rfind("::").map_or(0, |place| place + 2));
    let test = format!("{suite}overflow_is_reported");
    let output = run_stripped("overflow", |command| {
        command.args(["--exact", &test, "--nocapture"]);
        command.env("FIBRE_TEST_ROLE", "culprit");
    });
    assert_reported(&output, &["stack overflow", "'greedy'", "131072 bytes"]);
    assert_placed(&output, &["    0x", " in program+0x"]);
}

/// The function is named when the process has used up its descriptors, too.
#[cfg(not(feature = "sanitizer"))]
#[test]
fn overflow_is_placed_where_files_cannot_be_opened() {
    if plays("culprit") {
        no_core_file();
        fibre::spawn(|| {
            while std::fs::File::open("/dev/null")
                .map(std::mem::forget)
                .is_ok()
            {}
            recurse(0)
        })
        .join()
        .unwrap();
        return;
    }
    let limited = || {
        use std::os::unix::process::CommandExt;
        let mut command = support::process::child("culprit", &[]);
        // SAFETY: async-signal-safe.
        unsafe {
            command.pre_exec(|| {
                let limit = libc::rlimit {
                    rlim_cur: 64,
                    rlim_max: 64,
                };
                libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
                Ok(())
            })
        };
        command.output().unwrap()
    };
    let output = limited();
    assert_reported(&output, &["stack overflow"]);
    assert_placed(&output, &["recurse at ", PLACE]);
}

/// The same for a fibre without a name, with large frames, after it has blocked, on one of many
/// processors.
#[test]
fn overflow_is_reported_late() {
    if plays("culprit") {
        no_core_file();
        let cluster = Cluster::builder().processors(4).build().unwrap();
        for _ in 0..100 {
            cluster.spawn(|| fibre::sleep(std::time::Duration::from_secs(1)));
        }
        let handle = cluster.spawn(|| {
            fibre::sleep(std::time::Duration::from_millis(5));
            fibre::spawn(fibre::yield_now).join().unwrap();
            leap(0)
        });
        handle.join().unwrap();
        return;
    }
    for guard in GUARDS {
        let output = spawn_child("culprit", guard);
        assert_reported(&output, &["stack overflow", "'unnamed'", "262144 bytes"]);
    }
}

/// The same on a stack that was lent for a call.
#[test]
fn overflow_of_a_big_stack_is_reported() {
    let (role, environment) = ("culprit", [("FIBRE_PROCESSORS", "1")]);
    if plays(role) {
        no_core_file();
        let fibre = Builder::new().name("greedy");
        let deep = || {
            fibre::on_big_stack(1 << 20, || {
                fibre::yield_now();
                recurse(0)
            })
        };
        fibre.spawn(deep).unwrap().join().unwrap().unwrap();
        return;
    }
    let output = spawn_child(role, &environment);
    assert_reported(&output, &["stack overflow", "'greedy'", "1048576 bytes"]);
    assert_placed(&output, &["recurse at ", PLACE]);
}

/// And when it was lent to a plain thread, in a process without a cluster.
// Not under the sanitizer: the handler runs on the alternate stack that std gave the thread,
// which is too small for instrumented code.
#[cfg(not(feature = "sanitizer"))]
#[test]
fn overflow_of_a_threads_big_stack_is_reported() {
    if plays("culprit") {
        no_core_file();
        fibre::on_big_stack(1 << 20, || recurse(0)).unwrap();
        return;
    }
    let output = spawn_child("culprit", &[]);
    assert_reported(&output, &["stack overflow", "a thread", "1048576 bytes"]);
    // Nobody is there who could name the function.
    let text = errors(&output);
    let (_, address) = text.split_once("the innermost call: 0x").expect(&text);
    let program = std::env::current_exe().unwrap();
    let program = program.file_name().unwrap().to_str().unwrap();
    assert!(address.contains(&format!(" in {program}+0x")), "{text}");
}

/// A write below the stack of a fibre that does not run names it, and the fibre that did it.
#[test]
fn a_write_below_another_stack_names_both() {
    if plays("culprit") {
        no_core_file();
        return vandalise(|below| {
            let fibre = Builder::new().name("vandal");
            // SAFETY: none; this is the fault to be tested, in a process made for it.
            let write =
                move || unsafe { (*below.load(Ordering::SeqCst)).store(1, Ordering::SeqCst) };
            fibre.spawn(write).unwrap().join().unwrap();
        });
    }
    for guard in GUARDS {
        let output = spawn_child("culprit", guard);
        let words = ["stack overflow", "'vandal'", "'victim'", "131072 bytes"];
        assert_reported(&output, &words);
    }
}

/// The same by a plain thread.
// Not under the sanitizer: the handler runs on the alternate stack that std gave the thread,
// which is too small for instrumented code.
#[cfg(not(feature = "sanitizer"))]
#[test]
fn a_plain_thread_that_writes_below_a_stack_names_it() {
    if plays("culprit") {
        no_core_file();
        return vandalise(|below| {
            // SAFETY: as above.
            unsafe { (*below.load(Ordering::SeqCst)).store(1, Ordering::SeqCst) };
        });
    }
    let output = spawn_child("culprit", &[]);
    assert_reported(&output, &["stack overflow", "a thread", "'victim'"]);
}

/// Calls `harm` with an address below the stack of a fibre named "victim", which is blocked.
fn vandalise(harm: impl FnOnce(Arc<AtomicPtr<AtomicUsize>>)) {
    const SIZE: usize = 128 * 1024;
    let place = Arc::new(AtomicPtr::new(std::ptr::null_mut()));
    let victim = Builder::new().name("victim").stack_size(SIZE);
    let told = Arc::clone(&place);
    let _victim = victim.spawn(move || {
        let local = black_box(AtomicUsize::new(0));
        let here = std::ptr::from_ref(&local).cast_mut();
        // The frames of the runtime lie above the bytes that were asked for.
        told.store(here.wrapping_byte_sub(SIZE + 8192), Ordering::SeqCst);
        fibre::sleep(std::time::Duration::from_secs(60));
    });
    eventually(|| !place.load(Ordering::SeqCst).is_null());
    harm(place);
}

/// Another fault in a fibre is an ordinary SIGSEGV, and is not called an overflow.
#[test]
fn other_faults_are_not_overflows() {
    if plays("culprit") {
        no_core_file();
        fibre::spawn(|| {
            let nowhere = black_box(std::ptr::without_provenance_mut::<u8>(64));
            // SAFETY: none; this is the fault to be tested, in a process made for it.
            unsafe { nowhere.write_volatile(1) };
        })
        .join()
        .unwrap();
        return;
    }
    for guard in GUARDS {
        let output = spawn_child("culprit", guard);
        let text = errors(&output);
        assert_eq!(output.status.signal(), Some(libc::SIGSEGV), "{text}");
        assert!(!text.contains("overflow"), "{text}");
    }
}

/// An overflow of a plain thread is still reported by std.
#[test]
fn plain_threads_overflow_as_ever() {
    if plays("culprit") {
        no_core_file();
        fibre::spawn(|| ()).join().unwrap();
        let thread = std::thread::Builder::new().name("plain".to_owned());
        let _ = thread.spawn(|| recurse(0)).unwrap().join();
        return;
    }
    let output = spawn_child("culprit", &[]);
    assert_reported(&output, &["plain", "overflowed its stack"]);
    assert!(!errors(&output).contains("fibre:"));
}

/// When guards have used up the mappings of the process, further fibres end with an error, and
/// those that are there go on.
#[test]
fn mappings_run_out_gently() {
    // Guards by `mprotect` cost two mappings each, of 65,530 by default.
    const FIBRES: usize = 33_000;
    if !plays("crowd") {
        let limit = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap();
        if limit.trim().parse::<usize>().unwrap() > 2 * FIBRES {
            return println!("this machine allows too many mappings: not tested");
        }
        let output = spawn_child("crowd", &[("FIBRE_GUARD", "mprotect")]);
        let text = errors(&output);
        let end: String = text.lines().rev().take(5).collect();
        return assert!(output.status.success(), "{}: {end}", output.status);
    }
    watched(|| {
        let cluster = Cluster::builder().processors(2).stack_size(32 * 1024);
        let cluster = cluster.build().unwrap();
        let semaphore = Arc::new(Semaphore::new(0));
        let blocked = Arc::new(AtomicUsize::new(0));
        let handles: Vec<_> = (0..FIBRES)
            .map(|i| {
                let (semaphore, blocked) = (Arc::clone(&semaphore), Arc::clone(&blocked));
                cluster.spawn(move || {
                    blocked.fetch_add(1, Ordering::SeqCst);
                    semaphore.acquire();
                    i
                })
            })
            .collect();
        let ended = || handles.iter().filter(|handle| handle.is_finished()).count();
        eventually(|| blocked.load(Ordering::SeqCst) + ended() == FIBRES);
        let mappings = std::fs::read_to_string("/proc/self/maps").unwrap();
        println!(
            "{} blocked, {} mappings",
            blocked.load(Ordering::SeqCst),
            mappings.lines().count()
        );
        (0..FIBRES).for_each(|_| semaphore.release());
        let mut refused = 0;
        for (i, handle) in handles.into_iter().enumerate() {
            match handle.join() {
                Ok(number) => assert_eq!(number, i),
                Err(payload) => {
                    let error = payload.downcast::<StackError>().unwrap();
                    assert!(matches!(*error, StackError::MapLimit(_)), "{error}");
                    refused += 1;
                }
            }
        }
        assert_eq!(refused + blocked.load(Ordering::SeqCst), FIBRES);
        assert!(
            (1..FIBRES / 2).contains(&refused),
            "{refused} of {FIBRES} were refused"
        );
        assert_eq!(cluster.spawn(|| 5).join().unwrap(), 5);
        cluster.stop();
    });
}
