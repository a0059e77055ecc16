//! Messages go back and forth, each of which says which it is; and bytes go from one stream to
//! another inside the kernel.

use super::conversation::{End, persist, receive, send};
use super::plan::Plan;
use super::support::Random;
use super::support::sockets::noise;
use fibre::io::{copy, pipe};
use fibre::net::UdpSocket;
use fibre::os::unix::net::{UnixDatagram, UnixStream};
use fibre::{Cluster, JoinHandle};
use std::io::{self, Read, Write};

/// Messages in each direction.
const MESSAGES: u64 = 25;

/// The longest message.
const MOST: usize = 1200;

/// A conversation by UDP, and one by Unix datagrams.
pub fn talk(plan: Plan, cluster: &Cluster, number: u64) -> Vec<JoinHandle<End>> {
    let bind = || persist(plan, || UdpSocket::bind("127.0.0.1:0")).unwrap();
    let (one, other) = (bind(), bind());
    one.connect(other.local_addr().unwrap()).unwrap();
    other.connect(one.local_addr().unwrap()).unwrap();
    let (left, right) = persist(plan, UnixDatagram::pair).unwrap();
    vec![
        cluster.spawn(move || {
            ask(
                plan,
                number,
                |bytes| one.send(bytes),
                |buffer| one.recv(buffer),
            )
        }),
        cluster.spawn(move || answer(plan, |bytes| other.send(bytes), |buffer| other.recv(buffer))),
        cluster.spawn(move || {
            ask(
                plan,
                number,
                |bytes| left.send(bytes),
                |buffer| left.recv(buffer),
            )
        }),
        cluster.spawn(move || answer(plan, |bytes| right.send(bytes), |buffer| right.recv(buffer))),
    ]
}

/// Sends messages that follow from a number, and wants each of them back.
fn ask(
    plan: Plan,
    number: u64,
    mut send: impl FnMut(&[u8]) -> io::Result<usize>,
    mut receive: impl FnMut(&mut [u8]) -> io::Result<usize>,
) -> End {
    for place in 0..MESSAGES {
        let mut random = Random::new(number << 32 | place);
        let length = 8 + random.below(MOST - 8);
        let message: Vec<u8> = noise(random.next()).take(length).collect();
        assert_eq!(persist(plan, || send(&message)), Some(length));
        let mut buffer = [0; MOST];
        let count = persist(plan, || receive(&mut buffer)).unwrap();
        assert!(
            buffer[..count] == message,
            "message {place} of {number}: {count} of {length}"
        );
    }
    End::Whole
}

/// Sends back what comes.
fn answer(
    plan: Plan,
    mut send: impl FnMut(&[u8]) -> io::Result<usize>,
    mut receive: impl FnMut(&mut [u8]) -> io::Result<usize>,
) -> End {
    for _ in 0..MESSAGES {
        let mut buffer = [0; MOST];
        let count = persist(plan, || receive(&mut buffer)).unwrap();
        assert_eq!(persist(plan, || send(&buffer[..count])), Some(count));
    }
    End::Whole
}

/// Bytes go through a Unix stream, a pipe, and another Unix stream.
pub fn pass_on(
    plan: Plan,
    cluster: &Cluster,
    number: u64,
    mut sizes: Random,
) -> Vec<JoinHandle<End>> {
    let (source, first) = UnixStream::pair().unwrap();
    let (reader, writer) = pipe().unwrap();
    let (second, sink) = UnixStream::pair().unwrap();
    let copied = |count: io::Result<u64>| match count.unwrap() {
        0 => End::Broken,
        _ => End::Whole,
    };
    let mut reads = sizes.split();
    vec![
        cluster.spawn(move || {
            send(plan, number, &mut sizes, |slices| {
                (&source).write_vectored(slices)
            })
        }),
        cluster.spawn(move || copied(copy(&first, &writer))),
        cluster.spawn(move || copied(copy(&reader, &second))),
        cluster.spawn(move || {
            receive(plan, number, &mut reads, |slices| {
                (&sink).read_vectored(slices)
            })
        }),
    ]
}
