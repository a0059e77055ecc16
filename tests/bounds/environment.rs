//! Environments in which something is missing or wrong: settings, standard error, descriptors.
//! Each case needs a process of its own.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use crate::support;

use fibre::{Builder, Cluster, StackError, WaitKind};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs::File;
use std::io::{Read, Write};
use std::net as std_net;
use std::os::fd::AsRawFd;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;
use support::process::{child, end_after, errors, no_core_file, plays, spawn_child};
use support::{Latch, sockets, until_waiting};

/// The longest that a child may take.
const LIMIT: Duration = Duration::from_secs(30);

/// The names of all variables that mean something to programs, by the document that lists them.
fn variables() -> Vec<&'static str> {
    let document = include_str!("../../docs/CONFIGURATION.md");
    let rows = document
        .lines()
        .filter_map(|line| line.strip_prefix("| `FIBRE_"));
    let names = rows.map(|row| row.split_once('`').unwrap().0);
    let names: Vec<_> = names.collect();
    assert!(names.len() >= 25, "{names:?}");
    names
}

/// What a child says of a cluster that it has tried to start, to have a fibre run in it, and to
/// stop.
fn say_what_becomes_of_a_cluster() {
    no_core_file();
    end_after(LIMIT);
    let said = match Cluster::builder().build() {
        Ok(cluster) => {
            // A fibre that is spawned by another one, and waits.
            let fibre = || fibre::spawn(|| fibre::sleep(Duration::from_micros(1))).join();
            let outcome = cluster.spawn(fibre).join().unwrap();
            outcome.unwrap();
            cluster.stop();
            "it works".to_owned()
        }
        Err(error) => format!("{:?}: {error}", error.kind()),
    };
    println!("\nsaid {said}");
}

/// The line that [`say_what_becomes_of_a_cluster`] has left, in a child with this environment.
#[track_caller]
fn said_with(name: &str, value: &str) -> (String, String) {
    let output = spawn_child("builder", &[(name, value)]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = errors(&output);
    assert!(
        output.status.success(),
        "{name}={value}: {}: {errors}",
        output.status
    );
    let said = text.lines().find_map(|line| line.strip_prefix("said "));
    (said.unwrap().to_owned(), errors)
}

/// Nonsense in any variable is an error of the builder, whatever the variable is for.
#[test]
fn nonsense_in_any_variable_is_an_error_of_the_builder() {
    if plays("builder") {
        return say_what_becomes_of_a_cluster();
    }
    // Any text is the name of a file.
    let all = variables().into_iter().filter(|name| *name != "DUMP");
    for name in all.map(|name| format!("FIBRE_{name}")) {
        for value in ["nonsense", "", "-1", "1.5", "18446744073709551616"] {
            let (said, _) = said_with(&name, value);
            let what = format!("InvalidInput: {name} must be ");
            assert!(said.starts_with(&what), "{name}={value}: {said}");
            assert!(
                said.ends_with(&format!(", not {value:?}")),
                "{name}={value}: {said}"
            );
        }
    }
}

/// The largest number in any variable is refused, or means what it says: the program goes on.
#[test]
fn the_largest_number_in_any_variable_does_no_harm() {
    if plays("builder") {
        return say_what_becomes_of_a_cluster();
    }
    let mut works = 0;
    for name in variables().into_iter().map(|name| format!("FIBRE_{name}")) {
        let (said, _) = said_with(&name, "18446744073709551615");
        let refused = format!("InvalidInput: {name} must be ");
        works += usize::from(said == "it works");
        assert!(
            said == "it works" || said.starts_with(&refused),
            "{name}: {said}"
        );
    }
    assert!(works >= 5, "only {works} variables take any number");
}

/// Several variables that are wrong are all told of.
#[test]
fn everything_that_is_wrong_is_told() {
    if plays("builder") {
        return say_what_becomes_of_a_cluster();
    }
    let output = spawn_child("builder", &[("FIBRE_SPIN", "a"), ("FIBRE_GUARD", "b")]);
    let text = String::from_utf8_lossy(&output.stdout);
    let said = "FIBRE_GUARD must be mprotect, not \"b\"; FIBRE_SPIN must be a number of microseconds, not \"a\"";
    assert!(text.contains(said), "{text}");
}

/// An unknown `FIBRE_*` name is reported once, with the one that was probably meant; and it is no
/// error.
#[test]
fn misspelt_variables_are_told() {
    if plays("builder") {
        drop(Cluster::builder().build());
        return say_what_becomes_of_a_cluster();
    }
    for (typed, meant) in [
        ("_PROCESORS", Some("is FIBRE_PROCESSORS meant?")),
        ("_STACKSIZE", Some("is FIBRE_STACK_SIZE meant?")),
        ("_OF_MY_PROGRAM", Some("docs/CONFIGURATION.md")),
        ("_TEST_OF_MINE", None),
        ("S", None),
    ] {
        let typed = &format!("FIBRE{typed}");
        let (said, errors) = said_with(typed, "2");
        assert_eq!(said, "it works", "{typed}");
        let lines: Vec<_> = errors.lines().filter(|line| line.contains(typed)).collect();
        assert_eq!(lines.len(), usize::from(meant.is_some()), "{errors}");
        assert!(
            lines.iter().all(|line| line.contains(meant.unwrap_or(""))),
            "{errors}"
        );
    }
}

/// Whoever asks for no error gets a line that says what is wrong, and no backtrace: it leads
/// nowhere. A scope whose first spawn ends like that ends with it.
#[test]
fn the_default_cluster_tells_of_nonsense_in_one_line() {
    if plays("victim") {
        no_core_file();
        end_after(LIMIT);
        fibre::scope(|scope| drop(scope.spawn(|| ())));
        return;
    }
    if plays("spawner") {
        no_core_file();
        end_after(LIMIT);
        let error = Builder::new().spawn(|| ()).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
        drop(fibre::spawn(|| ()));
        return;
    }
    for role in ["victim", "spawner"] {
        for name in [
            "FIBRE_PROCESSORS",
            "FIBRE_SPIN",
            "FIBRE_GUARD",
            "FIBRE_BLOCKING_THREADS",
        ] {
            let output = spawn_child(role, &[(name, "abc"), ("RUST_BACKTRACE", "1")]);
            let text = errors(&output);
            assert_eq!(output.status.code(), Some(101), "{text}");
            let lines = text.lines().filter(|line| line.contains(name));
            assert_eq!(lines.count(), 1, "{text}");
            let word = format!("cannot start the default cluster: {name} must be ");
            assert!(
                text.contains(&word) && text.contains("not \"abc\""),
                "{text}"
            );
            assert!(
                !text.contains("panicked at") && !text.contains("backtrace"),
                "{text}"
            );
        }
    }
}

/// What is read before there is a cluster tells of nonsense, and goes on as if it were not set.
#[test]
fn a_pool_made_before_any_cluster_tells_of_nonsense() {
    if plays("pool") {
        no_core_file();
        end_after(LIMIT);
        let pool = fibre::BlockingPool::builder().build();
        assert_eq!(pool.run(|| 7) + fibre::blocking(|| 8), 15);
        return;
    }
    let output = spawn_child("pool", &[("FIBRE_BLOCKING_THREADS", "nonsense")]);
    let text = errors(&output);
    assert!(output.status.success(), "{text}");
    assert_eq!(
        text.matches("FIBRE_BLOCKING_THREADS must be").count(),
        1,
        "{text}"
    );
}

/// A fibre that is refused its stack is no more than that where nobody can be told of it.
#[test]
fn a_full_standard_error_does_no_harm() {
    if plays("mute") {
        no_core_file();
        end_after(LIMIT);
        let cluster = Cluster::builder().processors(1).build().unwrap();
        let absurd = Cluster::builder().processors(1).stack_size(1 << 50);
        let absurd = absurd.build().unwrap();
        let refused = absurd.spawn(|| ());
        assert!(refused.join().unwrap_err().is::<StackError>());
        assert_eq!(cluster.spawn(|| 4).join().unwrap(), 4);
        absurd.stop();
        cluster.stop();
        return;
    }
    let full = File::options().write(true).open("/dev/full").unwrap();
    let output = child("mute", &[]).stderr(full).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}: {said}", output.status);
}

/// Takes care that no descriptor can be opened any more.
fn no_more_descriptors() {
    // The lowest free number is what comes next, and the limit is on the numbers.
    let next = File::open("/dev/null").unwrap().as_raw_fd() as u64;
    let limit = Rlimit {
        current: Some(next),
        maximum: getrlimit(Resource::Nofile).maximum,
    };
    setrlimit(Resource::Nofile, limit).unwrap();
    File::open("/dev/null").expect_err("that was the last one");
}

/// A fibre that has its processor for itself until all `starting` have theirs, and then, when
/// it may `go`, echoes one byte.
fn echo(cluster: &Cluster, starting: &Arc<Barrier>, go: &Arc<Latch>) -> std_net::TcpStream {
    let (mut near, far) = sockets::fresh_pair_with_std();
    let (starting, go) = (Arc::clone(starting), Arc::clone(go));
    cluster.spawn(move || {
        starting.wait();
        go.wait();
        let mut byte = [0];
        near.read_exact(&mut byte).unwrap();
        near.write_all(&byte).unwrap();
    });
    far
}

/// Once one processor has waited for a socket, all others can, though no descriptors are left
/// for their pollers.
#[test]
fn the_last_descriptors_are_not_for_pollers() {
    if !plays("server") {
        let output = spawn_child("server", &[]);
        assert!(output.status.success(), "{}", errors(&output));
        return;
    }
    no_core_file();
    end_after(LIMIT);
    let cluster = Cluster::builder().processors(4).build().unwrap();
    let (first, mut peer) = sockets::fresh_pair_with_std();
    let waiter = cluster.spawn(move || (&first).read(&mut [0]).unwrap());
    until_waiting(WaitKind::Io, &[waiter.id()]);
    thread::sleep(Duration::from_millis(30));
    peer.write_all(b"!").unwrap();
    assert_eq!(waiter.join().unwrap(), 1);

    let (starting, go) = (Arc::new(Barrier::new(5)), Latch::new());
    let clients: Vec<_> = (0..4).map(|_| echo(&cluster, &starting, &go)).collect();
    starting.wait();
    no_more_descriptors();
    go.open();
    // Now all of them wait.
    thread::sleep(Duration::from_millis(30));
    for mut client in clients {
        client.write_all(b"?").unwrap();
        let answer = client.read_exact(&mut [0]);
        answer.expect("who is connected is answered");
    }
    cluster.stop();
}

/// A read that finds its data registers nothing, unless the environment says so.
#[test]
fn registration_is_lazy_unless_switched_off() {
    if plays("reader") {
        end_after(LIMIT);
        let cluster = Cluster::builder().processors(1).build().unwrap();
        let (mut near, mut far) = sockets::fresh_pair_with_std();
        far.write_all(b"x").unwrap();
        let watched = cluster.spawn(move || {
            near.read_exact(&mut [0]).unwrap();
            sockets::registrations(near.as_raw_fd()) > 0
        });
        let lazy = std::env::var_os("FIBRE_LAZY_REGISTRATION").is_none();
        assert_eq!(watched.join().unwrap(), !lazy);
        cluster.stop();
        return;
    }
    for environment in [&[][..], &[("FIBRE_LAZY_REGISTRATION", "0")]] {
        let output = spawn_child("reader", environment);
        let text = errors(&output);
        assert!(output.status.success(), "{environment:?}: {text}");
    }
}
