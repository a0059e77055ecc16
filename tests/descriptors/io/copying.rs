//! Copying inside the kernel, against what a plain copy does; proxies, files, peers that go.

use crate::support::sockets::{pair, read_noise, reset_on_close, shrink_buffers, write_noise};
use crate::support::{Random, for_each_cluster, let_others_block, watched};
use fibre::io::{copy, copy_bidirectional, pipe, sendfile};
use fibre::net::{Shutdown, TcpStream};
use fibre::os::unix::net::UnixStream;
use rustix::net::{SendFlags, send};
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// More than buffers and pipes take.
const MUCH: usize = 1 << 20;

/// A file of so many bytes, which follow from `seed`, that is gone with this.
struct Noise {
    path: PathBuf,
    bytes: Vec<u8>,
}

impl Noise {
    fn new(name: &str, seed: u64, length: usize) -> Self {
        let name = format!("fibre-copying-{name}-{}-{length}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let mut bytes = Vec::new();
        write_noise(&mut bytes, seed, length, Random::new(seed));
        std::fs::write(&path, &bytes).unwrap();
        Self { path, bytes }
    }
}

impl Drop for Noise {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Bytes written in pieces of random sizes go from one kind of stream to another, and arrive whole.
#[test]
fn streams_of_all_kinds() {
    let seed = Random::seed();
    for_each_cluster(move |_| {
        let mut random = Random::new(seed);
        for length in [0, 5, 8192, 100_000, MUCH] {
            let (sender, tcp_in) = pair();
            let (pipe_out, pipe_in) = pipe().unwrap();
            let (unix_out, unix_in) = UnixStream::pair().unwrap();
            let (tcp_out, receiver) = pair();
            shrink_buffers(&tcp_out);
            let sizes = random.split();
            let fibres = [
                fibre::spawn(move || {
                    write_noise(sender, seed, length, sizes);
                    Ok(length as u64)
                }),
                fibre::spawn(move || copy(&tcp_in, &pipe_in)),
                fibre::spawn(move || copy(&pipe_out, &unix_out)),
                fibre::spawn(move || copy(&unix_in, &tcp_out)),
            ];
            read_noise(receiver, seed, length, random.split());
            for fibre in fibres {
                assert_eq!(fibre.join().unwrap().unwrap(), length as u64);
            }
        }
    });
}

#[test]
fn plain_threads_copy_too() {
    let seed = Random::seed();
    watched(|| {
        let ((sender, tcp_in), (tcp_out, receiver)) = (pair(), pair());
        let sizes = Random::new(seed);
        let writer = std::thread::spawn(move || write_noise(sender, seed, MUCH, sizes));
        let copier = std::thread::spawn(move || copy(&tcp_in, &tcp_out));
        read_noise(receiver, seed, MUCH, Random::new(seed));
        assert_eq!(copier.join().unwrap().unwrap(), MUCH as u64);
        writer.join().unwrap();
    });
}

/// What a client sends and a server answers goes through a proxy, each direction until its end.
#[test]
fn proxies() {
    let seed = Random::seed();
    for_each_cluster(move |_| {
        let ((client, front), (back, server)) = (pair(), pair());
        let proxy = fibre::spawn(move || copy_bidirectional(&front, &back));
        let serving = fibre::spawn(move || {
            let mut server = server;
            // Hears the end of the question, and only then answers.
            let mut question = Vec::new();
            server.read_to_end(&mut question).unwrap();
            write_noise(&server, seed, MUCH, Random::new(seed));
            question.len()
        });
        write_noise(&client, seed, 3 * 8192, Random::new(seed));
        client.shutdown(Shutdown::Write).unwrap();
        read_noise(&client, seed, MUCH, Random::new(seed));
        assert_eq!(serving.join().unwrap(), 3 * 8192);
        assert_eq!(proxy.join().unwrap().unwrap(), (3 * 8192, MUCH as u64));
    });
}

/// A peer that resets its connection ends the other one, too.
#[test]
fn proxies_end_with_either_side() {
    for_each_cluster(|_| {
        let ((client, front), (back, mut server)) = (pair(), pair());
        let proxy = fibre::spawn(move || copy_bidirectional(&front, &back));
        let_others_block();
        reset_on_close(&client);
        drop(client);
        let mut rest = Vec::new();
        // The end, or a reset.
        let _ = server.read_to_end(&mut rest);
        assert!(rest.is_empty());
        let error = proxy.join().unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    });
}

/// Copying ends with the receiver, with the time-out of either side, and when a side is closed.
#[test]
fn copies_that_fail() {
    for_each_cluster(|_| {
        let (reader, writer) = pipe().unwrap();
        let ((left, right), (full, _unread)) = (pair(), pair());
        left.set_read_timeout(Some(Duration::from_millis(2)))
            .unwrap();
        let error = copy(&left, &writer).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        left.set_read_timeout(None).unwrap();

        shrink_buffers(&full);
        full.set_write_timeout(Some(Duration::from_millis(20)))
            .unwrap();
        let flood = fibre::spawn(move || while (&right).write(&[7; 100_000]).is_ok() {});
        let error = copy(&left, &full).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);

        drop(reader);
        let error = copy(&left, &writer).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
        drop(left);
        flood.join().unwrap();

        let (quiet, _peer) = pair();
        let closing = Arc::new(quiet);
        let closed = Arc::clone(&closing);
        let (_reader, writer) = pipe().unwrap();
        let fibre = fibre::spawn(move || copy(&*closed, &writer).unwrap_err().kind());
        let_others_block();
        closing.close();
        assert_eq!(fibre.join().unwrap(), ErrorKind::ConnectionAborted);
    });
}

/// Urgent bytes, at which splicing stands still, hold nothing up and hide nothing.
#[test]
fn urgent_data_on_the_way() {
    const PART: usize = 100_000;
    for_each_cluster(|_| {
        for parts in 2..5 {
            let (from, sender) = pair();
            let (to, receiver) = UnixStream::pair().unwrap();
            let sending = fibre::spawn(move || {
                for part in 0..parts {
                    (&sender).write_all(&vec![part; PART]).unwrap();
                    if part + 1 < parts {
                        send(&sender, b"!", SendFlags::OOB).unwrap();
                    }
                }
            });
            let receiving = fibre::spawn(move || {
                let mut bytes = Vec::new();
                (&receiver).read_to_end(&mut bytes).unwrap();
                bytes
            });
            let copied = copy(&from, &to).unwrap();
            drop(to);
            sending.join().unwrap();
            let bytes = receiving.join().unwrap();
            assert_eq!(copied, bytes.len() as u64);
            // One that a later one has overtaken is one of the bytes.
            let parts = (0..parts).flat_map(|part| std::iter::repeat_n(part, PART));
            assert!(bytes.into_iter().filter(|byte| *byte != b'!').eq(parts));
        }
    });
}

/// Parts of files, of all sizes, to sockets without room and to pipes.
#[test]
fn parts_of_files() {
    let seed = Random::seed();
    for_each_cluster(move |cluster| {
        let noise = Noise::new(&format!("parts-{}", cluster.processors()), seed, MUCH + 17);
        let file = File::open(&noise.path).unwrap();
        let length = noise.bytes.len();
        for (offset, count) in [
            (0, 0),
            (0, 1),
            (5, 8000),
            (4095, 300_000),
            (length - 3, 100),
            (length + 7, 1),
            (1, usize::MAX >> 1),
        ] {
            let expected = &noise.bytes[offset.min(length)..(offset + count).min(length)];
            let (left, right) = pair();
            shrink_buffers(&left);
            let receiver = fibre::spawn(move || read_all(&right));
            let sent = sendfile(&left, &file, offset as u64, count as u64).unwrap();
            drop(left);
            assert_eq!(sent, expected.len() as u64);
            assert!(receiver.join().unwrap() == expected, "{offset} {count}");
        }
        let (left, _right) = pair();
        let error = sendfile(&left, &file, u64::MAX, 1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert_eq!((&file).stream_position().unwrap(), 0);
    });
}

/// A whole file, from its position on.
#[test]
fn files() {
    let seed = Random::seed();
    for_each_cluster(move |cluster| {
        let noise = Noise::new(&format!("whole-{}", cluster.processors()), seed, 300_000);
        let mut std_file = File::open(&noise.path).unwrap();
        std_file.seek(SeekFrom::Start(1000)).unwrap();
        let our_file = fibre::fs::File::open(&noise.path).unwrap();
        let (reader, writer) = pipe().unwrap();
        let fibre = fibre::spawn(move || {
            let both = [copy(&std_file, &writer), copy(&our_file, &writer)];
            (both.map(Result::unwrap), std_file)
        });
        let mut all = Vec::new();
        { reader }.read_to_end(&mut all).unwrap();
        let (counts, mut std_file) = fibre.join().unwrap();
        assert_eq!(counts, [299_000, 300_000]);
        assert!(all[..299_000] == noise.bytes[1000..] && all[299_000..] == noise.bytes);
        assert_eq!(std_file.stream_position().unwrap(), 300_000);
    });
}

/// What the kernel makes up when it is read it cannot send: it is copied.
#[test]
fn files_that_cannot_be_sent() {
    for_each_cluster(|_| {
        let path = "/proc/self/auxv";
        let expected = std::fs::read(path).unwrap();
        let (left, right) = pair();
        let receiver = fibre::spawn(move || read_all(&right));
        let file = File::open(path).unwrap();
        let all = expected.len() as u64;
        assert_eq!(copy(&file, &left).unwrap(), all);
        assert_eq!((&file).stream_position().unwrap(), all);
        assert_eq!(
            copy(&fibre::fs::File::open(path).unwrap(), &left).unwrap(),
            all
        );
        assert_eq!(sendfile(&left, &file, 2, 5).unwrap(), 5);
        assert_eq!(sendfile(&left, &file, 2, u64::MAX).unwrap(), all - 2);
        drop(left);
        let parts = [&expected[..], &expected, &expected[2..7], &expected[2..]];
        assert_eq!(receiver.join().unwrap(), parts.concat());
    });
}

/// A pipe that was opened like a file has no position, and is copied all the same.
#[test]
fn files_that_are_none() {
    let seed = Random::seed();
    for_each_cluster(move |_| {
        let (from, writer) = std::io::pipe().unwrap();
        let file = File::from(OwnedFd::from(from));
        let (left, right) = pair();
        std::thread::scope(|scope| {
            scope.spawn(|| write_noise(writer, seed, 100_000, Random::new(seed)));
            let receiver = fibre::spawn(move || read_all(&right).len());
            assert_eq!(copy(&file, &left).unwrap(), 100_000);
            drop(left);
            assert_eq!(receiver.join().unwrap(), 100_000);
        });
    });
}

/// Reads to the end.
fn read_all(mut stream: &TcpStream) -> Vec<u8> {
    let mut all = Vec::new();
    stream.read_to_end(&mut all).unwrap();
    all
}
