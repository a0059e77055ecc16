//! The guilty fibre is named, and the place in the program, beside the ways of
//! `tests/observed/hangs`.

use super::victim::{END, part, victim, victim_with};
use crate::support::eventually;
use crate::support::program::part_of;
use fibre::{Builder, Format, JoinHandle, sleep};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Spawns a fibre with a name.
fn spawn<T: Send + 'static>(name: &str, f: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    Builder::new().name(name).spawn(f).unwrap()
}

/// Checks what is said of a fibre: words, and the functions on its stack, which is whole.
#[track_caller]
fn says(dump: &str, name: &str, words: &[&str]) {
    let part = part(dump, name);
    for word in words {
        assert!(
            part.contains(word),
            "{word:?} is not in: {part}\nof: {dump}"
        );
    }
    assert!(
        part.contains("tests/observed/dump/guilty.rs:"),
        "no line in: {part}"
    );
    assert!(part.contains("the fibre's entry"), "{part}");
}

#[test]
fn a_fibre_on_a_lent_stack() {
    let dump = victim(1, 1, || {
        drop(spawn("guest", || {
            fibre::on_big_stack(1 << 20, || sleep(Duration::from_secs(3600)))
        }));
    })
    .dump();
    says(
        &dump,
        "guest",
        &[
            "waits for time to pass",
            "on_big_stack",
            "a_fibre_on_a_lent_stack",
        ],
    );
}

#[test]
fn equal_stacks_are_one_group() {
    let dump = victim(2, 1243, || {
        for _ in 0..1243 {
            drop(fibre::spawn(|| sleep(Duration::from_secs(3600))));
        }
    })
    .dump();
    assert!(
        dump.contains("\n1,243 fibres wait for time to pass:\n"),
        "{dump}"
    );
}

/// Frames of fibres with thread-locals of their own begin below these, whether they wait or run;
/// and that they have them is told.
#[test]
fn fibres_with_thread_locals_of_their_own() {
    let environment = [("FIBRE_PROCESSORS", "2"), ("FIBRE_THREAD_LOCALS", "own")];
    let mut victim = victim_with(&environment, 1, || {
        // For no time that another test sleeps: a compiler that optimises makes equal closures one,
        // which has the place of either.
        drop(spawn("sleeper", || sleep(Duration::from_secs(3710))));
        let over = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&over);
        let hog = spawn("hog", move || {
            while !until.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        let dump = || {
            let mut dump = Vec::new();
            fibre::dump(&mut dump, Format::Text).unwrap();
            String::from_utf8(dump).unwrap()
        };
        let has =
            |dump: &str, name, words| part_of(dump, name).is_some_and(|it| it.contains(words));
        let last = Cell::new(String::new());
        eventually(|| {
            last.set(dump());
            let dump = last.take();
            let both = has(&dump, "sleeper", " waits ") && has(&dump, "hog", " runs, ");
            last.set(dump);
            both
        });
        eprint!("{}", last.take());
        over.store(true, Ordering::Relaxed);
        hog.join().unwrap();
    });
    victim.wait_until(|errors| errors.contains(END));
    let dump = victim.errors();
    says(&dump, "sleeper", &["waits for time to pass"]);
    says(&dump, "hog", &["runs, and does not let go of processor"]);
    let words = "\n  fibres have thread-locals of their own: 3 thread blocks taken, ";
    assert!(dump.contains(words), "{dump}");
}
