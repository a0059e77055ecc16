//! Environments in which something is missing or wrong: settings, standard error, descriptors.
//! Each case needs a process of its own.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod support;

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

/// A scope whose first spawn panics, as the setting is wrong, ends with that panic.
#[test]
fn wrong_settings_are_told() {
    if plays("victim") {
        no_core_file();
        end_after(LIMIT);
        fibre::scope(|scope| drop(scope.spawn(|| ())));
        return;
    }
    for variable in [
        "FIBRE_PROCESSORS",
        "FIBRE_MAX_PROCESSORS",
        "FIBRE_SPIN",
        "FIBRE_SLICE",
    ] {
        let output = spawn_child("victim", &[(variable, "abc")]);
        let text = errors(&output);
        assert_eq!(output.status.code(), Some(101), "{text}");
        assert!(text.contains(variable), "{text}");
    }
}

/// A fibre that is refused its stack is no more than that where nobody can be told of it.
#[test]
fn a_full_standard_error_does_no_harm() {
    if plays("mute") {
        no_core_file();
        end_after(LIMIT);
        let cluster = Cluster::builder().processors(1).build().unwrap();
        let absurd = Builder::new().stack_size(1 << 50);
        let refused = absurd.spawn_in(&cluster, || ()).unwrap();
        assert!(refused.join().unwrap_err().is::<StackError>());
        assert_eq!(cluster.spawn(|| 4).join().unwrap(), 4);
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
