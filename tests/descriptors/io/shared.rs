//! Descriptors that others have, too, and make blocking: `O_NONBLOCK` belongs to the open file.
//! Nobody may keep a processor by that, and time goes on for those that wait.

use crate::support::process::{child, plays};
use crate::support::{any_cluster, run_in};
use fibre::io::{Pollable, pipe};
use fibre::net::{TcpListener, TcpStream};
use fibre::os::unix::net::UnixListener;
use fibre::{select, select::after};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

/// How long a call waits in vain.
const SHORT: Duration = Duration::from_millis(20);

/// Makes what a descriptor stands for blocking, as whoever has one may.
fn make_blocking(fd: impl AsFd) {
    let flags = fcntl_getfl(&fd).unwrap();
    fcntl_setfl(&fd, flags - OFlags::NONBLOCK).unwrap();
}

/// Whether it is blocking.
fn is_blocking(fd: impl AsFd) -> bool {
    !fcntl_getfl(fd).unwrap().contains(OFlags::NONBLOCK)
}

/// Runs a body in a fibre of a cluster with one processor, and another fibre beside it, whose time
/// must go on.
fn on_one_processor(body: impl Fn() + Send + Sync + 'static) {
    let cluster = any_cluster().processors(1).build().unwrap();
    let body = Arc::new(body);
    let both = move |cluster: &fibre::Cluster| {
        let body = Arc::clone(&body);
        let tested = cluster.spawn(move || body());
        let beside = cluster.spawn(|| (0..5).for_each(|_| fibre::sleep(SHORT / 10)));
        tested.join().unwrap();
        beside.join().unwrap();
    };
    run_in(cluster, Arc::new(both));
}

/// What a call has come to that waits in vain.
fn kind<T>(outcome: io::Result<T>) -> Option<ErrorKind> {
    outcome.err().map(|error| error.kind())
}

/// A child that has a clone of the listener as its standard input makes it blocking.
#[test]
fn a_child_makes_a_listener_blocking() {
    if plays("clears") {
        return make_blocking(io::stdin());
    }
    let listener = Arc::new(TcpListener::bind("127.0.0.1:0").unwrap());
    let clone = OwnedFd::from(listener.try_clone().unwrap());
    let mut clearing = child("clears", &[]);
    let status = clearing
        .stdin(Stdio::from(clone))
        .stdout(Stdio::null())
        .status();
    assert!(status.unwrap().success());
    assert!(is_blocking(&listener));
    on_one_processor(move || {
        let nobody = listener.accept_timeout(SHORT);
        assert_eq!(kind(nobody), Some(ErrorKind::TimedOut));
        make_blocking(&listener);
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        assert!(listener.accept_timeout(Duration::from_secs(60)).is_ok());
        make_blocking(&listener);
        drop(client);
        assert_eq!(
            kind(listener.accept_timeout(SHORT)),
            Some(ErrorKind::TimedOut)
        );
    });
}

/// It becomes blocking while a fibre waits, and again before each try.
#[test]
fn a_listener_becomes_blocking_while_fibres_wait() {
    on_one_processor(|| {
        let listener = Arc::new(TcpListener::bind("127.0.0.1:0").unwrap());
        let clone = listener.try_clone().unwrap();
        let address = listener.local_addr().unwrap();
        let accepting = fibre::spawn(move || {
            let first = listener.accept().is_ok();
            (first, kind(listener.accept_timeout(SHORT)))
        });
        fibre::sleep(SHORT / 4);
        make_blocking(&clone);
        let _client = TcpStream::connect(address).unwrap();
        make_blocking(&clone);
        assert_eq!(accepting.join().unwrap(), (true, Some(ErrorKind::TimedOut)));
    });
}

#[test]
fn selections_over_a_listener_that_became_blocking() {
    on_one_processor(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        make_blocking(&listener);
        select! {
            _ = listener.accept_arm() => unreachable!("nobody comes"),
            _ = after(SHORT) => {}
        }
    });
}

#[test]
fn a_unix_listener_becomes_blocking() {
    on_one_processor(|| {
        let name = format!("fibre-shared-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let listener = UnixListener::bind(&path).unwrap();
        make_blocking(&listener);
        let nobody = listener.accept_timeout(SHORT);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(kind(nobody), Some(ErrorKind::TimedOut));
    });
}

#[test]
fn both_ends_of_a_pipe_become_blocking() {
    on_one_processor(|| {
        let (mut reader, mut writer) = pipe().unwrap();
        make_blocking(&reader);
        assert!(fibre::timeout(SHORT, || reader.read(&mut [0])).is_err());
        make_blocking(&writer);
        assert!(fibre::timeout(SHORT, || writer.write_all(&[0; 1 << 20])).is_err());
        make_blocking(&reader);
        let mut bytes = vec![0; 1 << 20];
        assert!(fibre::timeout(SHORT, || reader.read_exact(&mut bytes)).is_err());
    });
}

#[test]
fn a_counter_becomes_blocking() {
    on_one_processor(|| {
        let counter = Pollable::new(eventfd(0, EventfdFlags::CLOEXEC).unwrap()).unwrap();
        make_blocking(counter.get_ref());
        let read = || counter.read_with(|fd| Ok(rustix::io::read(fd, &mut [0; 8])?));
        assert!(fibre::timeout(SHORT, read).is_err());
    });
}

/// Pipes and sockets that bytes are copied between, inside the kernel.
#[test]
fn what_bytes_are_copied_between_becomes_blocking() {
    on_one_processor(|| {
        let (reader, _writer) = pipe().unwrap();
        let (_far, near) = pipe().unwrap();
        make_blocking(&reader);
        make_blocking(&near);
        assert!(fibre::timeout(SHORT, || fibre::io::copy(&reader, &near)).is_err());
    });
}
