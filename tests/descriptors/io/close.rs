//! Closing what others wait for; numbers that are used again; calls in loops that never wait.

use crate::support::sockets::{listener, pair};
use crate::support::{Random, for_each_cluster, let_others_block, watched};
use fibre::net::{TcpListener, TcpStream};
use fibre::{Cluster, IoChoices};
use std::io::{ErrorKind, Read, Write};
use std::net as std_net;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Closing a listener wakes all who accept, and refuses those who come later.
#[test]
fn close_wakes_acceptors() {
    for_each_cluster(|_| {
        for round in 0..20 {
            let listener = Arc::new(listener());
            let acceptors = [(); 4].map(|()| {
                let listener = Arc::clone(&listener);
                fibre::spawn(move || listener.accept().unwrap_err().kind())
            });
            if round % 4 != 0 {
                let_others_block();
            }
            listener.close();
            for acceptor in acceptors {
                assert_eq!(acceptor.join().unwrap(), ErrorKind::ConnectionAborted);
            }
            let late = listener.accept().unwrap_err();
            assert_eq!(late.kind(), ErrorKind::ConnectionAborted);
            listener.close();
        }
    });
}

/// Closing a connection wakes all who read and write, among them plain threads.
#[test]
fn close_wakes_readers_and_writers() {
    for_each_cluster(|_| {
        for round in 0..10 {
            let (near, _far) = pair();
            let near = Arc::new(near);
            let [first, second, third] = [(); 3].map(|()| Arc::clone(&near));
            let reader = fibre::spawn(move || (&*first).read(&mut [0; 4]).unwrap_err().kind());
            let writer = fibre::spawn(move || {
                let much = vec![0; 32 << 20];
                (&*second).write_all(&much).unwrap_err().kind()
            });
            let thread = thread::spawn(move || (&*third).read(&mut [0; 4]).unwrap_err().kind());
            if round % 3 != 0 {
                let_others_block();
            }
            near.close();
            let aborted = ErrorKind::ConnectionAborted;
            assert_eq!(reader.join().unwrap(), aborted);
            assert_eq!(writer.join().unwrap(), aborted);
            assert_eq!(fibre::blocking(|| thread.join()).unwrap(), aborted);
            assert_eq!((&*near).write(b"x").unwrap_err().kind(), aborted);
            assert_eq!(near.peek(&mut [0]).unwrap_err().kind(), aborted);
        }
    });
}

/// What is closed stays open for the peer until it is dropped, which then sees the end.
#[test]
fn dropping_ends_the_connection() {
    for_each_cluster(|_| {
        let (near, mut far) = pair();
        near.close();
        far.set_read_timeout(Some(Duration::from_millis(2)))
            .unwrap();
        assert_eq!(far.read(&mut [0]).unwrap_err().kind(), ErrorKind::TimedOut);
        far.set_read_timeout(None).unwrap();
        drop(near);
        assert_eq!(far.read(&mut [0]).unwrap(), 0);
    });
}

/// One client of the storm: exchanges messages that carry its name, and leaves in every way.
fn storm_client(address: std_net::SocketAddr, me: u32, mut random: Random) {
    for round in 0..60_u32 {
        let mut stream = TcpStream::connect(address).unwrap();
        for _ in 0..random.below(4) {
            let message = [me.to_be_bytes(), round.to_be_bytes()].concat();
            stream.write_all(&message).unwrap();
            let mut answer = [0; 8];
            stream.read_exact(&mut answer).unwrap();
            assert_eq!(answer[..], message, "somebody else's bytes");
        }
        match random.below(3) {
            0 => {
                let time = Duration::from_micros(20 + random.below(100) as u64);
                stream.set_read_timeout(Some(time)).unwrap();
                let idle = stream.read(&mut [0]).unwrap_err();
                assert_eq!(idle.kind(), ErrorKind::TimedOut);
            }
            1 => crate::support::sockets::reset_on_close(&stream),
            _ => {}
        }
    }
}

/// Descriptors are opened, closed and their numbers used again by fibres and threads on both
/// ends: nobody gets another's bytes or wake-ups.
#[test]
fn numbers_are_used_again() {
    let seed = Random::seed();
    for_each_cluster(move |_| {
        let mut random = Random::new(seed);
        let listener = Arc::new(listener());
        let address = listener.local_addr().unwrap();
        let accepting = Arc::clone(&listener);
        let server = fibre::spawn(move || {
            while let Ok((mut stream, _)) = accepting.accept() {
                fibre::spawn(move || {
                    let mut buffer = [0; 8];
                    while stream.read_exact(&mut buffer).is_ok() {
                        if stream.write_all(&buffer).is_err() {
                            break;
                        }
                    }
                });
            }
        });
        let (first, second) = (random.split(), random.split());
        let threads = [(100, first), (101, second)]
            .map(|(me, random)| thread::spawn(move || storm_client(address, me, random)));
        let clients: Vec<_> = (0..8)
            .map(|me| {
                let random = random.split();
                fibre::spawn(move || storm_client(address, me, random))
            })
            .collect();
        clients
            .into_iter()
            .for_each(|client| client.join().unwrap());
        for thread in threads {
            fibre::blocking(|| thread.join()).unwrap();
        }
        listener.close();
        server.join().unwrap();
    });
}

/// One who reads on and on, and never has to wait, keeps nobody from running, though it does not
/// yield first.
#[test]
fn loops_over_what_is_there_starve_nobody() {
    watched(|| {
        let builder = Cluster::builder().processors(1);
        let cluster = builder.yield_before_read(false).build().unwrap();
        let (stream, peer) = pair();
        (&peer).write_all(b"x").unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let looping = cluster.spawn(move || {
            while !told.load(Ordering::SeqCst) {
                assert_eq!(stream.peek(&mut [0]).unwrap(), 1);
            }
        });
        cluster.spawn(move || stop.store(true, Ordering::SeqCst));
        looping.join().unwrap();
        cluster.stop();
    });
}

/// One who goes on accepting in spite of errors keeps nobody from running.
#[test]
fn loops_over_closed_listeners_starve_nobody() {
    watched(|| {
        let cluster = Cluster::builder().processors(1).build().unwrap();
        let listener = Arc::new(TcpListener::bind("127.0.0.1:0").unwrap());
        listener.close();
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let looping = cluster.spawn(move || {
            while !told.load(Ordering::SeqCst) {
                assert!(listener.accept().is_err());
            }
        });
        cluster.spawn(move || stop.store(true, Ordering::SeqCst));
        looping.join().unwrap();
        cluster.stop();
    });
}
