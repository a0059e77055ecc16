//! Listeners, several acceptors, bursts.

use crate::support::sockets::listener;
use crate::support::{for_each_cluster, let_others_block, until_waiting};
use fibre::WaitKind;
use fibre::net::TcpStream;
use std::io::{Read, Write};
use std::net as std_net;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Many connections at once, each echoed by a fibre of its own.
#[test]
fn echo_over_many_connections() {
    for_each_cluster(|_| {
        let listener = Arc::new(listener());
        let address = listener.local_addr().unwrap();
        let accepting = Arc::clone(&listener);
        let server = fibre::spawn(move || {
            for connection in accepting.incoming().take(200) {
                let mut connection = connection.unwrap();
                fibre::spawn(move || {
                    let mut buffer = [0; 64];
                    while let Ok(count @ 1..) = connection.read(&mut buffer) {
                        connection.write_all(&buffer[..count]).unwrap();
                    }
                });
            }
        });
        let clients: Vec<_> = (0..200_u32)
            .map(|me| {
                fibre::spawn(move || {
                    let mut stream = TcpStream::connect(address).unwrap();
                    for round in 0..20_u32 {
                        let message = (me << 16 | round).to_be_bytes();
                        stream.write_all(&message).unwrap();
                        let mut answer = [0; 4];
                        stream.read_exact(&mut answer).unwrap();
                        assert_eq!(answer, message);
                    }
                })
            })
            .collect();
        clients
            .into_iter()
            .for_each(|client| client.join().unwrap());
        server.join().unwrap();
    });
}

/// Fibres that accept on one listener all get connections that come one at a time, when all of
/// them wait. (One that comes back at once may overtake those that are being woken.)
#[test]
fn acceptors_take_turns() {
    for_each_cluster(|_| {
        let listener = Arc::new(listener());
        let address = listener.local_addr().unwrap();
        let accepted = Arc::new(AtomicUsize::new(0));
        let acceptors: Vec<_> = (0..5)
            .map(|_| {
                let (listener, accepted) = (Arc::clone(&listener), Arc::clone(&accepted));
                fibre::spawn(move || {
                    let mut mine = 0;
                    while let Ok((stream, _)) = listener.accept() {
                        mine += 1;
                        accepted.fetch_add(1, Ordering::SeqCst);
                        drop(stream);
                    }
                    mine
                })
            })
            .collect();
        let numbers: Vec<_> = acceptors.iter().map(fibre::JoinHandle::id).collect();
        until_waiting(WaitKind::Io, &numbers);
        for _ in 0..100 {
            let mut client = TcpStream::connect(address).unwrap();
            assert_eq!(client.read(&mut [0; 1]).unwrap(), 0);
            // A fibre that has had its turn stands in line again.
            until_waiting(WaitKind::Io, &numbers);
        }
        listener.close();
        let shares = acceptors
            .into_iter()
            .map(|acceptor| acceptor.join().unwrap());
        let shares: Vec<usize> = shares.collect();
        assert_eq!(accepted.load(Ordering::SeqCst), 100);
        assert!(shares.iter().all(|share| *share >= 5), "{shares:?}");
    });
}

/// None of many connections that arrive in one burst is forgotten, while several accept.
#[test]
fn bursts_are_accepted_completely() {
    for_each_cluster(|_| {
        let listener = Arc::new(listener());
        let address = listener.local_addr().unwrap();
        for round in 0..10 {
            let acceptors: Vec<_> = (0..40)
                .map(|_| {
                    let listener = Arc::clone(&listener);
                    fibre::spawn(move || listener.accept().unwrap().0)
                })
                .collect();
            if round % 2 == 0 {
                let_others_block();
            }
            let burst: Vec<_> = (0..40)
                .map(|_| std_net::TcpStream::connect(address).unwrap())
                .collect();
            for acceptor in acceptors {
                acceptor.join().unwrap();
            }
            drop(burst);
        }
    });
}

/// Acceptors among fibres and threads share a listener.
#[test]
fn threads_accept_beside_fibres() {
    for_each_cluster(|_| {
        let listener = Arc::new(listener());
        let address = listener.local_addr().unwrap();
        let accept_ten = |listener: &fibre::net::TcpListener| {
            for _ in 0..10 {
                listener.accept().unwrap().0.write_all(b"!").unwrap();
            }
        };
        let shared = Arc::clone(&listener);
        let thread = thread::spawn(move || accept_ten(&shared));
        let shared = Arc::clone(&listener);
        let fibre = fibre::spawn(move || accept_ten(&shared));
        for _ in 0..20 {
            let mut text = String::new();
            let mut client = TcpStream::connect(address).unwrap();
            client.read_to_string(&mut text).unwrap();
            assert_eq!(text, "!");
        }
        fibre.join().unwrap();
        fibre::blocking(|| thread.join()).unwrap();
    });
}

/// Connections that were reset before they are accepted disturb nobody.
#[test]
fn connections_that_are_gone_already() {
    for_each_cluster(|_| {
        let listener = listener();
        let address = listener.local_addr().unwrap();
        for _ in 0..10 {
            let gone = std_net::TcpStream::connect(address).unwrap();
            crate::support::sockets::reset_on_close(&gone);
            drop(gone);
        }
        let mut client = TcpStream::connect(address).unwrap();
        client.write_all(b"last").unwrap();
        let mut text = [0; 4];
        let served = (0..11).any(|_| {
            let (mut stream, _) = listener.accept().unwrap();
            stream.read_exact(&mut text).is_ok()
        });
        assert!(served && &text == b"last");
    });
}

/// A server that accepts in one fibre, and dies, frees its port for the next one.
#[test]
fn ports_can_be_bound_again() {
    for_each_cluster(|_| {
        let first = listener();
        let address = first.local_addr().unwrap();
        let client = TcpStream::connect(address).unwrap();
        let (served, peer) = first.accept().unwrap();
        assert_eq!(peer, client.local_addr().unwrap());
        drop((served, first));
        fibre::sleep(Duration::from_millis(1));
        let second = fibre::net::TcpListener::bind(address).unwrap();
        assert_eq!(second.local_addr().unwrap(), address);
    });
}
