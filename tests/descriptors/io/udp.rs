//! Datagrams: their bounds, their senders, several receivers, errors.

use crate::support::{eventually, for_each_cluster, let_others_block, until_waiting};
use fibre::WaitKind;
use fibre::net::{Ipv4Addr, UdpSocket};
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A socket on a free port.
fn socket() -> UdpSocket {
    UdpSocket::bind("127.0.0.1:0").unwrap()
}

/// Two sockets that are connected to each other.
fn pair() -> (UdpSocket, UdpSocket) {
    let (left, right) = (socket(), socket());
    left.connect(right.local_addr().unwrap()).unwrap();
    right.connect(left.local_addr().unwrap()).unwrap();
    (left, right)
}

/// Each call is about one datagram, also an empty one; what does not fit is lost.
#[test]
fn datagrams_keep_their_bounds() {
    for_each_cluster(|_| {
        let (near, far) = (socket(), socket());
        let to = near.local_addr().unwrap();
        let sender = fibre::spawn(move || {
            for length in [0, 1, 1000, 9000, 60_000] {
                assert_eq!(far.send_to(&vec![7; length], to).unwrap(), length);
                let_others_block();
            }
            far.local_addr().unwrap()
        });
        let mut buffer = vec![0; 1 << 16];
        let mut senders = Vec::new();
        for length in [0, 1, 1000, 9000] {
            let (seen, _) = near.peek_from(&mut buffer).unwrap();
            let (count, from) = near.recv_from(&mut buffer).unwrap();
            assert_eq!((seen, count), (length, length));
            senders.push(from);
        }
        assert_eq!(near.recv_from(&mut buffer[..10]).unwrap().0, 10);
        near.set_read_deadline(Some(Instant::now()));
        let nothing = near.recv_from(&mut buffer).unwrap_err();
        assert_eq!(nothing.kind(), ErrorKind::TimedOut);
        let from = sender.join().unwrap();
        assert!(senders.iter().all(|sender| *sender == from));
    });
}

/// A connected socket hears its peer only, and is told when there is none.
#[test]
fn connected_sockets() {
    for_each_cluster(|_| {
        let (left, right) = pair();
        assert_eq!(left.peer_addr().unwrap(), right.local_addr().unwrap());
        let stranger = socket();
        stranger
            .send_to(b"stranger", left.local_addr().unwrap())
            .unwrap();
        let echo = fibre::spawn(move || {
            let mut buffer = [0; 16];
            let count = right.recv(&mut buffer).unwrap();
            right.send(&buffer[..count]).unwrap()
        });
        left.send(b"peer").unwrap();
        let mut answer = [0; 16];
        assert_eq!(left.peek(&mut answer).unwrap(), 4);
        assert_eq!(left.recv(&mut answer).unwrap(), 4);
        assert_eq!(&answer[..4], b"peer");
        echo.join().unwrap();

        // The peer is gone: one call is told, the next one waits as before.
        left.send(b"anybody?").unwrap();
        let refused = left.recv(&mut answer).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        left.set_read_timeout(Some(Duration::from_millis(2)))
            .unwrap();
        let late = left.recv(&mut answer).unwrap_err();
        assert_eq!(late.kind(), ErrorKind::TimedOut);
        assert!(left.take_error().unwrap().is_none());
        assert_eq!(
            socket().peer_addr().unwrap_err().kind(),
            ErrorKind::NotConnected
        );
    });
}

/// A fibre that waits for an answer is told that nobody will give one.
#[test]
fn refusals_wake_receivers() {
    for_each_cluster(|_| {
        let (left, right) = pair();
        drop(right);
        let left = Arc::new(left);
        let waiting = Arc::clone(&left);
        let receiver = fibre::spawn(move || waiting.recv(&mut [0; 4]).unwrap_err().kind());
        let_others_block();
        left.send(b"anybody?").unwrap();
        assert_eq!(receiver.join().unwrap(), ErrorKind::ConnectionRefused);
    });
}

/// Several fibres and a thread that receive from one socket get every datagram once.
#[test]
fn several_receivers() {
    for_each_cluster(|_| {
        let near = Arc::new(socket());
        let far = socket();
        far.connect(near.local_addr().unwrap()).unwrap();
        let got = Arc::new(AtomicUsize::new(0));
        let receive = |near: &UdpSocket, got: &AtomicUsize| {
            let mut mine = 0;
            while near.recv(&mut [0; 8]).is_ok() {
                got.fetch_add(1, Ordering::SeqCst);
                mine += 1;
            }
            mine
        };
        let fibres: Vec<_> = (0..5)
            .map(|_| {
                let (near, got) = (Arc::clone(&near), Arc::clone(&got));
                fibre::spawn(move || receive(&near, &got))
            })
            .collect();
        let (shared, counted) = (Arc::clone(&near), Arc::clone(&got));
        let thread = thread::spawn(move || receive(&shared, &counted));
        let_others_block();
        for round in 1..=20 {
            (0..30).for_each(|_| assert_eq!(far.send(b"datagram").unwrap(), 8));
            eventually(|| got.load(Ordering::SeqCst) == 30 * round);
            if round % 2 == 0 {
                let_others_block();
            }
        }
        near.close();
        let mut all: usize = fibres.into_iter().map(|fibre| fibre.join().unwrap()).sum();
        all += fibre::blocking(|| thread.join()).unwrap();
        assert_eq!(all, 600);
    });
}

/// Receivers that all wait get what comes one at a time in turns.
#[test]
fn receivers_take_turns() {
    for_each_cluster(|_| {
        let near = Arc::new(socket());
        let far = socket();
        far.connect(near.local_addr().unwrap()).unwrap();
        let got = Arc::new(AtomicUsize::new(0));
        let receivers: Vec<_> = (0..4)
            .map(|_| {
                let (near, got) = (Arc::clone(&near), Arc::clone(&got));
                let receive = move || near.recv(&mut [0]).ok();
                let counted = move |_: &usize| _ = got.fetch_add(1, Ordering::SeqCst);
                fibre::spawn(move || std::iter::from_fn(receive).inspect(counted).count())
            })
            .collect();
        let numbers: Vec<_> = receivers.iter().map(fibre::JoinHandle::id).collect();
        until_waiting(WaitKind::Io, &numbers);
        for sent in 1..=80 {
            far.send(b"x").unwrap();
            // Some pollers are late, and who is woken may take all that is there.
            eventually(|| got.load(Ordering::SeqCst) == sent);
            // A fibre that has had its turn stands in line again.
            until_waiting(WaitKind::Io, &numbers);
        }
        near.close();
        let shares: Vec<_> = receivers
            .into_iter()
            .map(|receiver| receiver.join().unwrap())
            .collect();
        assert_eq!(shares.iter().sum::<usize>(), 80);
        assert!(shares.iter().all(|share| *share >= 5), "{shares:?}");
    });
}

/// A receiver that gives up loses nothing: what comes later is received later.
#[test]
fn time_outs_lose_nothing() {
    for_each_cluster(|_| {
        let (near, far) = pair();
        near.set_read_timeout(Some(Duration::from_micros(100)))
            .unwrap();
        let sender = fibre::spawn(move || {
            for i in 0..200_u32 {
                fibre::sleep(Duration::from_micros(50 + u64::from(i % 120)));
                far.send(&i.to_be_bytes()).unwrap();
            }
        });
        let mut next = 0_u32;
        while next < 200 {
            let mut buffer = [0; 8];
            match near.recv(&mut buffer) {
                Ok(count) => {
                    assert_eq!(buffer[..count], next.to_be_bytes());
                    next += 1;
                }
                Err(error) => assert_eq!(error.kind(), ErrorKind::TimedOut),
            }
        }
        sender.join().unwrap();
    });
}

/// Options are those of the socket; groups can be joined once and left once.
#[test]
fn options_and_groups() {
    for_each_cluster(|_| {
        let socket = socket();
        assert!(!socket.broadcast().unwrap());
        socket.set_broadcast(true).unwrap();
        assert!(socket.broadcast().unwrap());
        socket.set_ttl(17).unwrap();
        assert_eq!(socket.ttl().unwrap(), 17);
        socket.set_multicast_ttl_v4(3).unwrap();
        assert_eq!(socket.multicast_ttl_v4().unwrap(), 3);
        socket.set_multicast_loop_v4(false).unwrap();
        assert!(!socket.multicast_loop_v4().unwrap());

        let group = Ipv4Addr::new(239, 1, 2, 3);
        let loopback = Ipv4Addr::LOCALHOST;
        socket.join_multicast_v4(&group, &loopback).unwrap();
        assert!(socket.join_multicast_v4(&group, &loopback).is_err());
        socket.leave_multicast_v4(&group, &loopback).unwrap();
        assert!(socket.leave_multicast_v4(&group, &loopback).is_err());
    });
}

/// To std, where it blocks, and back; clones share the socket.
#[test]
fn to_std_and_back() {
    for_each_cluster(|_| {
        let (near, far) = pair();
        let clone = near.try_clone().unwrap();
        assert_eq!(clone.local_addr().unwrap(), near.local_addr().unwrap());
        far.send(b"one").unwrap();
        assert_eq!(clone.recv(&mut [0; 8]).unwrap(), 3);
        drop(clone);
        let plain = near.into_std().unwrap();
        far.send(b"three").unwrap();
        assert_eq!(plain.recv(&mut [0; 8]).unwrap(), 5);
        let again = UdpSocket::try_from(plain).unwrap();
        let receiver = fibre::spawn(move || again.recv(&mut [0; 8]).unwrap());
        let_others_block();
        far.send(b"fours").unwrap();
        assert_eq!(receiver.join().unwrap(), 5);
    });
}
