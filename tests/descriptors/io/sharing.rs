//! Several fibres on one connection, clones.

use crate::support::sockets::{pair, pair_with_std};
use crate::support::{for_each_cluster, let_others_block};
use fibre::net::{Shutdown, TcpStream};
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes from one end to the other and back by a fibre in between.
fn echo_all(far: TcpStream) -> fibre::JoinHandle<()> {
    fibre::spawn(move || {
        let mut buffer = [0; 3000];
        while let Ok(count @ 1..) = (&far).read(&mut buffer) {
            (&far).write_all(&buffer[..count]).unwrap();
        }
    })
}

/// One fibre reads while another one writes.
#[test]
fn reading_and_writing_halves() {
    for_each_cluster(|_| {
        let (near, far) = pair();
        let echo = echo_all(far);
        let near = Arc::new(near);
        let writing = Arc::clone(&near);
        let writer = fibre::spawn(move || {
            for i in 0..20_000_u32 {
                (&*writing).write_all(&i.to_be_bytes()).unwrap();
            }
            writing.shutdown(Shutdown::Write).unwrap();
        });
        for i in 0..20_000_u32 {
            let mut bytes = [0; 4];
            (&*near).read_exact(&mut bytes).unwrap();
            assert_eq!(u32::from_be_bytes(bytes), i);
        }
        assert_eq!((&*near).read(&mut [0]).unwrap(), 0);
        writer.join().unwrap();
        echo.join().unwrap();
    });
}

/// The same over two clones, each with a descriptor of its own.
#[test]
fn clones_for_the_halves() {
    for_each_cluster(|_| {
        let (mut near, far) = pair();
        let echo = echo_all(far);
        let mut writing = near.try_clone().unwrap();
        let writer = fibre::spawn(move || {
            for i in 0..5_000_u32 {
                writing.write_all(&i.to_be_bytes()).unwrap();
            }
            writing.shutdown(Shutdown::Write).unwrap();
        });
        for i in 0..5_000_u32 {
            let mut bytes = [0; 4];
            near.read_exact(&mut bytes).unwrap();
            assert_eq!(u32::from_be_bytes(bytes), i);
        }
        writer.join().unwrap();
        echo.join().unwrap();
    });
}

/// A clone lives on when the other one is dropped, also while it waits.
#[test]
fn clones_are_independent() {
    for_each_cluster(|_| {
        for _ in 0..20 {
            let (first, mut far) = pair();
            let mut second = first.try_clone().unwrap();
            let reader = fibre::spawn(move || {
                let mut byte = [0];
                second.read_exact(&mut byte).unwrap();
                (byte, second.read(&mut [0]).unwrap())
            });
            let_others_block();
            assert!(first.read_timeout().unwrap().is_none());
            first.close();
            drop(first);
            far.write_all(b"z").unwrap();
            let_others_block();
            drop(far);
            assert_eq!(reader.join().unwrap(), ([b'z'], 0));
        }
    });
}

/// Two numbers for one connection each hear of everything: whichever of them waits alone is woken,
/// and when both wait, none is forgotten, whoever was registered first and wherever.
#[test]
fn clones_both_hear_of_events() {
    for_each_cluster(|_| {
        let (first, mut far) = pair();
        let second = first.try_clone().unwrap();
        let both = [Arc::new(first), Arc::new(second)];
        let read = |one: usize| {
            let stream = Arc::clone(&both[one]);
            fibre::spawn(move || {
                let mut byte = [0];
                (&*stream).read_exact(&mut byte).unwrap();
                byte[0]
            })
        };
        for round in 0..40_u8 {
            let alone = read(usize::from(round) % 2);
            let_others_block_for(round);
            far.write_all(&[round]).unwrap();
            assert_eq!(alone.join().unwrap(), round);

            let readers = [read(0), read(1), read(0)];
            let_others_block_for(round);
            for byte in [7, 8, 9] {
                far.write_all(&[byte]).unwrap();
                let_others_block_for(round);
            }
            let mut bytes = readers.map(|reader| reader.join().unwrap());
            bytes.sort_unstable();
            assert_eq!(bytes, [7, 8, 9]);
        }
    });
}

/// Lets others block, in one of four rounds.
fn let_others_block_for(round: u8) {
    if round.is_multiple_of(4) {
        let_others_block();
    }
}

/// Several readers of one connection get every byte once, and all see the end.
#[test]
fn several_readers() {
    for_each_cluster(|_| {
        let (near, mut far) = pair();
        let near = Arc::new(near);
        let sum = Arc::new(AtomicUsize::new(0));
        let readers: Vec<_> = (0..6)
            .map(|me| {
                let (near, sum) = (Arc::clone(&near), Arc::clone(&sum));
                fibre::spawn(move || {
                    let mut buffer = vec![0; 1 + me * 3];
                    while let Ok(count @ 1..) = (&*near).read(&mut buffer) {
                        let all: usize = buffer[..count].iter().map(|b| usize::from(*b)).sum();
                        sum.fetch_add(all, Ordering::SeqCst);
                    }
                })
            })
            .collect();
        let_others_block();
        for i in 0..3000_u32 {
            far.write_all(&[1; 7][..1 + i as usize % 7]).unwrap();
            if i % 10 == 0 {
                fibre::yield_now();
            }
        }
        drop(far);
        readers
            .into_iter()
            .for_each(|reader| reader.join().unwrap());
        let sent = (0..3000).map(|i| 1 + i % 7).sum::<usize>();
        assert_eq!(sum.load(Ordering::SeqCst), sent);
    });
}

/// When data and the end arrive together, one reader gets the data and the other one the end,
/// though neither reads twice.
#[test]
fn the_end_reaches_all_readers() {
    for_each_cluster(|_| {
        for _ in 0..30 {
            let (near, mut far) = pair_with_std();
            let near = Arc::new(near);
            let readers = [(); 3].map(|()| {
                let near = Arc::clone(&near);
                fibre::spawn(move || (&*near).read(&mut [0; 16]).unwrap())
            });
            let_others_block();
            // The far end is a plain socket: no fibre runs here between the two calls.
            far.write_all(b"abc").unwrap();
            far.shutdown(Shutdown::Write).unwrap();
            let mut counts = readers.map(|reader| reader.join().unwrap());
            counts.sort_unstable();
            assert_eq!(counts, [0, 0, 3]);
        }
    });
}

/// Several writers on one connection: each call's bytes arrive, whole calls at a time if they
/// are small.
#[test]
fn several_writers() {
    for_each_cluster(|_| {
        let (near, mut far) = pair();
        let near = Arc::new(near);
        let writers: Vec<_> = (0..5_u8)
            .map(|me| {
                let near = Arc::clone(&near);
                fibre::spawn(move || {
                    for _ in 0..2000 {
                        (&*near).write_all(&[me; 100]).unwrap();
                    }
                })
            })
            .collect();
        drop(near);
        let mut counts = [0; 5];
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = far.read(&mut buffer) {
            buffer[..count]
                .iter()
                .for_each(|byte| counts[usize::from(*byte)] += 1);
        }
        writers
            .into_iter()
            .for_each(|writer| writer.join().unwrap());
        assert_eq!(counts, [200_000; 5]);
    });
}
