//! Fibres are told of by number and name: in panics, in what waits, in `{:?}`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::support;

use fibre::sync::{Condvar, Event, Mutex, Notify, RwLock, Semaphore, WaitGroup};
use fibre::{Builder, Cluster, WaitKind};
use std::fmt::Debug;
use std::panic::resume_unwind;
use std::sync::Arc;
use support::process::{end_after, errors, plays, spawn_child};
use support::{for_each_cluster, until_waiting, watched};

/// A panic in a fibre is followed by a line with its number, its name, and the panic's words; one
/// that is caught inside, and one without words, by none.
#[test]
fn a_panic_says_which_fibre_it_was_in() {
    if plays("panicking") {
        end_after(std::time::Duration::from_secs(30));
        let named = Builder::new()
            .name("accountant")
            .spawn(|| panic!("number {}", 5))
            .unwrap();
        let plain = fibre::spawn(|| {
            fibre::label("step", 3);
            panic!("literal")
        });
        let again = fibre::spawn(|| resume_unwind(Box::new(String::from("passed on"))));
        let quiet = fibre::spawn(|| resume_unwind(Box::new(7)));
        let caught = fibre::spawn(|| drop(std::panic::catch_unwind(|| panic!("caught"))));
        let ids = [named.id(), plain.id(), again.id(), quiet.id(), caught.id()];
        named.join().unwrap_err();
        plain.join().unwrap_err();
        again.join().unwrap_err();
        quiet.join().unwrap_err();
        caught.join().unwrap();
        println!("\nids {ids:?}");
        return;
    }
    let output = spawn_child("panicking", &[]);
    assert!(output.status.success());
    let (said, text) = (
        String::from_utf8(output.stdout.clone()).unwrap(),
        errors(&output),
    );
    let ids = said
        .lines()
        .find_map(|line| line.strip_prefix("ids ["))
        .unwrap();
    let ids: Vec<&str> = ids.trim_end_matches(']').split(", ").collect();
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("has panicked"))
        .collect();
    for line in [
        format!(
            "fibre: fibre {} (\"accountant\") has panicked: number 5",
            ids[0]
        ),
        format!("fibre: fibre {} [step=3] has panicked: literal", ids[1]),
        format!("fibre: fibre {} has panicked: passed on", ids[2]),
    ] {
        assert!(lines.contains(&&*line), "{line}: {text}");
    }
    assert_eq!(lines.len(), 3, "{text}");
}

/// `waits` says which fibre has the lock that another waits for, and which one a fibre joins.
#[test]
fn what_waits_says_who_lets_it_go_on() {
    for_each_cluster(|_| {
        let lock = Arc::new(Mutex::new(()));
        let held = lock.lock();
        let inner = Arc::clone(&lock);
        let waiting = fibre::spawn(move || drop(inner.lock()));
        let (id, waits_for) = (waiting.id(), WaitKind::Join);
        let joiner = fibre::spawn(move || waiting.join());
        until_waiting(waits_for, &[joiner.id()]);
        let waits = fibre::waits();
        let find = |id| waits.iter().find(|one| one.id == id).unwrap();
        let joins = find(joiner.id()).to_string();
        assert!(joins.ends_with(&format!(", which is {id}")), "{joins}");
        if cfg!(debug_assertions) {
            until_waiting(WaitKind::Mutex, &[id]);
            let waits = fibre::waits();
            let locks = waits.iter().find(|one| one.id == id).unwrap().to_string();
            let holder = fibre::id().unwrap();
            assert!(locks.ends_with(&format!(", held by {holder}")), "{locks}");
        }
        drop(held);
        joiner.join().unwrap().unwrap();
    });
}

/// What `{:?}` says fits into a line of a log, and has no address in it.
#[track_caller]
fn is_short(value: &dyn Debug) -> String {
    let said = format!("{value:?}");
    assert!(said.len() < 160, "{} bytes: {said:.300}", said.len());
    assert!(!said.contains("0x"), "{said}");
    said
}

#[test]
fn what_is_printed_for_debugging_is_short() {
    watched(|| {
        let cluster = Cluster::builder()
            .processors(2)
            .name("bank")
            .build()
            .unwrap();
        let said = is_short(&cluster);
        assert!(
            said.contains("\"bank\"") && said.contains("processors: 2"),
            "{said}"
        );
        let fibre = Builder::new()
            .name("teller")
            .spawn_in(&cluster, || ())
            .unwrap();
        let (id, said) = (fibre.id(), is_short(&fibre));
        assert!(
            said.contains(&format!("id: {id}")) && said.contains("\"teller\""),
            "{said}"
        );
        let on_drop = fibre.join_on_drop();
        assert!(is_short(&on_drop).contains(&format!("id: {id}")));
        drop(on_drop);
        fibre::scope(|scope| {
            let inner = scope.spawn(|| ());
            assert!(is_short(&inner).contains("ScopedJoinHandle"));
            is_short(scope);
        });
        is_short(&fibre::CancelToken::new());
        is_short(&fibre::BlockingPool::builder().build());
        is_short(&cluster.pause().unwrap());
        is_short(&fibre::Builder::new());
        is_short(&fibre::BufferPool::new(1, 1));
        cluster.stop();
    });
}

/// Those of what one can wait on.
#[test]
fn what_one_can_wait_on_is_printed_shortly() {
    let (sender, receiver) = fibre::channel::bounded::<u8>(3);
    let (once, other) = fibre::channel::oneshot::<u8>();
    let values: [&dyn Debug; 11] = [
        &Mutex::new(3),
        &RwLock::new(3),
        &Condvar::new(),
        &Event::new(),
        &Notify::new(),
        &Semaphore::new(3),
        &WaitGroup::new(),
        &sender,
        &receiver,
        &once,
        &other,
    ];
    values.into_iter().for_each(|value| drop(is_short(value)));
    let pair = fibre::io::pipe().unwrap();
    is_short(&pair);
    is_short(&fibre::net::TcpListener::bind("127.0.0.1:0").unwrap());
}
