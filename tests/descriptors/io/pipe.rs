//! Pipes: bytes, ends, closing, plain threads at the other end.

use crate::support::sockets::{read_noise, write_noise};
use crate::support::{Random, for_each_cluster, let_others_block, watched};
use fibre::io::{PipeReader, PipeWriter, pipe};
use std::io::{ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::sync::Arc;
use std::thread;

/// More than a pipe holds, in pieces of random sizes: both sides have to wait.
#[test]
fn megabytes_go_through() {
    let seed = Random::seed();
    for_each_cluster(move |_| {
        const LENGTH: usize = 2 << 20;
        let mut random = Random::new(seed);
        let (reader, writer) = pipe().unwrap();
        let sizes = random.split();
        let fibre = fibre::spawn(move || write_noise(writer, seed, LENGTH, sizes));
        read_noise(reader, seed, LENGTH, random.split());
        fibre.join().unwrap();
    });
}

#[test]
fn plain_threads_at_the_other_end() {
    let seed = Random::seed();
    for_each_cluster(move |_| {
        const LENGTH: usize = 1 << 20;
        let mut random = Random::new(seed);
        let (reader, writer) = std::io::pipe().unwrap();
        let sizes = random.split();
        let thread = thread::spawn(move || write_noise(writer, seed, LENGTH, sizes));
        let reader = PipeReader::try_from(reader).unwrap();
        read_noise(reader, seed, LENGTH, random.split());
        thread.join().unwrap();

        let (reader, writer) = pipe().unwrap();
        let (sizes, writing) = (random.split(), random.split());
        let reader = reader.into_std().unwrap();
        let thread = thread::spawn(move || read_noise(reader, seed, LENGTH, sizes));
        write_noise(writer, seed, LENGTH, writing);
        thread.join().unwrap();
    });
}

#[test]
fn plain_threads_at_both_ends() {
    let (mut reader, mut writer) = pipe().unwrap();
    watched(|| {
        let thread = thread::spawn(move || {
            let mut byte = [0];
            reader.read_exact(&mut byte).unwrap();
            byte[0]
        });
        writer.write_all(&[7]).unwrap();
        assert_eq!(thread.join().unwrap(), 7);
    });
}

/// Fibres that wait for the other end learn that it is gone.
#[test]
fn the_end_is_told_to_who_waits() {
    for_each_cluster(|_| {
        let (mut reader, writer) = pipe().unwrap();
        let fibre = fibre::spawn(move || reader.read(&mut [0; 8]).unwrap());
        let_others_block();
        drop(writer);
        assert_eq!(fibre.join().unwrap(), 0);

        let (reader, mut writer) = pipe().unwrap();
        let fibre = fibre::spawn(move || writer.write_all(&vec![0; 1 << 20]).unwrap_err().kind());
        let_others_block();
        drop(reader);
        assert_eq!(fibre.join().unwrap(), ErrorKind::BrokenPipe);
    });
}

#[test]
fn closing_wakes_who_waits() {
    for_each_cluster(|_| {
        let (reader, writer) = pipe().unwrap();
        let reader = Arc::new(reader);
        let waiting = Arc::clone(&reader);
        let fibre = fibre::spawn(move || (&*waiting).read(&mut [0; 8]).unwrap_err().kind());
        let_others_block();
        reader.close();
        assert_eq!(fibre.join().unwrap(), ErrorKind::ConnectionAborted);
        drop(writer);
    });
}

/// A clone is another writer: the end comes with the last.
#[test]
fn the_last_writer_is_the_end() {
    for_each_cluster(|_| {
        let (mut reader, writer) = pipe().unwrap();
        let mut clone: PipeWriter = writer.try_clone().unwrap();
        drop(writer);
        let fibre = fibre::spawn(move || {
            let mut all = Vec::new();
            reader.read_to_end(&mut all).unwrap();
            all
        });
        let_others_block();
        clone.write_all(b"still here").unwrap();
        drop(clone);
        assert_eq!(fibre.join().unwrap(), b"still here");
    });
}

#[test]
fn slices() {
    for_each_cluster(|_| {
        let (mut reader, mut writer) = pipe().unwrap();
        let slices = [b"" as &[u8], b"ab", b"", b"cde"].map(IoSlice::new);
        assert_eq!(writer.write_vectored(&slices).unwrap(), 5);
        let (mut left, mut right) = ([0; 4], [0; 4]);
        let mut slices = [&mut left[..], &mut right[..]].map(IoSliceMut::new);
        assert_eq!(reader.read_vectored(&mut slices).unwrap(), 5);
        assert_eq!((&left, right[0]), (b"abcd", b'e'));
        assert_eq!(reader.read_vectored(&mut []).unwrap(), 0);
        assert_eq!(reader.read(&mut []).unwrap(), 0);
        assert_eq!(writer.write(&[]).unwrap(), 0);
    });
}

/// A byte goes round many times, through fibres that may be on different processors.
#[test]
fn ping_pong() {
    for_each_cluster(|_| {
        let (mut there, mut ping) = pipe().unwrap();
        let (mut back, mut pong) = pipe().unwrap();
        let partner = fibre::spawn(move || {
            let mut byte = [0];
            while there.read(&mut byte).unwrap() == 1 {
                pong.write_all(&[byte[0].wrapping_add(1)]).unwrap();
            }
        });
        let mut byte = [0];
        for round in 0..2000_u32 {
            ping.write_all(&byte).unwrap();
            back.read_exact(&mut byte).unwrap();
            assert_eq!(u32::from(byte[0]), (round + 1) % 256);
        }
        drop(ping);
        partner.join().unwrap();
    });
}
