//! Unix datagrams: bounds, names, full receivers.

use super::unix::{fresh_name, fresh_path};
use crate::support::{for_each_cluster, let_others_block};
use fibre::net::Shutdown;
use fibre::os::unix::net::UnixDatagram;
use std::io::ErrorKind;
use std::os::linux::net::SocketAddrExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// More messages than any receiver may have.
const MANY: u32 = 3000;

/// Receives `count` messages that are numbers, each sender's in order.
fn receive_numbers(receiver: &UnixDatagram, senders: u32, count: u32) {
    let mut next = vec![0; senders as usize];
    for _ in 0..senders * count {
        let mut message = [0; 16];
        assert_eq!(receiver.recv(&mut message).unwrap(), 8);
        let (sender, number) = message[..8].split_at(4);
        let sender = u32::from_be_bytes(sender.try_into().unwrap()) as usize;
        assert_eq!(number, u32::to_be_bytes(next[sender]));
        next[sender] += 1;
    }
    assert!(next.iter().all(|number| *number == count));
}

/// A message with a sender and a number.
fn message(sender: u32, number: u32) -> [u8; 8] {
    let both = u64::from(sender) << 32 | u64::from(number);
    both.to_be_bytes()
}

/// Each call is about one message; senders have names or not.
#[test]
fn messages_and_names() {
    for_each_cluster(|_| {
        let (left, right) = UnixDatagram::pair().unwrap();
        left.send(b"").unwrap();
        left.send(b"message").unwrap();
        let mut buffer = [0; 16];
        assert_eq!(right.recv(&mut buffer).unwrap(), 0);
        assert_eq!(right.peek(&mut buffer).unwrap(), 7);
        let (count, from) = right.recv_from(&mut buffer[..4]).unwrap();
        assert!(count == 4 && from.is_unnamed());

        let path = fresh_path();
        let named = UnixDatagram::bind(&path).unwrap();
        let abstract_name = fresh_name();
        let other = UnixDatagram::bind_addr(&abstract_name).unwrap();
        assert_eq!(other.send_to(b"hello", &path).unwrap(), 5);
        let (_, from) = named.peek_from(&mut buffer).unwrap();
        assert_eq!(from.as_abstract_name(), abstract_name.as_abstract_name());
        let (_, from) = named.recv_from(&mut buffer).unwrap();
        named.send_to_addr(b"answer", &from).unwrap();
        other.connect(&path).unwrap();
        assert_eq!(
            other.peer_addr().unwrap().as_pathname(),
            Some(path.as_path())
        );
        assert_eq!(other.recv(&mut buffer).unwrap(), 6);
        let nobody = UnixDatagram::unbound().unwrap();
        assert!(nobody.local_addr().unwrap().is_unnamed());
        assert_eq!(
            nobody.send(b"x").unwrap_err().kind(),
            ErrorKind::NotConnected
        );
        std::fs::remove_file(&path).unwrap();
        let missing = nobody.send_to(b"x", &path).unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
    });
}

/// Senders wait while their receiver is full, connected or not, and nothing is lost.
#[test]
fn full_receivers_make_senders_wait() {
    for_each_cluster(|_| {
        let name = fresh_name();
        let receiver = UnixDatagram::bind_addr(&name).unwrap();
        let senders: Vec<_> = (0..4_u32)
            .map(|me| {
                let name = name.clone();
                fibre::spawn(move || {
                    let sender = UnixDatagram::unbound().unwrap();
                    if me % 2 == 0 {
                        sender.connect_addr(&name).unwrap();
                    }
                    for number in 0..MANY / 4 {
                        let sent = if me % 2 == 0 {
                            sender.send(&message(me, number))
                        } else {
                            sender.send_to_addr(&message(me, number), &name)
                        };
                        assert_eq!(sent.unwrap(), 8);
                    }
                })
            })
            .collect();
        let_others_block();
        receive_numbers(&receiver, 4, MANY / 4);
        senders
            .into_iter()
            .for_each(|sender| sender.join().unwrap());
    });
}

/// The two of a pair, where only the sender's buffer is full.
#[test]
fn full_pairs_make_senders_wait() {
    for_each_cluster(|_| {
        let (near, far) = UnixDatagram::pair().unwrap();
        let sender = fibre::spawn(move || {
            for number in 0..MANY {
                assert_eq!(near.send(&message(0, number)).unwrap(), 8);
            }
        });
        let_others_block();
        receive_numbers(&far, 1, MANY);
        sender.join().unwrap();
    });
}

/// Senders without room give up in time, when their socket is closed, and when they are
/// cancelled.
#[test]
fn senders_give_up() {
    for_each_cluster(|_| {
        for connected in [false, true] {
            let name = fresh_name();
            let _receiver = UnixDatagram::bind_addr(&name).unwrap();
            let sender = Arc::new(UnixDatagram::unbound().unwrap());
            if connected {
                sender.connect_addr(&name).unwrap();
            }
            let fill = || {
                let (sender, name) = (Arc::clone(&sender), name.clone());
                move || loop {
                    let sent = if connected {
                        sender.send(b"x")
                    } else {
                        sender.send_to_addr(b"x", &name)
                    };
                    if let Err(error) = sent {
                        return error;
                    }
                }
            };
            let time = Duration::from_millis(5);
            sender.set_write_timeout(Some(time)).unwrap();
            let before = Instant::now();
            assert_eq!(fill()().kind(), ErrorKind::TimedOut);
            assert!(before.elapsed() >= time);
            sender.set_write_timeout(None).unwrap();
            let waiting = fibre::spawn(fill());
            let_others_block();
            sender.set_write_deadline(Some(Instant::now()));
            assert_eq!(waiting.join().unwrap().kind(), ErrorKind::TimedOut);
            sender.set_write_deadline(None);
            let [cancelled, aborted] = [(); 2].map(|()| fibre::spawn(fill()));
            let_others_block();
            cancelled.cancel();
            let error = cancelled.join().unwrap();
            let expected = rustix::io::Errno::CANCELED.raw_os_error();
            assert_eq!(error.raw_os_error(), Some(expected));
            sender.close();
            let error = aborted.join().unwrap();
            assert_eq!(error.kind(), ErrorKind::ConnectionAborted);
        }
    });
}

/// That the receiver one is connected to is full says nothing about others.
#[test]
fn a_full_receiver_keeps_nothing_from_others() {
    for_each_cluster(|_| {
        let [full, free] = [(); 2].map(|()| fresh_name());
        let _full = UnixDatagram::bind_addr(&full).unwrap();
        let receiver = UnixDatagram::bind_addr(&free).unwrap();
        let sender = UnixDatagram::unbound().unwrap();
        sender.connect_addr(&full).unwrap();
        sender
            .set_write_timeout(Some(Duration::from_millis(1)))
            .unwrap();
        let refused = std::iter::repeat_with(|| sender.send(b"x")).find_map(Result::err);
        assert_eq!(refused.unwrap().kind(), ErrorKind::TimedOut);
        sender.set_write_timeout(None).unwrap();
        assert_eq!(sender.send_to_addr(b"other", &free).unwrap(), 5);
        assert_eq!(receiver.recv(&mut [0; 8]).unwrap(), 5);
    });
}

/// Ending a direction wakes the receivers; the end stays.
#[test]
fn shutting_down_wakes_receivers() {
    for_each_cluster(|_| {
        let (near, _far) = UnixDatagram::pair().unwrap();
        let near = Arc::new(near);
        let receivers = [(); 3].map(|()| {
            let near = Arc::clone(&near);
            fibre::spawn(move || near.recv(&mut [0; 4]).unwrap())
        });
        let_others_block();
        near.shutdown(Shutdown::Read).unwrap();
        for receiver in receivers {
            assert_eq!(receiver.join().unwrap(), 0);
        }
    });
}

/// To std, where it blocks, and back.
#[test]
fn to_std_and_back() {
    for_each_cluster(|_| {
        let (near, far) = UnixDatagram::pair().unwrap();
        let far = far.into_std().unwrap();
        far.send(b"12").unwrap();
        let near = near.try_clone().unwrap();
        assert_eq!(near.recv(&mut [0; 4]).unwrap(), 2);
        let far = UnixDatagram::try_from(far).unwrap();
        let receiver = fibre::spawn(move || far.recv(&mut [0; 4]).unwrap());
        let_others_block();
        near.send(b"3").unwrap();
        assert_eq!(receiver.join().unwrap(), 1);
    });
}
