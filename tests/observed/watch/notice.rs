//! The word about a fibre that computes while others wait, which comes unasked in builds with debug
//! assertions.

#![cfg(debug_assertions)]

use crate::support::program::program;
use fibre::{Builder, JoinHandle};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The words of the line.
const WORDS: &str = "`fibre::compute` does such work beside them";

/// Nobody changes it: what waits for it computes for ever.
static COMPUTING: AtomicBool = AtomicBool::new(true);

#[inline(never)]
fn computes() {
    while COMPUTING.load(Ordering::Relaxed) {
        std::hint::spin_loop();
    }
}

/// Computes for so long.
#[inline(never)]
fn computes_for(time: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// Spawns a fibre with a name, which stays with the first processor: on a busy machine a spare one
/// would take it, and would keep nobody waiting.
fn spawn(name: &str, f: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    let builder = Builder::new().name(name).on_processor(0);
    builder.spawn(f).unwrap()
}

/// Spawns a fibre that has always something to do, and is at home on the only processor.
fn other() {
    let other = spawn("other", || {
        loop {
            fibre::sleep(Duration::from_millis(1));
        }
    });
    while !fibre::waits().iter().any(|it| it.id == other.id()) {
        std::thread::yield_now();
    }
}

/// A fibre is named with its labels and its place, and the word says what to do.
#[test]
fn a_fibre_that_computes_while_others_wait_is_named() {
    let program = program(1, &[], || {
        other();
        drop(spawn("worker", || {
            fibre::label("job", 42);
            computes();
        }));
    });
    let line = program.line_with(&["\"worker\"", WORDS]);
    for words in [
        "[job=42] has computed for ",
        "computes (",
        "tests/observed/watch/notice.rs:",
        "while others wait for processor 0: ",
        "(FIBRE_MONITOR=off omits this)",
    ] {
        assert!(line.contains(words), "{line}");
    }
}

/// Work at the same place is told once, however often it comes; another place is told, too.
#[test]
fn a_place_is_told_once() {
    let program = program(1, &[], || {
        other();
        drop(spawn("worker", || {
            for _ in 0..20 {
                computes_for(Duration::from_millis(300));
                fibre::sleep(Duration::from_millis(1));
            }
            drop(spawn("last", computes));
        }));
    });
    let all = program.wait_until(|errors| errors.contains("\"last\""));
    assert!(all.matches("\"worker\"").count() <= 1, "{all}");
}

/// Half a second. Nobody says anything meanwhile.
const HALF: Duration = Duration::from_millis(500);

/// Runs `work` in a fibre, and says when it is through.
fn through(work: impl FnOnce() + Send + 'static) {
    spawn("worker", work).join().unwrap();
    eprintln!("through");
}

/// What a program has said when its work is through.
fn said(program: &crate::support::program::Program) -> String {
    program.wait_until(|errors| errors.contains("through"))
}

#[test]
fn a_fibre_for_which_nobody_waits_is_not_told() {
    let program = program(2, &[], || through(|| computes_for(HALF)));
    assert_eq!(said(&program).matches(WORDS).count(), 0);
}

#[test]
fn work_that_is_where_it_should_be_is_not_told() {
    let program = program(1, &[], || {
        other();
        through(|| {
            let others = [(); 3].map(|()| fibre::spawn(|| fibre::compute(|| computes_for(HALF))));
            fibre::blocking(|| computes_for(HALF));
            others.into_iter().for_each(|it| it.join().unwrap());
        });
    });
    assert_eq!(said(&program).matches(WORDS).count(), 0);
}

#[test]
fn nobody_is_told_who_does_not_want_it() {
    let program = program(1, &[("FIBRE_MONITOR", "off")], || {
        other();
        through(|| computes_for(HALF));
    });
    assert_eq!(said(&program).matches(WORDS).count(), 0);
}
