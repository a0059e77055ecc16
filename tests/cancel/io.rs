//! Sockets of fibres that are cancelled.

use super::as_cancelled;
use crate::support::sockets::{listener, pair, shrink_buffers};
use crate::support::{for_each_cluster, let_others_block};
use fibre::net::{TcpListener, TcpStream};
use rustix::io::Errno;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::Duration;

/// Whether a call failed because its fibre was cancelled.
fn is_cancelled<T>(result: &io::Result<T>) -> bool {
    let errno = result.as_ref().err().and_then(io::Error::raw_os_error);
    errno == Some(Errno::CANCELED.raw_os_error())
}

/// Spawns a fibre that makes a call, cancels it when it waits, and looks at what came of it.
fn cancelled_while<T: Send + 'static>(call: impl FnOnce() -> io::Result<T> + Send + 'static) {
    let fibre = fibre::spawn(move || is_cancelled(&call()));
    let_others_block();
    fibre.cancel();
    assert!(fibre.join().unwrap());
}

/// A name is not even looked up.
#[test]
fn connecting_fails_at_once() {
    for_each_cluster(|_| {
        assert!(as_cancelled(|| is_cancelled(&TcpStream::connect(
            "no such name:80"
        ))));
    });
}

/// Calls that wait end with `ECANCELED`; the sockets stay as they are.
#[test]
fn waits_end() {
    for_each_cluster(|_| {
        let listener = Arc::new(listener());
        let accepting = Arc::clone(&listener);
        cancelled_while(move || accepting.accept());

        let (left, right) = pair();
        let reading = left.try_clone().unwrap();
        cancelled_while(move || (&reading).read(&mut [0; 8]));
        let limited = left.try_clone().unwrap();
        let long = Some(Duration::from_secs(3600));
        limited.set_read_timeout(long).unwrap();
        cancelled_while(move || (&limited).read(&mut [0; 8]));
        let peeking = left.try_clone().unwrap();
        cancelled_while(move || peeking.peek(&mut [0; 8]));

        (&right).write_all(b"still").unwrap();
        let mut text = [0; 5];
        (&left).read_exact(&mut text).unwrap();
        assert_eq!(&text, b"still");

        shrink_buffers(&left);
        let writing = left.try_clone().unwrap();
        cancelled_while(move || (&writing).write_all(&vec![0; 1 << 22]));
        drop(left);
        let mut rest = Vec::new();
        (&right).read_to_end(&mut rest).unwrap();
        assert!(rest.len() < 1 << 22);

        let address = listener.local_addr().unwrap();
        let client = fibre::spawn(move || TcpStream::connect(address).map(drop));
        listener.accept().unwrap();
        client.join().unwrap().unwrap();
    });
}

/// A fibre that has been cancelled begins no call, and in a shield any.
#[test]
fn no_call_begins() {
    for_each_cluster(|_| {
        let listener = listener();
        let address = listener.local_addr().unwrap();
        as_cancelled(move || {
            let (left, right) = fibre::shield(pair);
            fibre::shield(|| (&right).write_all(b"x")).unwrap();
            let mut byte = [0];
            assert!(is_cancelled(&(&left).read(&mut byte)));
            assert!(is_cancelled(&(&left).write(&byte)));
            assert!(is_cancelled(&listener.accept()));
            assert!(is_cancelled(&TcpStream::connect(address)));
            assert_eq!(fibre::shield(|| (&left).read(&mut byte)).unwrap(), 1);
            assert_eq!(&byte, b"x");
        });
    });
}

/// Acceptors that are cancelled leave every connection to those who are not.
#[test]
fn no_connection_is_lost() {
    for_each_cluster(|_| {
        let listener = Arc::new(listener());
        let address = listener.local_addr().unwrap();
        let accept = |listener: &Arc<TcpListener>| {
            let listener = Arc::clone(listener);
            fibre::spawn(move || {
                let mut accepted = 0;
                while let Ok((mut stream, _)) = listener.accept() {
                    fibre::shield(|| stream.write_all(b"!")).unwrap();
                    accepted += 1;
                }
                accepted
            })
        };
        let steady = accept(&listener);
        let mut accepted = 0;
        for _ in 0..30 {
            let brief: Vec<_> = (0..4).map(|_| accept(&listener)).collect();
            let clients: Vec<_> = (0..4)
                .map(|_| {
                    fibre::spawn(move || {
                        let mut stream = TcpStream::connect(address).unwrap();
                        stream.read_exact(&mut [0]).unwrap();
                    })
                })
                .collect();
            fibre::yield_now();
            brief.iter().for_each(fibre::JoinHandle::cancel);
            clients
                .into_iter()
                .for_each(|client| client.join().unwrap());
            for fibre in brief {
                accepted += fibre.join().unwrap();
            }
        }
        listener.close();
        assert_eq!(accepted + steady.join().unwrap(), 120);
    });
}
