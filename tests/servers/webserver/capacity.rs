//! More clients than the server has room for.

use std::thread;
use std::time::{Duration, Instant};

use super::client::{Client, PLAINTEXT};
use super::server::{Server, raise_own_limit};

/// Idle connections in the crowd.
const CROWD: usize = 2_000;

/// File descriptors the server may have.
const LIMIT: u64 = 1_024;

/// Connects idle clients until there are [`CROWD`] or the kernel's queue of
/// connections not yet accepted is full.
fn crowd(server: &Server) -> Vec<Client> {
    let mut crowd = Vec::new();
    let mut missed = 0;
    while crowd.len() < CROWD && missed < 20 {
        match Client::connect_within(server.addr, Duration::from_millis(50)) {
            Ok(client) => crowd.push(client),
            Err(_) => missed += 1,
        }
    }
    crowd
}

#[test]
fn running_out_of_file_descriptors_is_survived() {
    raise_own_limit();
    let server = Server::start_limited(&[], LIMIT);
    let start = server.open_files_at_rest();
    let mut early = server.connect();
    assert_eq!(early.ask(PLAINTEXT).status, 200);

    let crowd = crowd(&server);
    assert!(
        crowd.len() > LIMIT as usize,
        "only {} connections",
        crowd.len()
    );
    assert!(
        server
            .complaints
            .recv_timeout(Duration::from_secs(5))
            .is_ok(),
        "no complaint"
    );

    // Starved: those who are in are served, at no cost for those who are not. On a busy machine
    // there have been several complaints while the crowd came.
    server.complaints.try_iter().for_each(drop);
    let (begin, before) = (Instant::now(), server.processor_time());
    for _ in 0..20 {
        assert_eq!(early.ask(PLAINTEXT).status, 200);
        thread::sleep(Duration::from_millis(100));
    }
    let used = server.processor_time() - before;
    let took = begin.elapsed().as_secs_f64();
    assert!(used < took / 10.0, "{used} s of processor time in {took} s");
    let complaints = server.complaints.try_iter().count();
    assert!(
        complaints as f64 <= 2.0 * took,
        "{complaints} complaints in {took} s"
    );

    // Recovery, once there is room again.
    drop(crowd);
    server.expect_service();
    assert_eq!(early.ask(PLAINTEXT).status, 200);
    drop(early);
    server.expect_open_files(start);
    server.expect_clean_stop();
}

#[test]
fn connections_beyond_the_maximum_wait() {
    let server = Server::start(&["--max-connections", "2"]);
    let mut first = server.connect();
    let mut second = server.connect();
    assert_eq!(first.ask(PLAINTEXT).status, 200);
    assert_eq!(second.ask(PLAINTEXT).status, 200);
    let mut third = server.connect();
    third.send(PLAINTEXT);
    assert!(!third.hears_within(Duration::from_millis(200)));
    drop(first);
    assert_eq!(third.answer().status, 200);
    // Full again: the acceptor waits for room and must still notice the end.
    server.expect_clean_stop();
}
