//! Requests that are answered.

use std::thread;
use std::time::{Duration, SystemTime};

use rustix::process::Signal;

use super::client::{Client, PLAINTEXT};
use super::server::Server;

/// Checks that the next answer is the one to `/plaintext`.
fn expect_plaintext(client: &mut Client) {
    let answer = client.answer();
    assert_eq!(answer.status, 200);
    assert_eq!(answer.body, b"Hello, World!");
}

#[test]
fn plaintext_has_all_its_fields() {
    let server = Server::start(&[]);
    let answer = server.connect().ask(PLAINTEXT);
    assert_eq!(answer.status, 200);
    assert_eq!(answer.body, b"Hello, World!");
    assert_eq!(answer.field("content-type"), Some("text/plain"));
    assert_eq!(answer.field("content-length"), Some("13"));
    assert_eq!(answer.field("connection"), None);
    let date = httpdate::parse_http_date(answer.field("date").unwrap()).unwrap();
    let age = SystemTime::now().duration_since(date).unwrap_or_default();
    assert!(age < Duration::from_secs(4), "the date is {age:?} old");
}

#[test]
fn the_date_moves_on() {
    let server = Server::start(&[]);
    let mut client = server.connect();
    let first = client.ask(PLAINTEXT);
    thread::sleep(Duration::from_millis(2_200));
    assert_ne!(client.ask(PLAINTEXT).field("date"), first.field("date"));
}

#[test]
fn a_connection_serves_many_requests() {
    let server = Server::start(&[]);
    let mut client = server.connect();
    for _ in 0..1_000 {
        client.send(PLAINTEXT);
        expect_plaintext(&mut client);
    }
    drop(client);
    server.signal(Signal::INT);
    let (status, line) = server.outcome();
    assert!(status.success());
    assert_eq!(line, "served 1000 requests on 1 connections; live fibres 0");
}

#[test]
fn persistence_follows_version_and_connection() {
    let server = Server::start(&[]);
    for (request, says, closes) in [
        ("GET /plaintext HTTP/1.1\r\nHost: a\r\n\r\n", None, false),
        (
            "GET /plaintext HTTP/1.1\r\nHost: a\r\nConnection: Keep-Alive\r\n\r\n",
            None,
            false,
        ),
        (
            "GET /plaintext HTTP/1.1\r\nHost: a\r\nConnection: x, CLOSE\r\n\r\n",
            Some("close"),
            true,
        ),
        ("GET /plaintext HTTP/1.0\r\n\r\n", Some("close"), true),
        (
            "GET /plaintext HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
            Some("keep-alive"),
            false,
        ),
    ] {
        let mut client = server.connect();
        let answer = client.ask(request);
        assert_eq!(answer.status, 200, "{request}");
        assert_eq!(answer.field("connection"), says, "{request}");
        if closes {
            client.expect_end();
        } else {
            assert_eq!(client.ask(PLAINTEXT).status, 200, "{request}");
        }
    }
    server.expect_clean_stop();
}

#[test]
fn nothing_is_answered_after_close() {
    let server = Server::start(&[]);
    let mut client = server.connect();
    let last = "GET /plaintext HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    client.send([PLAINTEXT, last, PLAINTEXT, PLAINTEXT].concat());
    expect_plaintext(&mut client);
    assert_eq!(client.answer().field("connection"), Some("close"));
    client.expect_end();
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let server = Server::start(&[]);
    let mut client = server.connect();
    let missing = "GET /missing HTTP/1.1\r\nHost: test\r\n\r\n";
    // More than fits the server's buffer, so that requests straddle its end.
    for _ in 0..20 {
        client.send([PLAINTEXT, missing].concat().repeat(200));
        for _ in 0..200 {
            expect_plaintext(&mut client);
            assert_eq!(client.answer().status, 404);
        }
    }
    server.expect_clean_stop();
}

#[test]
fn requests_may_be_split_anywhere() {
    let server = Server::start(&[]);
    let requests = [
        "POST /plaintext HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
        "5;x=y\r\nhello\r\n0\r\nTrailer: t\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
        PLAINTEXT,
    ];
    let bytes = requests.concat();
    let mut client = server.connect();
    for position in 1..bytes.len() {
        client.send(&bytes[..position]);
        thread::sleep(Duration::from_millis(1));
        client.send(&bytes[position..]);
        assert_eq!(client.answer().status, 405, "split at {position}");
        assert_eq!(client.answer().status, 200, "split at {position}");
        expect_plaintext(&mut client);
    }
    for byte in bytes.bytes() {
        client.send([byte]);
    }
    assert_eq!(client.answer().status, 405);
    assert_eq!(client.answer().status, 200);
    expect_plaintext(&mut client);
    server.expect_clean_stop();
}

#[test]
fn head_has_the_fields_of_get_without_the_body() {
    let server = Server::start(&[]);
    let mut client = server.connect();
    for path in ["/plaintext", "/", "/missing"] {
        let request = format!("HEAD {path} HTTP/1.1\r\nHost: test\r\n\r\n");
        client.send(request);
        let head = client.answer_to_head().unwrap().unwrap();
        let get = client.get(path);
        assert_eq!(head.status, get.status);
        assert_eq!(head.length(), get.body.len());
        assert_eq!(head.field("content-type"), get.field("content-type"));
    }
}

#[test]
fn other_methods_are_not_allowed() {
    let server = Server::start(&[]);
    let mut client = server.connect();
    for method in [
        "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "CONNECT", "BREW",
    ] {
        let answer = client.ask(format!("{method} /plaintext HTTP/1.1\r\nHost: a\r\n\r\n"));
        assert_eq!(answer.status, 405, "{method}");
        assert_eq!(answer.field("allow"), Some("GET, HEAD"));
    }
}

#[test]
fn bodies_are_skipped() {
    let server = Server::start(&[]);
    let mut client = server.connect();
    let large = "x".repeat(300_000);
    let sized = format!("Content-Length: 300000\r\n\r\n{large}");
    let chunked = format!(
        "Transfer-Encoding: chunked\r\n\r\n493E0\r\n{large}\r\n000\r\nA: b\r\nC: d\r\n\r\n"
    );
    let bodies = [
        "Content-Length: 0\r\n\r\n",
        "Content-Length: 5\r\n\r\nhello",
        "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: Chunked\r\n\r\n1\r\na\r\n00a;e=\"f\"\r\n0123456789\r\n0\r\n\r\n",
        &sized,
        &chunked,
    ];
    for body in bodies {
        client.send(format!("POST / HTTP/1.1\r\nHost: a\r\n{body}{PLAINTEXT}"));
        assert_eq!(client.answer().status, 405);
        expect_plaintext(&mut client);
    }
    server.expect_clean_stop();
}

#[test]
fn a_go_ahead_is_given_where_it_is_awaited() {
    let server = Server::start(&[]);
    let mut client = server.connect();
    let head = "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 5\r\n\r\n";
    assert_eq!(client.ask(head).status, 100);
    assert_eq!(client.ask("hello").status, 405);
    // With the body at hand there is nothing to go ahead with.
    client.send([head, "hello", PLAINTEXT].concat());
    assert_eq!(client.answer().status, 405);
    expect_plaintext(&mut client);
}

#[test]
fn a_target_may_be_a_whole_address() {
    let server = Server::start(&[]);
    let mut client = server.connect();
    for target in [
        "http://test/plaintext",
        "HTTP://test:80/plaintext?q=/",
        "/plaintext?a=b",
    ] {
        assert_eq!(client.get(target).body, b"Hello, World!", "{target}");
    }
    assert_eq!(
        client.get("http://test").field("content-type"),
        Some("text/html; charset=utf-8")
    );
}
