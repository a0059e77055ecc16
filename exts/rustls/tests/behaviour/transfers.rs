//! Large texts in both directions, at once, and in pieces of all sizes.

use crate::peers::*;
use crate::support::{Random, for_each_cluster, sockets};
use fibre::net::TcpStream;
use fibre_rustls::{TlsStream, Transport};
use std::io::{self, BufWriter, Read, Write};
use std::net::Shutdown;
use std::sync::Mutex;

/// A text of so many bytes that no shift of it equals.
fn text(bytes: usize, seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    (0..bytes.div_ceil(8))
        .flat_map(|_| random.next().to_le_bytes())
        .take(bytes)
        .collect()
}

/// Writes a text, ends the direction, and reads the other's to its end, in two fibres.
fn exchange<S: Transport>(stream: TlsStream<S>, text: &[u8]) -> Vec<u8> {
    let (mut reader, mut writer) = stream.split();
    let mut heard = Vec::new();
    fibre::scope(|scope| {
        scope.spawn(|| {
            writer.write_all(text).unwrap();
            writer.shutdown().unwrap();
        });
        reader.read_to_end(&mut heard).unwrap();
    });
    drop(reader.reunite(writer).unwrap());
    heard
}

/// Megabytes go both ways at once, and arrive as they were.
#[test]
fn large_texts_go_both_ways_at_once() {
    const SIZE: usize = 4 << 20;
    for_each_cluster(|_| {
        let (client, server) = pair();
        let serving = fibre::spawn(move || exchange(server, &text(SIZE, 2)));
        assert!(exchange(client, &text(SIZE, 1)) == text(SIZE, 2));
        assert!(serving.join().unwrap() == text(SIZE, 1));
    });
}

/// Nobody reads before all is written, on both sides: more than the sockets take, so that each
/// writer waits for the other side's reader, which does not wait for its own writer.
#[test]
fn a_reader_does_not_wait_for_its_writer() {
    const SIZE: usize = 1 << 20;
    for_each_cluster(|_| {
        let (client, server) = sockets::pair();
        sockets::shrink_buffers(&client);
        sockets::shrink_buffers(&server);
        let accepting = fibre::spawn(move || acceptor().accept(server).unwrap());
        let client = connector().connect(name(), client).unwrap();
        let server = accepting.join().unwrap();
        let both = [client, server].map(|stream| {
            fibre::spawn(move || {
                let (mut reader, mut writer) = stream.split();
                let writing = fibre::spawn(move || {
                    writer.write_all(&vec![7; SIZE]).unwrap();
                    writer.flush().unwrap();
                });
                // The writer fills the way to the other side.
                (0..100).for_each(|_| fibre::yield_now());
                let mut count = 0;
                let mut buffer = [0; 1000];
                while count < SIZE {
                    count += reader.read(&mut buffer).unwrap();
                }
                writing.join().unwrap();
                count
            })
        });
        assert_eq!(both.map(|one| one.join().unwrap()), [SIZE; 2]);
    });
}

/// A stream that receives and sends in pieces of random sizes, down to a byte.
struct Choppy(TcpStream, Mutex<Random>);

impl Choppy {
    /// The size of the next piece.
    fn piece(&self, most: usize) -> usize {
        let mut random = self.1.lock().unwrap();
        let bound = if random.one_in(4) { 5 } else { 20_000 };
        1 + random.below(bound.min(most))
    }
}

impl Transport for Choppy {
    fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let piece = self.piece(buffer.len());
        self.0.receive(&mut buffer[..piece])
    }

    fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        self.0.send(&bytes[..self.piece(bytes.len())])
    }

    fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        Transport::shutdown(&self.0, how)
    }
}

/// Wherever the stream below parts the records, the texts are the same.
#[test]
fn records_may_be_parted_anywhere() {
    const SIZE: usize = 300_000;
    for_each_cluster(|_| {
        let mut random = Random::new(Random::seed());
        let (client, server) = sockets::pair();
        let [client, server] =
            [client, server].map(|stream| Choppy(stream, Mutex::new(random.split())));
        let serving =
            fibre::spawn(move || exchange(acceptor().accept(server).unwrap(), &text(SIZE, 4)));
        let stream = connector().connect(name(), client).unwrap();
        assert!(exchange(stream, &text(SIZE, 3)) == text(SIZE, 4));
        assert!(serving.join().unwrap() == text(SIZE, 3));
    });
}

/// Writes of all sizes, by references, whole and in parts, buffered and not.
#[test]
fn writes_of_all_sizes() {
    for_each_cluster(|_| {
        let (client, mut server) = pair();
        let sizes = [0, 1, 100, 16_383, 16_384, 16_385, 70_000, 200_000];
        let serving = fibre::spawn(move || {
            let mut heard = Vec::new();
            server.read_to_end(&mut heard).unwrap();
            heard
        });
        let mut said = Vec::new();
        for (seed, size) in sizes.into_iter().enumerate() {
            let text = text(size, seed as u64);
            (&client).write_all(&text).unwrap();
            let mut buffered = BufWriter::new(&client);
            text.chunks(7)
                .for_each(|part| buffered.write_all(part).unwrap());
            buffered.flush().unwrap();
            drop(buffered);
            let parts = [io::IoSlice::new(b"one"), io::IoSlice::new(b"two")];
            assert_eq!((&client).write_vectored(&parts).unwrap(), 6);
            said.extend([text.as_slice(), &text, b"onetwo"].concat());
        }
        client.shutdown(Shutdown::Write).unwrap();
        assert!(serving.join().unwrap() == said);
    });
}
