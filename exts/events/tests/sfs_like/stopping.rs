//! The end of a server.

use crate::front::server::Server;
use crate::service::Sfs;
use crate::serving::patient;
use crate::support::{bytes_at, client, read, with_server};
use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;

#[test]
fn a_server_that_nobody_knows_stops() {
    with_server(patient(), |_| {});
}

#[test]
fn clients_between_calls_are_closed_and_calls_that_have_begun_are_answered() {
    with_server(patient(), |server| {
        let mut resting = client(server);
        assert_eq!(resting.call(read(0, 0, 5)).unwrap().result, bytes_at(0, 5));
        let mut midway = client(server);
        let frame = midway.frame(Some(read(0, 9, 9)));
        midway.stream.write_all(&frame[..10]).unwrap();
        while server.table.count_if(|client| client.is_midway()) == 0 {
            std::thread::yield_now();
        }
        server.stop();
        assert_eq!(resting.stream.read(&mut [0; 10]).unwrap(), 0);
        midway.stream.write_all(&frame[10..]).unwrap();
        assert_eq!(midway.reply().unwrap().result, bytes_at(9, 9));
        assert_eq!(midway.stream.read(&mut [0; 10]).unwrap(), 0);
    });
}

/// Calls until the server ends the connection; returns how often it was answered.
fn call_until_closed(server: &Arc<Server<Sfs>>, seed: u64) -> u64 {
    let mut client = client(server);
    for number in 0.. {
        let offset = (number * 7919 + seed) % 100_000;
        match client.call(read(0, offset, 1000)) {
            Ok(reply) => assert_eq!(reply.result, bytes_at(offset, 1000)),
            Err(error) => {
                let ends = [
                    ErrorKind::UnexpectedEof,
                    ErrorKind::ConnectionReset,
                    ErrorKind::BrokenPipe,
                ];
                assert!(ends.contains(&error.kind()), "{error}");
                return number;
            }
        }
    }
    unreachable!()
}

#[test]
fn a_server_stops_under_load() {
    with_server(patient(), |server| {
        let clients: Vec<_> = (0..8)
            .map(|seed| {
                let server = Arc::clone(server);
                std::thread::spawn(move || call_until_closed(&server, seed))
            })
            .collect();
        while server.answered() < 500 {
            std::thread::yield_now();
        }
        server.stop();
        let answered: u64 = clients.into_iter().map(|one| one.join().unwrap()).sum();
        // All that was answered has arrived: the calls, and the hellos.
        assert_eq!(server.answered(), answered + 8);
    });
}
