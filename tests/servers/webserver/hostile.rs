//! Clients that are slow, rude or mad.

use std::fs::File;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::Random;

use super::client::{Client, PLAINTEXT};
use super::server::{Directory, Server};

/// A site with one file too large for any socket's buffer.
fn large_site(test: &str) -> Directory {
    let site = Directory::new(test);
    std::fs::create_dir(site.join("root")).unwrap();
    // A hole: it costs no disk space.
    File::create(site.join("root/large"))
        .unwrap()
        .set_len(64 * 1024 * 1024)
        .unwrap();
    site
}

#[test]
fn a_head_has_one_deadline_however_many_bytes_come() {
    let server = Server::start(&["--header-timeout", "0.5"]);
    let mut client = server.connect();
    let start = Instant::now();
    for byte in PLAINTEXT.bytes().cycle().take(200) {
        // A cycle without its end: the head never completes.
        let byte = if byte == b'\n' { b'x' } else { byte.max(b'a') };
        if client.try_send([byte]).is_err() || client.hears_within(Duration::from_millis(50)) {
            break;
        }
    }
    assert_eq!(client.answer().status, 408);
    let elapsed = start.elapsed();
    assert!(
        elapsed >= Duration::from_millis(450),
        "408 after {elapsed:?}"
    );
    assert!(elapsed < Duration::from_secs(8), "408 after {elapsed:?}");
    server.expect_clean_stop();
}

#[test]
fn many_slow_clients_do_not_delay_others() {
    let server = Server::start(&["--header-timeout", "30"]);
    let start = server.open_files_at_rest();
    let mut slow: Vec<Client> = (0..200).map(|_| server.connect()).collect();
    slow.iter_mut()
        .for_each(|client| client.send("GET /plaintext HTTP/1.1\r\n"));
    let mut client = server.connect();
    let begin = Instant::now();
    for _ in 0..100 {
        assert_eq!(client.ask(PLAINTEXT).status, 200);
    }
    assert!(
        begin.elapsed() < Duration::from_secs(15),
        "{:?}",
        begin.elapsed()
    );
    for client in &mut slow {
        assert_eq!(client.ask("Host: a\r\n\r\n").status, 200);
    }
    drop((slow, client));
    server.expect_open_files(start);
    server.expect_clean_stop();
}

#[test]
fn idle_connections_end_quietly() {
    let server = Server::start(&["--idle-timeout", "0.3"]);
    let mut silent = server.connect();
    let mut idle = server.connect();
    let begin = Instant::now();
    assert_eq!(idle.ask(PLAINTEXT).status, 200);
    let ended = idle.hears_within(Duration::from_millis(100));
    assert!(!ended || begin.elapsed() >= Duration::from_millis(300));
    silent.expect_end();
    idle.expect_end();
    server.expect_clean_stop();
}

#[test]
fn half_requests_leave_nothing_behind() {
    let server = Server::start(&[]);
    let start = server.open_files_at_rest();
    let request = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhello";
    for length in 0..request.len() {
        let mut client = server.connect();
        client.send(&request[..length]);
        if length % 2 == 0 {
            client.reset();
        }
    }
    server.expect_open_files(start);
    server.expect_service();
    server.expect_clean_stop();
}

#[test]
fn garbage_is_survived() {
    let server = Server::start(&["--header-timeout", "0.2"]);
    let start = server.open_files_at_rest();
    let mut random = Random::new(Random::seed());
    for round in 0..300 {
        let mut bytes = PLAINTEXT.repeat(3).into_bytes();
        if round % 3 == 0 {
            bytes
                .iter_mut()
                .for_each(|byte| *byte = random.next() as u8);
        } else {
            for _ in 0..=round % 5 {
                let place = random.next() as usize % bytes.len();
                bytes[place] = random.next() as u8;
            }
        }
        let mut client = server.connect();
        // What it answers does not matter, only that it neither hangs nor dies.
        if client.try_send(bytes).is_ok() && round % 2 == 0 {
            while client.receive().unwrap_or(false)
                && client.hears_within(Duration::from_millis(20))
            {}
        }
    }
    server.expect_service();
    server.expect_open_files(start);
    server.expect_clean_stop();
}

#[test]
fn a_huge_head_costs_little_memory() {
    let server = Server::start_lean();
    server.expect_service();
    let before = server.peak_memory();
    for filler in ["A: b\r\n", "x"] {
        let mut client = server.connect();
        client.send("GET / HTTP/1.1\r\nHost: a\r\nField: ");
        let refused = client
            .try_send(filler.repeat(10_000_000 / filler.len()))
            .is_err();
        match client.try_answer() {
            Ok(Some(answer)) => assert_eq!(answer.status, 431),
            Ok(None) => panic!("closed without an answer to what had been read"),
            Err(error) => assert!(refused, "{error}"),
        }
    }
    let grown = server.peak_memory() - before;
    assert!(grown < 2_000, "memory has grown by {grown} KiB");
    server.expect_service();
    server.expect_clean_stop();
}

#[test]
fn resets_during_a_large_answer_are_survived() {
    let site = large_site("reset");
    let server = site.serve();
    let start = server.open_files_at_rest();
    for round in 0..50 {
        let mut client = server.connect();
        client.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n");
        if round % 2 == 0 {
            client.receive().unwrap();
        }
        client.reset();
    }
    server.expect_service();
    server.expect_open_files(start);
    server.expect_clean_stop();
}

#[test]
fn a_client_that_does_not_read_is_dropped_in_time() {
    let site = large_site("stuck");
    let root = site.join("root");
    let server = Server::start(&["--dir", root.to_str().unwrap(), "--idle-timeout", "0.3"]);
    let start = server.open_files_at_rest();
    let mut stuck = server.connect();
    stuck.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n");
    thread::sleep(Duration::from_millis(100));
    server.expect_service();
    server.expect_open_files(start);
    drop(stuck);
    server.expect_clean_stop();
}

/// Clients that take a little now and then hold neither permits nor files for ever.
#[test]
fn clients_that_read_too_slowly_are_dropped() {
    let site = large_site("slow");
    let root = site.join("root");
    let arguments = ["--dir", root.to_str().unwrap(), "--max-connections", "20"];
    let slowly = ["--idle-timeout", "1", "--minimum-rate", "8388608"];
    let server = Server::start(&[&arguments[..], &slowly].concat());
    let mut clients: Vec<Client> = (0..20).map(|_| server.connect()).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        // Half of them ask for a file, the others again and again for a little.
        let request = "GET /large HTTP/1.1\r\nHost: a\r\n\r\n";
        let little = PLAINTEXT.repeat(200_000);
        let wanted = if number % 2 == 0 { request } else { &little };
        let mut sending = client.writer();
        let wanted = wanted.to_owned();
        thread::spawn(move || sending.write_all(wanted.as_bytes()).is_ok());
    }
    let done = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&done);
    let reading = thread::spawn(move || {
        while !told.load(Ordering::SeqCst) {
            clients.iter_mut().for_each(|client| {
                client.take_some(64 << 10);
            });
            thread::sleep(Duration::from_millis(250));
        }
    });
    // It gets a permit when they have lost theirs.
    server.expect_service();
    done.store(true, Ordering::SeqCst);
    reading.join().unwrap();
    server.expect_clean_stop();
}

/// A large file and a fast reader need not finish within the time that a connection may rest.
#[test]
fn clients_that_keep_the_rate_get_all() {
    let site = large_site("steady");
    let root = site.join("root");
    let arguments = ["--dir", root.to_str().unwrap(), "--idle-timeout", "1"];
    let server = Server::start(&arguments);
    let mut client = server.connect();
    client.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n");
    let start = Instant::now();
    let mut left = 64 << 20;
    while left > 0 {
        let count = client.take_some(1 << 20);
        assert!(count > 0, "cut {left} bytes before the end");
        left -= count.min(left);
        if start.elapsed() < Duration::from_secs(3) {
            thread::sleep(Duration::from_millis(40));
        }
    }
    assert!(start.elapsed() > Duration::from_secs(2));
    server.expect_clean_stop();
}
