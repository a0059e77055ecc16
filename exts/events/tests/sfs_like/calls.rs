//! What clients get for what they call.

use crate::front::limits::Limits;
use crate::serving::{POLICIES, patient};
use crate::support::{SIZE, bytes_at, client, read, read_all, refused, serving, with_server};
use crate::wire::{MOST, Status, Wish};
use std::io::Write;
use std::time::Duration;

/// A lease that outlasts a test.
const LONG: Duration = Duration::from_secs(600);

#[test]
fn files_are_read_under_every_policy_with_colours_and_without() {
    for policy in POLICIES {
        for (processors, one_colour) in [(1, false), (2, false), (4, false), (2, true)] {
            let limits = Limits {
                one_colour,
                ..patient()
            };
            serving(policy, processors, limits, LONG, |server| {
                let readers: Vec<_> = (1..5)
                    .map(|number| {
                        let mut client = client(server);
                        std::thread::spawn(move || {
                            let whole = read_all(&mut client, "pattern", 5000 * number);
                            assert_eq!(whole, bytes_at(0, SIZE as usize));
                            assert_eq!(read_all(&mut client, "small", 2), b"hello");
                        })
                    })
                    .collect();
                readers
                    .into_iter()
                    .for_each(|reader| reader.join().unwrap());
            });
        }
    }
}

#[test]
fn calls_are_answered_in_order_however_they_are_cut() {
    with_server(patient(), |server| {
        let length = {
            let mut client = client(server);
            (0..3)
                .map(|_| client.frame(Some(read(0, 0, 10))).len())
                .sum()
        };
        for cut in 1..length {
            let mut client = client(server);
            let frames: Vec<u8> = (0..3)
                .flat_map(|number| client.frame(Some(read(0, number * 7, 10))))
                .collect();
            let (head, tail) = frames.split_at(cut);
            client.stream.write_all(head).unwrap();
            client.stream.write_all(tail).unwrap();
            for number in 0..3 {
                let reply = client.reply().unwrap();
                assert_eq!(u64::from(reply.number), number + 1, "cut at {cut}");
                assert_eq!(reply.result, bytes_at(number * 7, 10), "cut at {cut}");
            }
        }
    });
}

#[test]
fn calls_that_are_sent_ahead_are_all_answered() {
    with_server(patient(), |server| {
        let mut client = client(server);
        // More than a read takes, and many times what waits for a write.
        let frames: Vec<u8> = (0..60)
            .flat_map(|number| client.frame(Some(read(0, number, MOST))))
            .collect();
        let mut stream = client.stream.try_clone().unwrap();
        let writer = std::thread::spawn(move || stream.write_all(&frames).unwrap());
        for number in 0..60 {
            assert_eq!(client.reply().unwrap().result, bytes_at(number, MOST));
        }
        writer.join().unwrap();
    });
}

#[test]
fn reads_end_where_the_file_does() {
    with_server(patient(), |server| {
        let mut client = client(server);
        for (offset, count) in [(SIZE - 5, 100), (SIZE, 100), (u64::MAX, MOST), (0, 0)] {
            let reply = client.call(read(0, offset, count)).unwrap();
            assert_eq!(reply.status, Status::Done);
            assert_eq!(reply.result, bytes_at(offset, count), "{count} at {offset}");
        }
        let (empty, size) = client.look_up("empty").unwrap();
        assert_eq!(size, 0);
        refused(&client.call(read(empty, 0, 10)).unwrap(), Status::Done);
    });
}

#[test]
fn unknown_files_are_refused() {
    with_server(patient(), |server| {
        let mut client = client(server);
        for name in ["", "patter", "pattern\0", "../pattern"] {
            let reply = client.call(Wish::LookUp(name.into())).unwrap();
            refused(&reply, Status::NoSuchFile);
        }
        let write = |file| Wish::Write {
            file,
            offset: 0,
            bytes: vec![0],
        };
        for file in [3, u64::MAX] {
            refused(&client.call(read(file, 0, 1)).unwrap(), Status::NoSuchFile);
            refused(&client.call(write(file)).unwrap(), Status::NoSuchFile);
        }
    });
}

#[test]
fn a_write_is_seen_by_all_that_read_later() {
    with_server(patient(), |server| {
        let (mut one, mut other) = (client(server), client(server));
        let offset = MOST as u64 - 3; // in two blocks
        let bytes = b"written".to_vec();
        let write = Wish::Write {
            file: 0,
            offset,
            bytes: bytes.clone(),
        };
        refused(&one.call(write).unwrap(), Status::Done);
        for client in [&mut one, &mut other] {
            let mut expected = bytes_at(offset - 1, 9);
            expected[1..8].copy_from_slice(&bytes);
            assert_eq!(
                client.call(read(0, offset - 1, 9)).unwrap().result,
                expected
            );
        }
        for offset in [SIZE - 6, SIZE, u64::MAX] {
            let write = Wish::Write {
                file: 0,
                offset,
                bytes: bytes.clone(),
            };
            refused(&one.call(write).unwrap(), Status::OutOfRange);
        }
    });
}

#[test]
fn a_write_waits_for_the_leases_of_others() {
    let write = |bytes: &[u8]| Wish::Write {
        file: 2,
        offset: 0,
        bytes: bytes.to_vec(),
    };
    serving(
        fibre_events::Policy::TimeLeft,
        2,
        patient(),
        LONG,
        |server| {
            let (mut one, mut other) = (client(server), client(server));
            one.look_up("small").unwrap();
            // The holder itself may write.
            refused(&one.call(write(b"H")).unwrap(), Status::Done);
            let reply = other.call(write(b"J")).unwrap();
            assert_eq!(reply.status, Status::Busy);
            let left = u32::from_be_bytes(reply.result.try_into().unwrap());
            assert!((1..=LONG.as_millis() as u32 + 1).contains(&left), "{left}");
            assert_eq!(one.call(read(2, 0, 9)).unwrap().result, b"Hello");
        },
    );
    with_server(patient(), |server| {
        let (mut one, mut other) = (client(server), client(server));
        one.look_up("small").unwrap();
        // These leases end.
        while other.call(write(b"J")).unwrap().status == Status::Busy {}
        assert_eq!(one.call(read(2, 0, 9)).unwrap().result, b"Jello");
    });
}
