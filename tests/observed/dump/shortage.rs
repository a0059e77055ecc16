//! Reports of a process that has used up its descriptors, which is when one asks for them.

use super::victim::{END, part, victim, victim_with};
use crate::support::eventually;
use crate::support::program::part_of;
use fibre::{Builder, Format, sleep};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs::File;
use std::hint::black_box;
use std::path::PathBuf;
use std::time::Duration;

/// A fibre that sleeps, for a time of its own: the compiler makes one function of equal ones.
fn sleeper() {
    drop(Builder::new().name("sleeper").spawn(sleeper_waits));
}

/// What it does, in a frame of its own in optimised builds, too.
#[inline(never)]
fn sleeper_waits() {
    sleep(Duration::from_secs(3611));
    black_box("awake");
}

/// Opens files until the process may have no more.
fn use_up_descriptors() {
    let limit = Rlimit {
        current: Some(64),
        maximum: getrlimit(Resource::Nofile).maximum,
    };
    setrlimit(Resource::Nofile, limit).unwrap();
    let error = loop {
        match File::open("/dev/null") {
            Ok(file) => std::mem::forget(file),
            Err(error) => break error,
        }
    };
    assert_eq!(error.raw_os_error(), Some(libc::EMFILE));
}

/// Checks that a dump has the sleeper with its stack, with names and lines.
#[track_caller]
fn has_its_stack(dump: &str) {
    let part = part(dump, "sleeper");
    for words in [
        "sleeper_waits",
        "tests/observed/dump/shortage.rs:",
        "the fibre's entry",
    ] {
        assert!(part.contains(words), "no {words:?} in: {dump}");
    }
}

/// A name for a file of this test's, which is not there.
fn fresh_file(ending: &str) -> PathBuf {
    let test = std::thread::current().name().unwrap().replace("::", "-");
    let path = std::env::temp_dir().join(format!("fibre-{test}-{}{ending}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    path
}

#[test]
fn a_dump_has_stacks() {
    let dump = victim(1, 1, || {
        sleeper();
        use_up_descriptors();
    })
    .dump();
    has_its_stack(&dump);
}

#[test]
fn a_dump_goes_to_its_file() {
    let file = fresh_file(".txt");
    let environment = [("FIBRE_DUMP", file.to_str().unwrap())];
    let victim = victim_with(&environment, 1, || {
        sleeper();
        use_up_descriptors();
    });
    victim.send(libc::SIGQUIT);
    let written = || std::fs::read_to_string(&file).unwrap_or_default();
    eventually(|| written().contains(END));
    has_its_stack(&written());
    assert_eq!(victim.errors(), "");
    std::fs::remove_file(file).unwrap();
}

/// By threads and by fibres, which are walked on another thread.
#[test]
fn calls_have_stacks() {
    let mut victim = victim(2, 1, || {
        sleeper();
        use_up_descriptors();
        let dump = || {
            let mut dump = Vec::new();
            fibre::dump(&mut dump, Format::Text).unwrap();
            String::from_utf8(dump).unwrap()
        };
        eventually(|| part_of(&dump(), "sleeper").is_some_and(|part| part.contains(" waits ")));
        for dump in [dump(), fibre::spawn(dump).join().unwrap()] {
            eprint!("{dump}");
        }
    });
    victim.wait_until(|errors| errors.matches(END).count() == 2);
    let errors = victim.errors();
    let (first, second) = errors.split_at(errors.find(END).unwrap() + END.len());
    has_its_stack(first);
    has_its_stack(second);
}

#[inline(never)]
fn spins() {
    loop {
        black_box("here");
    }
}

#[test]
fn a_processor_that_does_not_switch_is_told() {
    let mut victim = victim_with(&[("FIBRE_MONITOR", "10ms")], 1, || {
        sleeper();
        use_up_descriptors();
        std::thread::spawn(|| {
            std::thread::sleep(Duration::from_millis(500));
            drop(Builder::new().name("hog").spawn(spins));
        });
    });
    // Optimised builds have the name of a function without those of its modules.
    victim.wait_until(|errors| {
        errors.contains("\"hog\" computes at ")
            && errors.contains("spins")
            && errors.contains("tests/observed/dump/shortage.rs:")
    });
}

#[test]
fn a_trace_is_written() {
    let file = fresh_file(".trace");
    let mut victim = victim_with(&[("FIBRE_TRACE", file.to_str().unwrap())], 1, || {
        sleeper();
        use_up_descriptors();
    });
    victim.send(libc::SIGUSR2);
    victim.wait_until(|errors| errors.contains("a trace "));
    assert!(victim.errors().contains(" is in "), "{}", victim.errors());
    assert!(std::fs::metadata(&file).unwrap().len() > 0);
    std::fs::remove_file(file).unwrap();
}

/// No table of its own helps where the limit leaves room for the standard descriptors only.
#[test]
fn a_dump_says_that_no_descriptor_is_free() {
    let dump = victim(1, 1, || {
        sleeper();
        let limit = Rlimit {
            current: Some(3),
            maximum: getrlimit(Resource::Nofile).maximum,
        };
        setrlimit(Resource::Nofile, limit).unwrap();
    })
    .dump();
    assert!(dump.contains("no descriptor is free"), "{dump}");
    assert!(part(&dump, "sleeper").contains("waits for time to pass"));
}
