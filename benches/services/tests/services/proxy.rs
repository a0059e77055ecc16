//! The proxy.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use crate::program::{LONG, Program, both};

/// The programs.
const BOTH: [&str; 2] = both!("proxy");

/// A backend that sends everything back. It ends with the process.
fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let mut writer = stream.try_clone().unwrap();
                let _ = std::io::copy(&mut stream, &mut writer);
                let _ = writer.shutdown(Shutdown::Write);
            });
        }
    });
    address
}

/// Starts a proxy.
fn start(path: &str, backend: SocketAddr, more: &[&str]) -> (Program, SocketAddr) {
    let backend = backend.to_string();
    let mut program = Program::start(path, &[&["--backend", &backend], more].concat());
    let address = program.address();
    (program, address)
}

/// Connects, with a limit on all waits.
fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream.set_write_timeout(Some(LONG)).unwrap();
    stream
}

/// Sends a byte and waits for it to come back.
fn ping(mut stream: &TcpStream) {
    stream.write_all(b"!").unwrap();
    stream.read_exact(&mut [0]).unwrap();
}

/// Waits for the end of a connection; it may be a reset.
fn expect_end(mut stream: &TcpStream) {
    match stream.read(&mut [0; 64]) {
        Ok(count) => assert_eq!(count, 0),
        Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
    }
}

/// Stops it, and expects success.
fn stop(program: Program) {
    program.signal(Signal::TERM);
    let (status, _) = program.end();
    assert!(status.success(), "{status}");
}

#[test]
fn many_clients_get_back_what_they_send() {
    let backend = echo();
    for path in BOTH {
        let (program, address) = start(path, backend, &[]);
        thread::scope(|scope| {
            for number in 0..40_usize {
                scope.spawn(move || {
                    let bytes: Vec<u8> = (0..100_000).map(|i| (i * number) as u8).collect();
                    let stream = connect(address);
                    thread::scope(|scope| {
                        scope.spawn(|| {
                            (&stream).write_all(&bytes).unwrap();
                            // The other direction goes on.
                            stream.shutdown(Shutdown::Write).unwrap();
                        });
                        let mut back = Vec::new();
                        (&stream).read_to_end(&mut back).unwrap();
                        assert!(back == bytes);
                    });
                });
            }
        });
        stop(program);
    }
}

#[test]
fn a_dead_backend_costs_its_clients_only() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap();
    let nowhere = closed.local_addr().unwrap();
    drop(closed);
    for path in BOTH {
        let (program, address) = start(path, nowhere, &[]);
        for _ in 0..10 {
            expect_end(&connect(address));
        }
        stop(program);
    }
}

#[test]
fn silence_ends_a_connection() {
    let backend = echo();
    for path in BOTH {
        let (program, address) = start(path, backend, &["--idle", "0.2"]);
        let silent = connect(address);
        ping(&silent);
        expect_end(&silent);
        ping(&connect(address));
        stop(program);
    }
}

#[test]
fn clients_beyond_the_bound_wait() {
    let backend = echo();
    for path in BOTH {
        let (program, address) = start(path, backend, &["--most", "1"]);
        let first = connect(address);
        ping(&first);
        let mut second = connect(address);
        second.write_all(b"?").unwrap();
        second
            .set_read_timeout(Some(Duration::from_millis(100)))
            .unwrap();
        let early = second.read(&mut [0]).unwrap_err();
        assert_eq!(early.kind(), ErrorKind::WouldBlock);
        drop(first);
        second.set_read_timeout(Some(LONG)).unwrap();
        second.read_exact(&mut [0]).unwrap();
        drop(second);
        stop(program);
    }
}

/// The acceptor is waiting for a place then, not for a client.
#[test]
fn it_stops_at_the_bound() {
    let backend = echo();
    for path in BOTH {
        let (program, address) = start(path, backend, &["--most", "1", "--drain", "0.2"]);
        let only = connect(address);
        ping(&only);
        stop(program);
        expect_end(&only);
    }
}

#[test]
fn a_signal_under_load_cuts_no_connection_off() {
    const CLIENTS: usize = 20;
    let backend = echo();
    for path in BOTH {
        let (program, address) = start(path, backend, &["--drain", "60"]);
        let (connected, told) = (Barrier::new(CLIENTS + 1), Barrier::new(CLIENTS + 1));
        let status = thread::scope(|scope| {
            for _ in 0..CLIENTS {
                scope.spawn(|| {
                    let stream = connect(address);
                    ping(&stream);
                    connected.wait();
                    (0..100).for_each(|_| ping(&stream));
                    told.wait();
                    (0..100).for_each(|_| ping(&stream));
                });
            }
            connected.wait();
            program.signal(Signal::TERM);
            told.wait();
            program.end().0
        });
        assert!(status.success(), "{status}");
        assert!(TcpStream::connect(address).is_err());
    }
}

#[test]
fn a_connection_that_does_not_end_is_cut_off_at_last() {
    let backend = echo();
    for path in BOTH {
        let (program, address) = start(path, backend, &["--drain", "0.2"]);
        let endless = connect(address);
        ping(&endless);
        stop(program);
        expect_end(&endless);
    }
}
