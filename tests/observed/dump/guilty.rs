//! The guilty fibre is named, and the place in the program, beside the ways of
//! `tests/observed/hangs`.

use super::victim::{part, victim};
use fibre::{Builder, JoinHandle, sleep};
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
