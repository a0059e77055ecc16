//! Several listeners on one port.

use crate::support::process::{errors, plays, spawn_child};
use crate::support::{eventually, for_clusters, watched};
use fibre::Cluster;
use fibre::net::{TcpListener, TcpStream};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io::{ErrorKind, Read, Write};
use std::net as std_net;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Connections made, one after the other.
const CONNECTIONS: usize = 400;

/// Each processor gets at least half of its share, and keeps what it has accepted.
#[test]
fn shares_are_fair() {
    for_clusters(&[1, 2, 4], |cluster| {
        let processors = cluster.processors();
        let group = TcpListener::group("127.0.0.1:0", processors).unwrap();
        let address = group.local_addr().unwrap();
        let shares: Arc<Vec<_>> = Arc::new((0..processors).map(|_| AtomicUsize::new(0)).collect());
        let (serving, counting) = (group.clone(), Arc::clone(&shares));
        let server = fibre::spawn(move || {
            serving.serve(move |mut stream, _| {
                let here = fibre::processor().unwrap();
                counting[here].fetch_add(1, Ordering::SeqCst);
                let mut byte = [0];
                while let Ok(1) = stream.read(&mut byte) {
                    assert_eq!(fibre::processor(), Some(here));
                    stream.write_all(&byte).unwrap();
                }
            })
        });
        for _ in 0..CONNECTIONS {
            let mut stream = TcpStream::connect(address).unwrap();
            let mut byte = [9];
            stream.write_all(&byte).unwrap();
            stream.read_exact(&mut byte).unwrap();
        }
        group.close();
        server.join().unwrap().unwrap();
        let shares: Vec<_> = shares
            .iter()
            .map(|share| share.load(Ordering::SeqCst))
            .collect();
        assert_eq!(shares.iter().sum::<usize>(), CONNECTIONS);
        let least = CONNECTIONS / processors / 2;
        assert!(shares.iter().all(|share| *share >= least), "{shares:?}");
    });
}

/// More listeners than processors, served from a plain thread; panics of a handler are its own.
#[test]
fn more_listeners_than_processors() {
    watched(|| {
        let group = TcpListener::group("127.0.0.1:0", 5).unwrap();
        assert_eq!(group.listeners().len(), 5);
        let address = group.local_addr().unwrap();
        let serving = group.clone();
        let thread = std::thread::spawn(move || {
            serving.serve(|mut stream, _| {
                stream.write_all(b"!").unwrap();
                panic!("as a test");
            })
        });
        for _ in 0..50 {
            let mut byte = [0];
            let mut stream = std_net::TcpStream::connect(address).unwrap();
            stream.read_exact(&mut byte).unwrap();
        }
        group.close();
        thread.join().unwrap().unwrap();
    });
}

/// One listener that fails ends them all, and says why.
#[test]
fn failures() {
    for_clusters(&[2], |_| {
        let none = TcpListener::group("127.0.0.1:0", 0).unwrap_err();
        assert_eq!(none.kind(), ErrorKind::InvalidInput);
        let group = TcpListener::group("127.0.0.1:0", 2).unwrap();
        let serving = group.clone();
        let started = Arc::new(AtomicUsize::new(0));
        let starting = Arc::clone(&started);
        let server = fibre::spawn(move || {
            starting.fetch_add(1, Ordering::SeqCst);
            serving.serve(|_, _| ())
        });
        eventually(|| started.load(Ordering::SeqCst) == 1);
        rustix::net::shutdown(&group.listeners()[1], rustix::net::Shutdown::Both).unwrap();
        let error = server.join().unwrap().unwrap_err();
        assert_eq!(
            error.raw_os_error(),
            Some(rustix::io::Errno::INVAL.raw_os_error())
        );
    });
}

/// Where not all listeners can be accepted at, none is.
#[test]
fn groups_without_room_fail() {
    watched(|| {
        let cluster = Cluster::builder()
            .processors(1)
            .max_fibres(2)
            .build()
            .unwrap();
        let group = cluster.spawn(|| {
            let group = TcpListener::group("127.0.0.1:0", 2).unwrap();
            group.serve(|_, _| ())
        });
        assert!(group.join().unwrap().is_err());
        cluster.stop();
    });
}

/// An acceptor that there is no stack for is missed at once. AddressSanitizer has more addresses
/// than the limit from the beginning.
#[cfg(not(feature = "sanitizer"))]
#[test]
fn groups_without_stacks_fail() {
    if plays("stackless") {
        // Less than one of the stacks has.
        let limit = Rlimit {
            current: Some(1 << 38),
            maximum: getrlimit(Resource::As).maximum,
        };
        setrlimit(Resource::As, limit).unwrap();
        let group = TcpListener::group("127.0.0.1:0", 2).unwrap();
        let error = group.serve(|_, _| ()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfMemory);
        return;
    }
    let absurd = (1_usize << 40).to_string();
    let output = spawn_child("stackless", &[("FIBRE_STACK_SIZE", &absurd)]);
    assert!(output.status.success(), "{}", errors(&output));
}
