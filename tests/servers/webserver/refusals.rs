//! Requests that are refused.

use std::time::{Duration, Instant};

use super::client::PLAINTEXT;
use super::server::Server;

/// Checks that each request is answered with its status, followed by the end.
fn expect_refusals(cases: &[(&str, u16)]) {
    let server = Server::start(&[]);
    let start = server.open_files_at_rest();
    for (request, status) in cases {
        let mut client = server.connect();
        let answer = client.ask(request);
        assert_eq!(answer.status, *status, "{request:?}");
        assert_eq!(answer.field("connection"), Some("close"), "{request:?}");
        client.expect_end();
    }
    server.expect_service();
    server.expect_open_files(start);
    server.expect_clean_stop();
}

#[test]
fn what_is_not_http() {
    expect_refusals(&[
        ("\0", 400),
        ("\x16\x03\x01\x02\x00\x01", 400),
        ("hello\r\n\r\n", 400),
        ("GET\r\n\r\n", 400),
        ("GET /\r\n\r\n", 400),
        ("GET / HTTP/1.1 \r\n\r\n", 400),
        ("GET  / HTTP/1.1\r\n\r\n", 400),
        ("GET / HTTP/x.y\r\n\r\n", 400),
        ("GET / HTTX/1.1\r\n\r\n", 400),
        ("G\u{e4}T / HTTP/1.1\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nA: b\rc\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nA: b\0c\r\n\r\n", 400),
    ]);
}

#[test]
fn versions_to_come() {
    expect_refusals(&[
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
        ("GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505),
        ("GET / HTTP/3\r\n\r\n", 505),
        ("GET / HTTP/0.9\r\n\r\n", 505),
        ("GET / HTTP/9.9\r\n\r\n", 505),
    ]);
}

#[test]
fn hosts_missing_repeated_or_malformed() {
    expect_refusals(&[
        ("GET / HTTP/1.1\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400),
        ("GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: user@a\r\n\r\n", 400),
    ]);
}

#[test]
fn targets_without_meaning() {
    expect_refusals(&[
        ("GET * HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET plaintext HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET /%4 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET /a%00b HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ]);
}

#[test]
fn bodies_whose_end_is_in_doubt() {
    let cases = [
        ("Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", 400),
        ("Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", 400),
        ("Content-Length: 5, 5\r\n\r\nhello", 400),
        ("Content-Length: +5\r\n\r\nhello", 400),
        ("Content-Length: -5\r\n\r\nhello", 400),
        ("Content-Length: 0x5\r\n\r\nhello", 400),
        ("Content-Length: \r\n\r\nhello", 400),
        (
            "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            400,
        ),
        (
            "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
            400,
        ),
        (
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            400,
        ),
        ("Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501),
        ("Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 501),
        ("Transfer-Encoding: chunked\r\n\r\nx\r\n", 400),
        ("Transfer-Encoding: chunked\r\n\r\n-1\r\n", 400),
        ("Transfer-Encoding: chunked\r\n\r\n5\r\nhello0\r\n\r\n", 400),
        (
            "Transfer-Encoding: chunked\r\n\r\n5\r\nhelloxy0\r\n\r\n",
            400,
        ),
        (
            "Transfer-Encoding: chunked\r\n\r\n0\r\nno colon\r\n\r\n",
            400,
        ),
        (
            "Transfer-Encoding: chunked\r\n\r\n11111111111111111\r\n",
            400,
        ),
        ("Expect: miracles\r\n\r\n", 417),
    ];
    let requests =
        cases.map(|(rest, status)| (format!("POST / HTTP/1.1\r\nHost: a\r\n{rest}"), status));
    expect_refusals(
        &requests
            .each_ref()
            .map(|(request, status)| (request.as_str(), *status)),
    );
    expect_refusals(&[(
        "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        400,
    )]);
}

/// Ends of chunks and lines that others might see elsewhere.
#[test]
fn framing_that_others_may_read_otherwise() {
    let chunked = [
        " 5\r\nhello\r\n0\r\n\r\n",
        "5 \r\nhello\r\n0\r\n\r\n",
        "5\t\r\nhello\r\n0\r\n\r\n",
        "5 ;a\r\nhello\r\n0\r\n\r\n",
        "+5\r\nhello\r\n0\r\n\r\n",
        "0x5\r\nhello\r\n0\r\n\r\n",
        "1_0\r\nhello\r\n0\r\n\r\n",
        ";a\r\nhello\r\n0\r\n\r\n",
        "\r\nhello\r\n0\r\n\r\n",
        "5\nhello\r\n0\r\n\r\n",
        "5\r\r\nhello\r\n0\r\n\r\n",
        "5;a\nhello\r\n0\r\n\r\n",
        "5;a\rb\r\nhello\r\n0\r\n\r\n",
        "5;a\0\r\nhello\r\n0\r\n\r\n",
        "5\r\nhello\n0\r\n\r\n",
        "5\r\nhello\r\n0\n\r\n",
        "0\r\nA: b\n\r\n",
        "0\r\nA: b\r\n\n",
        "0\r\n\n",
        "0\r\nA : b\r\n\r\n",
        "0\r\nA: b\r\n c\r\n\r\n",
    ];
    let heads = [
        "GET / HTTP/1.1\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n\n",
        "GET / HTTP/1.1\nHost: a\n\n",
        "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost : a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n",
        "GET / HTTP/1.1\r\n Host: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nA\0: b\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length : 5\r\n\r\nhello",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n 5\r\n\r\nhello",
        "POST / HTTP/1.1\r\nHost: a\r\nContent_Length: 5\r\n\r\nhello",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer_Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent_Length: 6\r\n\r\nhello",
    ];
    let head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    let bodies = chunked.map(|body| format!("{head}{body}"));
    let bodies = bodies.each_ref().map(String::as_str);
    let cases: Vec<_> = heads
        .into_iter()
        .chain(bodies)
        .map(|case| (case, 400))
        .collect();
    expect_refusals(&cases);
}

#[test]
fn what_is_too_large() {
    let long = "x".repeat(20_000);
    let line = format!("Transfer-Encoding: chunked\r\n\r\n1;{}", "x".repeat(300));
    let rests = [
        ("Content-Length: 1048577\r\n\r\n".to_owned(), 413),
        (format!("Content-Length: {}\r\n\r\n", "9".repeat(40)), 413),
        (
            "Expect: 100-continue\r\nContent-Length: 9999999\r\n\r\n".to_owned(),
            413,
        ),
        (
            "Transfer-Encoding: chunked\r\n\r\n100001\r\n".to_owned(),
            413,
        ),
        (
            "Transfer-Encoding: chunked\r\n\r\nfffffffffffffff\r\n".to_owned(),
            413,
        ),
        (
            format!(
                "Transfer-Encoding: chunked\r\n\r\n{}",
                "1\r\nx\r\n".repeat(200_000)
            ),
            413,
        ),
        (line, 400),
        (format!("A: {long}\r\n\r\n"), 431),
        (format!("{}\r\n", "A: b\r\n".repeat(64)), 431),
        (
            format!(
                "Transfer-Encoding: chunked\r\n\r\n0\r\n{}\r\n",
                "A: b\r\n".repeat(17)
            ),
            431,
        ),
    ];
    let mut cases = rests
        .map(|(rest, status)| (format!("POST / HTTP/1.1\r\nHost: a\r\n{rest}"), status))
        .to_vec();
    cases.push((format!("GET /{long} HTTP/1.1\r\nHost: a\r\n\r\n"), 414));
    let server = Server::start(&[]);
    for (request, status) in &cases {
        let mut client = server.connect();
        // The server may refuse and close before it has been sent everything.
        let _ = client.try_send(request);
        let answer = client.answer();
        assert_eq!(
            answer.status,
            *status,
            "{}",
            &request[..100.min(request.len())]
        );
        client.expect_end();
    }
    server.expect_clean_stop();
}

#[test]
fn what_comes_too_slowly() {
    let server = Server::start(&["--header-timeout", "0.3"]);
    let mut client = server.connect();
    let begin = Instant::now();
    assert_eq!(client.ask(PLAINTEXT).status, 200);
    client.send("GET /plaintext HTTP/1.1\r\nHost");
    let refused = client.hears_within(Duration::from_millis(150));
    assert!(!refused || begin.elapsed() >= Duration::from_millis(300));
    assert_eq!(client.answer().status, 408);
    client.expect_end();
    server.expect_clean_stop();
}

#[test]
fn a_refusal_reaches_a_client_that_is_still_sending() {
    let server = Server::start(&[]);
    let mut client = server.connect();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\n");
    assert_eq!(client.answer().status, 413);
    client.send("x".repeat(100_000));
    // An orderly end. A reset could have taken the answer with it.
    assert!(!client.receive().unwrap());
    client.send("x".repeat(100_000));
}
