//! The programs that a user would copy, on one processor: what waits at once shows that calls block
//! fibres.

use std::net::SocketAddr;
use std::sync::Mutex;
use std::thread;

use crate::http_server;
use crate::program::Program;
use crate::redis_server;

#[test]
fn the_counter_counts_each_request_once() {
    const CLIENTS: usize = 20;
    const REQUESTS: usize = 10;
    let redis = redis_server::start();
    let mut service = Program::start(env!("CARGO_BIN_EXE_counter"), &["--redis", &redis]);
    let site = format!("http://{}/visits", service.address());
    let counts = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                let agent = ureq::Agent::new_with_defaults();
                for _ in 0..REQUESTS {
                    let mut answer = agent.get(&site).call().unwrap();
                    let count = answer.body_mut().read_to_string().unwrap();
                    counts.lock().unwrap().push(count.parse::<usize>().unwrap());
                }
            });
        }
    });
    let mut counts = counts.into_inner().unwrap();
    counts.sort_unstable();
    assert!(counts.into_iter().eq(1..=CLIENTS * REQUESTS));
}

/// Redis answers none of the requests before all are there.
#[test]
fn requests_to_the_counter_wait_at_once() {
    const CLIENTS: usize = 20;
    let redis = redis_server::start();
    let mut service = Program::start(env!("CARGO_BIN_EXE_counter"), &["--redis", &redis]);
    let site = format!("http://{}/meet/{CLIENTS}", service.address());
    let counted = thread::scope(|scope| {
        let get = || {
            let mut answer = ureq::get(&site).call().unwrap();
            let count = answer.body_mut().read_to_string().unwrap();
            count.parse::<usize>().unwrap()
        };
        let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(get)).collect();
        let counts = clients.into_iter().map(|client| client.join().unwrap());
        counts.sum::<usize>()
    });
    assert_eq!(counted, (1..=CLIENTS).sum::<usize>());
}

#[test]
fn the_counter_tells_of_a_redis_that_is_gone() {
    let nowhere: SocketAddr = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let redis = format!("redis://{nowhere}/");
    let mut service = Program::start(env!("CARGO_BIN_EXE_counter"), &["--redis", &redis]);
    let site = format!("http://{}/visits", service.address());
    for _ in 0..3 {
        let refused = ureq::get(&site).call().unwrap_err();
        assert!(matches!(refused, ureq::Error::StatusCode(502)), "{refused}");
    }
}

#[test]
fn the_crawler_finds_each_page_once() {
    let site = http_server::start();
    let printed = Program::start(env!("CARGO_BIN_EXE_crawler"), &[&site]).printed();
    let lines: Vec<&str> = printed.lines().collect();
    // The root, and below it three pages, nine, and 27 leaves.
    assert_eq!(lines.len(), 1 + 3 + 9 + 27, "{printed}");
    assert!(lines.contains(&"/page/c/b/a 6"), "{printed}");
    assert!(!printed.contains("failed"), "{printed}");
}

/// Eight pages that all wait until each has been asked for.
#[test]
fn the_crawler_fetches_pages_at_once() {
    let site = format!("{}/gather", http_server::start());
    let printed = Program::start(env!("CARGO_BIN_EXE_crawler"), &[&site]).printed();
    assert_eq!(printed.lines().count(), 1 + 8, "{printed}");
    assert!(printed.contains("/meet/all/8/7 1\n"), "{printed}");
}
