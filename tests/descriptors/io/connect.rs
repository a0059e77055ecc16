//! Connections that are refused or never answered.

use crate::support::sockets::{dead_end, listener};
use crate::support::{for_clusters, for_each_cluster};
use fibre::net::{TcpListener, TcpStream};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// A listener that answers no more, and the connections that fill its queue.
fn full_listener() -> (TcpListener, Vec<TcpStream>) {
    let listener = listener();
    rustix::net::listen(listener.as_fd(), 0).unwrap();
    let address = listener.local_addr().unwrap();
    let mut queued = Vec::new();
    let mut late = 0;
    // An attempt may be late for other reasons, but not several.
    while late < 3 {
        match TcpStream::connect_timeout(&address, Duration::from_millis(20)) {
            Ok(stream) => {
                queued.push(stream);
                late = 0;
            }
            Err(_) => late += 1,
        }
        assert!(queued.len() < 10, "the queue does not fill");
    }
    (listener, queued)
}

/// Where nobody listens, connecting is refused.
#[test]
fn refused() {
    for_each_cluster(|_| {
        for _ in 0..50 {
            let (_nobody, address) = dead_end();
            let error = TcpStream::connect(address).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        }
        let minute = Duration::from_secs(60);
        let (_nobody, address) = dead_end();
        let error = TcpStream::connect_timeout(&address, minute).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    });
}

/// Several addresses are tried one after the other; the error is the last one's.
#[test]
fn several_addresses() {
    for_each_cluster(|_| {
        let listener = listener();
        let good = listener.local_addr().unwrap();
        let ((_nobody, first), (_no_other, second)) = (dead_end(), dead_end());
        let stream = TcpStream::connect(&[first, good][..]).unwrap();
        assert_eq!(stream.peer_addr().unwrap(), good);
        let error = TcpStream::connect(&[first, second][..]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        let error = TcpStream::connect(&[][..]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    });
}

/// A listener that answers no more makes connecting time out, for all who wait.
#[test]
fn unanswered_attempts_time_out() {
    for_each_cluster(|_| {
        let (listener, _queued) = full_listener();
        let address = listener.local_addr().unwrap();
        let waiting: Vec<_> = (0..5)
            .map(|_| {
                fibre::spawn(move || {
                    let before = Instant::now();
                    let time = Duration::from_millis(20);
                    let error = TcpStream::connect_timeout(&address, time).unwrap_err();
                    assert_eq!(error.kind(), ErrorKind::TimedOut);
                    assert!(before.elapsed() >= time);
                })
            })
            .collect();
        waiting.into_iter().for_each(|fibre| fibre.join().unwrap());
        let error = TcpStream::connect_timeout(&address, Duration::ZERO).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    });
}

/// An attempt that waits goes on when there is room again.
#[test]
fn attempts_wait_for_room() {
    for_clusters(&[2], |_| {
        let (listener, queued) = full_listener();
        let address = listener.local_addr().unwrap();
        let waiting = fibre::spawn(move || {
            let mut stream = TcpStream::connect(address).unwrap();
            assert_eq!(stream.peer_addr().unwrap(), address);
            stream.write_all(b"at last").unwrap();
        });
        fibre::sleep(Duration::from_millis(5));
        assert!(!waiting.is_finished());
        for stream in queued {
            drop(stream);
            drop(listener.accept().unwrap());
        }
        // The kernel tries again after a second.
        let mut text = String::new();
        while text.is_empty() {
            // Attempts that timed out may be answered late, and are gone by then.
            let _ = listener.accept().unwrap().0.read_to_string(&mut text);
        }
        assert_eq!(text, "at last");
        waiting.join().unwrap();
    });
}
