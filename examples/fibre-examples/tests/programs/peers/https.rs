//! TLS clients that behave, and such that do not.

use std::io::{Read, Write};
use std::process::Command;
use std::thread;

use super::tls::{Https, answer, ask, get};

/// What `GET /` answers.
const GREETING: &[u8] = b"Hello over TLS.\n";

#[test]
fn clients_keep_their_connection() {
    for arguments in [&[][..], &["--threads"]] {
        let server = Https::start("keeping", arguments);
        let mut client = server.connect();
        for _ in 0..3 {
            assert_eq!(get(&mut client, "/"), GREETING);
        }
        assert_eq!(get(&mut client, "/bytes/100000").len(), 100_000);
        ask(&mut client, "/missing").unwrap();
        assert!(answer(&mut client).unwrap().0.starts_with("HTTP/1.1 404 "));
        client
            .write_all(b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n")
            .unwrap();
        assert!(answer(&mut client).unwrap().0.contains("Connection: close"));
        // With close_notify; without it, this would be an error.
        assert_eq!(client.read(&mut [0]).unwrap(), 0);
        server.program.expect_no_connections();
        let line = server.program.expect_clean_stop();
        assert!(
            line.starts_with("served 6 requests after 1 handshakes "),
            "{line}"
        );
    }
}

#[test]
fn curl_is_served() {
    let server = Https::start("curl", &[]);
    let address = format!("https://localhost:{}", server.program.address.port());
    for versions in [&["--tlsv1.3"][..], &["--tlsv1.2", "--tls-max", "1.2"]] {
        let got = Command::new("curl")
            .args(["-sS", "--cacert", server.certificate.name()])
            .args(versions)
            .args([&format!("{address}/"), &format!("{address}/bytes/70000")])
            .output()
            .expect("curl");
        assert!(got.status.success(), "{got:?}");
        assert_eq!(got.stdout.len(), GREETING.len() + 70_000);
        assert!(got.stdout.starts_with(GREETING));
    }
}

#[test]
fn two_hundred_clients_at_the_same_time_and_nothing_is_left() {
    let server = Https::start("many", &[]);
    let mut clients: Vec<_> = (0..200).map(|_| server.connect()).collect();
    thread::scope(|scope| {
        for part in clients.chunks_mut(50) {
            scope.spawn(|| {
                part.iter_mut().for_each(|client| ask(client, "/").unwrap());
                for client in part.iter_mut() {
                    assert_eq!(answer(client).unwrap().1, GREETING);
                }
                for client in part.iter_mut() {
                    assert_eq!(get(client, "/bytes/20000").len(), 20_000);
                }
            });
        }
    });
    assert_eq!(server.program.sockets(), 201);
    drop(clients);
    server.program.expect_no_connections();
    server.program.expect_clean_stop();
}

#[test]
fn half_handshakes_end_in_time_and_delay_nobody() {
    half_handshakes(&["--handshake-timeout", "1.2"]);
    half_handshakes(&["--handshake-timeout", "1.2", "--threads"]);
}

/// Many handshakes end in the middle, and one goes on slowly.
fn half_handshakes(arguments: &[&str]) {
    let server = Https::start("half", arguments);
    let hello = server.hello();
    let mut halves: Vec<_> = (0..100)
        .map(|place| {
            let mut stream = server.program.connect();
            stream
                .write_all(&hello[..place * hello.len() / 100])
                .unwrap();
            stream
        })
        .collect();
    // One that sends a byte now and then has no more time than others.
    let mut slow = server.program.connect();
    let slow = thread::spawn(move || {
        for byte in hello.into_iter().take(200) {
            if slow.write_all(&[byte]).is_err() {
                return;
            }
            thread::sleep(std::time::Duration::from_millis(50));
        }
        panic!("it has been served for ten seconds");
    });
    assert_eq!(get(&mut server.connect(), "/"), GREETING);
    for stream in &mut halves {
        let mut rest = Vec::new();
        // An end, or a reset: the server closed.
        let _ = stream.read_to_end(&mut rest);
    }
    slow.join().unwrap();
    server.program.expect_no_connections();
    server.program.expect_clean_stop();
}

#[test]
fn garbage_is_survived() {
    let server = Https::start("garbage", &["--handshake-timeout", "2"]);
    let hello = server.hello();
    for round in 0..100_usize {
        let mut bytes = hello.clone();
        match round % 4 {
            0 => bytes = b"GET / HTTP/1.1\r\n\r\n".repeat(round + 1),
            1 => bytes[round] ^= 0x41,
            2 => bytes
                .iter_mut()
                .for_each(|byte| *byte = byte.wrapping_mul(77)),
            _ => bytes.extend_from_slice(&hello),
        }
        let mut stream = server.program.connect();
        let _ = stream.write_all(&bytes);
        if round % 2 == 0 {
            let _ = stream.read(&mut [0; 100]);
        }
    }
    // Garbage where a request should be.
    let mut client = server.connect();
    client.write_all(&[0xff; 5000]).unwrap();
    assert!(answer(&mut client).unwrap().0.starts_with("HTTP/1.1 400 "));
    drop(client);
    assert_eq!(get(&mut server.connect(), "/"), GREETING);
    server.program.expect_no_connections();
    server.program.expect_clean_stop();
}

#[test]
fn clients_that_leave_midway_or_do_not_read_are_forgotten() {
    let server = Https::start("midway", &["--idle-timeout", "0.8"]);
    let mut stuck = server.connect();
    ask(&mut stuck, "/bytes/100000000").unwrap();
    for round in 0..50 {
        let mut client = server.connect();
        if round % 2 == 0 {
            ask(&mut client, "/bytes/1000000").unwrap();
            client.read_exact(&mut [0; 1000]).unwrap();
        } else {
            client.write_all(b"GET / HT").unwrap();
        }
        // No close_notify.
        drop(client);
    }
    assert_eq!(get(&mut server.connect(), "/"), GREETING);
    server.program.expect_no_connections();
    drop(stuck);
    server.program.expect_clean_stop();
}
