//! The end of a server.

use crate::http::{Answer, Client};
use crate::serving::patient;
use crate::site::Sizes;
use crate::support::{AMPLE, Root, serving, some_files, with_server};
use fibre_events::Policy;
use std::net::SocketAddr;
use std::time::Duration;

#[test]
fn a_server_that_nobody_knows_stops() {
    with_server(patient(), &Root::new(), |_| {});
}

/// Asks until the server ends the connection; returns how often it was answered.
fn ask_until_closed(address: SocketAddr, seed: usize) -> u64 {
    let mut client = Client::at(address);
    let files = some_files();
    for number in 0.. {
        let file = files[(number as usize * 31 + seed) % files.len()];
        let Some(answer) = client.try_get(&format!("/{}", file.path())) else {
            return number;
        };
        let Answer {
            status,
            closes,
            body,
        } = answer;
        assert!(status == 200 && body == file.bytes(), "{}", file.path());
        if closes {
            assert_eq!(client.rest(), b"");
            return number + 1;
        }
    }
    unreachable!()
}

#[test]
fn a_server_stops_under_load() {
    let root = Root::of_mix();
    // With pages that are always too old, so that it stops in all stages.
    for age in [AMPLE.age, Duration::ZERO] {
        let sizes = Sizes { age, ..AMPLE };
        serving(Policy::TimeLeft, 2, patient(), (&root, sizes), |server| {
            let address = server.address();
            let ask = |seed| std::thread::spawn(move || ask_until_closed(address, seed));
            let clients: Vec<_> = (0..8).map(ask).collect();
            while server.answered() < 500 {
                std::thread::yield_now();
            }
            server.stop();
            let answered: u64 = clients.into_iter().map(|one| one.join().unwrap()).sum();
            assert_eq!(server.answered(), answered);
        });
    }
}
