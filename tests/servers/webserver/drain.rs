//! Stopping.

use std::fs::File;
use std::io::{Error, ErrorKind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::client::{Client, PLAINTEXT};
use super::server::{Directory, Server, eventually};

/// Waits until the server has noticed a signal: it no longer listens.
fn expect_deafness(server: &Server) {
    let connect = || Client::connect_within(server.addr, Duration::from_millis(200));
    let refused = |error: Error| error.kind() == ErrorKind::ConnectionRefused;
    let deaf = || connect().is_err_and(refused);
    assert!(eventually(deaf), "the server still accepts connections");
}

/// Waits until the server has read all that a client has sent, and lets it see what that means.
fn expect_heard(client: &Client) {
    assert!(eventually(|| client.is_heard()), "the server does not read");
    thread::sleep(Duration::from_millis(50));
}

#[test]
fn idle_connections_are_closed() {
    for signal in [Signal::INT, Signal::TERM] {
        let server = Server::start(&[]);
        let mut used: Vec<Client> = (0..100).map(|_| server.connect()).collect();
        let mut fresh: Vec<Client> = (0..100).map(|_| server.connect()).collect();
        used.iter_mut()
            .for_each(|client| assert_eq!(client.ask(PLAINTEXT).status, 200));
        let start = Instant::now();
        server.signal(signal);
        server.expect_clean_end();
        assert!(
            start.elapsed() < Duration::from_secs(8),
            "{:?}",
            start.elapsed()
        );
        used.iter_mut()
            .chain(&mut fresh)
            .for_each(Client::expect_end);
    }
}

#[test]
fn requests_in_flight_are_finished() {
    let server = Server::start(&[]);
    let mut in_head = server.connect();
    let mut in_body = server.connect();
    in_head.send("GET /plaintext HTTP/1.1\r\nHo");
    in_body.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
    assert_eq!(in_body.answer().status, 100);
    expect_heard(&in_head);

    server.signal(Signal::INT);
    expect_deafness(&server);
    let answer = in_head.ask("st: a\r\n\r\n");
    assert_eq!(
        (answer.status, answer.field("connection")),
        (200, Some("close"))
    );
    let answer = in_body.ask("hello");
    assert_eq!(
        (answer.status, answer.field("connection")),
        (405, Some("close"))
    );
    in_head.expect_end();
    in_body.expect_end();
    drop((in_head, in_body));
    server.expect_clean_end();
}

#[test]
fn answers_in_flight_are_finished() {
    const LENGTH: usize = 32 * 1024 * 1024;
    let site = Directory::new("drain");
    std::fs::create_dir(site.join("root")).unwrap();
    File::create(site.join("root/large"))
        .unwrap()
        .set_len(LENGTH as u64)
        .unwrap();
    let server = site.serve();
    let mut client = server.connect();
    client.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(client.receive().unwrap());
    server.signal(Signal::INT);
    expect_deafness(&server);
    assert_eq!(client.answer().body.len(), LENGTH);
    client.expect_end();
    drop(client);
    server.expect_clean_end();
}

#[test]
fn idle_connections_end_before_requests_in_flight() {
    // Neither comes into question as the reason for an end.
    let server = Server::start(&["--drain-timeout", "3600", "--header-timeout", "3600"]);
    let mut used = server.connect();
    let mut fresh = server.connect();
    let mut midway = server.connect();
    assert_eq!(used.ask(PLAINTEXT).status, 200);
    midway.send("GET /plaintext HTTP/1.1\r\nHo");
    expect_heard(&midway);

    server.signal(Signal::TERM);
    used.expect_end();
    fresh.expect_end();
    let answer = midway.ask("st: a\r\n\r\n");
    assert_eq!(
        (answer.status, answer.field("connection")),
        (200, Some("close"))
    );
    midway.expect_end();
    drop(midway);
    server.expect_clean_end();
}

#[test]
fn an_answer_that_nobody_takes_is_cut_off() {
    const LENGTH: usize = 32 * 1024 * 1024;
    let site = Directory::new("untaken");
    std::fs::create_dir(site.join("root")).unwrap();
    let large = File::create(site.join("root/large")).unwrap();
    large.set_len(LENGTH as u64).unwrap();
    let root = site.join("root");
    let server = Server::start(&["--dir", root.to_str().unwrap(), "--drain-timeout", "0.2"]);
    let mut client = server.connect();
    client.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(client.receive().unwrap());
    // The sockets' buffers are full: the server waits in a write.
    server.signal(Signal::TERM);
    server.expect_clean_end();
    let taken = std::iter::from_fn(|| Some(client.take_some(64 * 1024)).filter(|taken| *taken > 0));
    let taken = taken.sum::<usize>();
    assert!(taken > 0 && taken < LENGTH / 2, "{taken}");
}

#[test]
fn the_drain_has_a_deadline() {
    let server = Server::start(&["--drain-timeout", "0.5", "--header-timeout", "60"]);
    let mut client = server.connect();
    client.send("GET /plaintext HTTP/1.1\r\nHo");
    expect_heard(&client);
    let start = Instant::now();
    server.signal(Signal::INT);
    server.expect_clean_end();
    let elapsed = start.elapsed();
    assert!(elapsed >= Duration::from_millis(450), "{elapsed:?}");
    assert!(elapsed < Duration::from_secs(5), "{elapsed:?}");
    client.expect_end();
}

#[test]
fn a_second_signal_ends_at_once() {
    let server = Server::start(&["--drain-timeout", "60", "--header-timeout", "60"]);
    let mut client = server.connect();
    client.send("GET /plaintext HTTP/1.1\r\nHo");
    expect_heard(&client);
    server.signal(Signal::INT);
    expect_deafness(&server);
    server.signal(Signal::INT);
    let (status, _) = server.outcome();
    assert_eq!(status.code(), Some(130), "{status}");
}

#[test]
fn stopping_under_load_loses_no_answer_that_was_begun() {
    let server = Server::start(&[]);
    let answers = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..20 {
            let client = server.connect();
            scope.spawn(|| ask_until_closed(client, &answers));
        }
        thread::sleep(Duration::from_millis(300));
        assert!(eventually(|| answers.load(Ordering::SeqCst) > 20));
        server.expect_clean_stop();
    });
}

/// Asks until the server closes; every answer that begins must be whole.
fn ask_until_closed(mut client: Client, answers: &AtomicUsize) {
    for _ in 0..1_000_000 {
        if client.try_send(PLAINTEXT).is_err() {
            return;
        }
        match client.try_answer() {
            Ok(Some(answer)) => assert_eq!(answer.body, b"Hello, World!"),
            Ok(None) | Err(_) => return,
        }
        answers.fetch_add(1, Ordering::SeqCst);
    }
    panic!("the server does not stop");
}
