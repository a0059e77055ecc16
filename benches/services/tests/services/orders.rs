//! The orders: both programs give the same answers to the same requests.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Barrier;
use std::thread;

use rustix::process::Signal;

use crate::program::{LONG, Program};
use crate::redis::Redis;

/// The programs.
const BOTH: [&str; 2] = [
    env!("CARGO_BIN_EXE_orders-fibre"),
    env!("CARGO_BIN_EXE_orders-axum"),
];

/// Requests with answers that say nothing of what happened before.
const REQUESTS: [(&str, &str, &[u8]); 16] = [
    ("GET", "/ready", b""),
    ("HEAD", "/ready", b""),
    ("POST", "/orders/anna", b"tea"),
    ("POST", "/orders/anna", b""),
    ("POST", "/orders/anna", "r\u{f6}sti".as_bytes()),
    ("GET", "/orders/anna", b""),
    ("HEAD", "/orders/anna", b""),
    ("GET", "/orders/bert", b""),
    ("POST", "/orders/anna", b"\xff"),
    ("POST", "/orders/anna", &[b'x'; 1001]),
    ("DELETE", "/orders/anna", b""),
    ("POST", "/ready", b""),
    ("POST", "/orders/", b"tea"),
    ("GET", "/orders/anna/1", b""),
    ("GET", "/", b""),
    ("POST", "/orders/cut", b"tea"),
];

/// A service with a Redis of its own.
struct Service {
    program: Program,
    address: SocketAddr,
    redis: Redis,
}

/// What a client gets: the status, 0 if there is none, and the body.
type Answer = (u16, String);

impl Service {
    /// Starts one.
    fn start(path: &str, more: &[&str]) -> Self {
        let (redis, place) = Redis::start();
        let arguments = [&["--redis", &place, "--max-body", "1000"], more].concat();
        let mut program = Program::start(path, &arguments);
        let address = program.address();
        Self {
            program,
            address,
            redis,
        }
    }

    /// Connects, with a limit on all waits.
    fn connect(&self) -> TcpStream {
        connect(self.address)
    }

    /// Sends a request on a connection of its own, and returns the answer.
    fn ask(&self, method: &str, path: &str, body: &[u8]) -> Answer {
        ask(self.connect(), method, path, body)
    }

    /// Stops it, and expects success.
    fn stop(self) {
        self.program.signal(Signal::TERM);
        let (status, _) = self.program.end();
        assert!(status.success(), "{status}");
    }
}

/// Connects, with a limit on all waits.
fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream
}

/// The head of a request with a body of so many bytes, the last one of its connection.
fn head(method: &str, path: &str, length: usize) -> Vec<u8> {
    format!(
        "{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
    )
    .into_bytes()
}

/// Sends a request in one piece, and returns the answer.
fn ask(mut stream: TcpStream, method: &str, path: &str, body: &[u8]) -> Answer {
    let request = [&head(method, path, body.len()), body].concat();
    stream.write_all(&request).unwrap();
    answer(stream)
}

/// Reads an answer to the end of the connection.
fn answer(mut stream: TcpStream) -> Answer {
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        assert_eq!(text, "", "half a head");
        return (0, String::new());
    };
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, body.to_owned())
}

/// The metrics of the service's own, in an order of their own.
fn metrics(service: &Service) -> Vec<String> {
    let (status, text) = service.ask("GET", "/metrics", b"");
    assert_eq!(status, 200);
    let own = |line: &&str| line.starts_with("orders_total") || line.starts_with("requests_total");
    let mut lines: Vec<String> = text.lines().filter(own).map(str::to_owned).collect();
    lines.sort();
    lines
}

#[test]
fn both_answer_alike() {
    let [fibre, axum] = BOTH.map(|path| {
        let service = Service::start(path, &["--each", "60"]);
        let answers = REQUESTS.map(|(method, path, body)| service.ask(method, path, body));
        let metrics = metrics(&service);
        let list = service.redis.list("anna");
        service.stop();
        (answers, metrics, list)
    });
    for (index, (method, path, _)) in REQUESTS.iter().enumerate() {
        let (fibre, axum) = (&fibre.0[index], &axum.0[index]);
        assert_eq!(fibre, axum, "{method} {path}: fibre's and axum's answers");
    }
    let statuses = fibre.0.each_ref().map(|(status, _)| *status);
    let expected = [
        200, 200, 201, 201, 201, 200, 200, 200, 400, 413, 405, 405, 404, 404, 404, 503,
    ];
    assert_eq!(statuses, expected);
    assert_eq!(fibre.0[5].1, "tea\n\nr\u{f6}sti");
    assert_eq!(fibre.2, ["tea", "", "r\u{f6}sti"]);
    assert_eq!(fibre.1, axum.1);
    assert!(
        fibre.1.contains(&"orders_total 3".to_owned()),
        "{:?}",
        fibre.1
    );
    assert_eq!(fibre.2, axum.2);
}

#[test]
fn a_redis_that_hangs_is_given_up() {
    for path in BOTH {
        let service = Service::start(path, &["--each", "0.2", "--pool", "1"]);
        // One waits for an answer, the others for the only connection.
        let address = service.address;
        let asked = [(); 4].map(|()| {
            thread::spawn(move || ask(connect(address), "POST", "/orders/never", b"tea"))
        });
        for asked in asked {
            assert_eq!(asked.join().unwrap(), (503, String::new()), "{path}");
        }
        service.stop();
    }
}

#[test]
fn clients_that_say_nothing_are_closed() {
    for path in BOTH {
        let service = Service::start(path, &["--client", "1", "--most", "3", "--each", "60"]);
        // All places are taken by those, so the others are served once these are closed.
        let silent = service.connect();
        let mut in_head = service.connect();
        in_head.write_all(b"GET / HT").unwrap();
        let mut in_body = service.connect();
        let half = [&head("POST", "/orders/anna", 5), &b"te"[..]].concat();
        in_body.write_all(&half).unwrap();
        assert_eq!(service.ask("GET", "/ready", b""), (200, "PONG".to_owned()));
        let ends = [silent, in_head, in_body].map(answer);
        assert_eq!(ends.map(|(status, _)| status), [0, 0, 408], "{path}");
        service.stop();
    }
}

#[test]
fn a_request_that_has_come_is_answered_after_sigterm() {
    for path in BOTH {
        let service = Service::start(path, &["--each", "60", "--drain", "60"]);
        let (address, redis) = (service.address, service.redis.clone());
        let asked: Vec<_> = (0..10)
            .map(|_| thread::spawn(move || ask(connect(address), "POST", "/orders/held", b"tea")))
            .collect();
        redis.until_held(10);
        service.program.signal(Signal::TERM);
        // It accepts nobody any more.
        while TcpStream::connect(address).is_ok() {
            thread::yield_now();
        }
        redis.let_go();
        let answers = asked.into_iter().map(|asked| asked.join().unwrap());
        let mut counts: Vec<u64> = answers
            .map(|(status, body)| {
                assert_eq!(status, 201, "{path}");
                body.parse().unwrap()
            })
            .collect();
        counts.sort_unstable();
        assert!(counts.into_iter().eq(1..=10));
        let (status, _) = service.program.end();
        assert!(status.success(), "{path}: {status}");
    }
}

#[test]
fn no_answered_order_is_lost_at_sigterm_under_load() {
    for path in BOTH {
        let service = Service::start(path, &["--pool", "3", "--each", "60"]);
        let (address, warm) = (service.address, Barrier::new(9));
        let taken = thread::scope(|scope| {
            let clients = [(); 8].map(|()| scope.spawn(|| post_until_refused(address, &warm)));
            warm.wait();
            service.program.signal(Signal::TERM);
            clients.map(|client| client.join().unwrap())
        });
        let (status, _) = service.program.end();
        assert!(status.success(), "{path}: {status}");
        let taken: usize = taken.iter().sum();
        assert!(taken >= 8 * 20, "{path}: {taken}");
        // One that was taken, but not answered, was refused by the end of its connection.
        assert!(service.redis.list("anna").len() >= taken, "{path}: {taken}");
    }
}

/// Sends orders until the service ends; waits for the others after twenty. Returns how many were
/// taken.
fn post_until_refused(address: SocketAddr, warm: &Barrier) -> usize {
    let mut taken = 0;
    loop {
        if taken == 20 {
            warm.wait();
        }
        let Ok(mut stream) = TcpStream::connect(address) else {
            return taken;
        };
        let request = [&head("POST", "/orders/anna", 3), &b"tea"[..]].concat();
        let mut text = String::new();
        stream.set_read_timeout(Some(LONG)).unwrap();
        if stream.write_all(&request).is_err() || stream.read_to_string(&mut text).is_err() {
            return taken;
        }
        match text.get(..12) {
            Some("HTTP/1.1 201") => taken += 1,
            None => return taken,
            Some(other) => panic!("{other}"),
        }
    }
}
