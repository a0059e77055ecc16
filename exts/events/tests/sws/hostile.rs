//! Clients that send nonsense, nothing, or read nothing.

use crate::client::{Client, file, patient, with_server};
use crate::front::limits::Limits;
use std::time::Duration;

/// A time that tests wait for.
const SHORT: Duration = Duration::from_millis(50);

#[test]
fn nonsense_is_refused_and_the_connection_closed() {
    let cases: [(&[u8], u16); 9] = [
        (b"nonsense\r\n\r\n", 400),
        (b"GET /file/1 HTTP/1.1\r\n\r\n", 400),
        (b"GET /file/1 HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        (b"GET /file/1 HTTP/1.1\nHost: a\n\n", 400),
        (b"GET file HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (
            b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1x\r\n\r\n",
            400,
        ),
        (
            b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
            413,
        ),
        (
            b"GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
            501,
        ),
        (b"GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505),
    ];
    with_server(patient(), |server| {
        for (request, status) in cases {
            let mut client = Client::of(server);
            client.send(request);
            let answer = client.answer(true);
            let text = String::from_utf8_lossy(request);
            assert_eq!((answer.status, answer.closes), (status, true), "{text}");
            assert_eq!(client.rest(), b"", "{text}");
        }
    });
}

#[test]
fn a_head_may_neither_be_long_nor_have_many_fields() {
    with_server(patient(), |server| {
        for head in ["x".repeat(20_000), "x: y\r\n".repeat(65)] {
            let mut client = Client::of(server);
            client.send(format!("GET / HTTP/1.1\r\n{head}").as_bytes());
            client.send(b"\r\n\r\n");
            assert_eq!(client.answer(true).status, 431);
            drop(client);
        }
    });
}

#[test]
fn a_silent_client_is_closed_without_a_word() {
    let limits = Limits {
        idle: SHORT,
        ..patient()
    };
    with_server(limits, |server| {
        let mut client = Client::of(server);
        assert_eq!(client.rest(), b"");
        let mut client = Client::of(server);
        assert_eq!(client.get("/file/1").body, file(1));
        assert_eq!(client.rest(), b"");
    });
}

#[test]
fn a_client_that_does_not_finish_its_request_is_told_so() {
    let limits = Limits {
        request: SHORT,
        ..patient()
    };
    with_server(limits, |server| {
        let mut client = Client::of(server);
        client.send(b"GET /file/1 HT");
        assert_eq!(client.answer(true).status, 408);
        assert_eq!(client.rest(), b"");
    });
}

#[test]
fn a_client_that_takes_nothing_is_cut_off() {
    let limits = Limits {
        clients: 1,
        idle: SHORT,
        rate: 1 << 30,
        ..patient()
    };
    with_server(limits, |server| {
        let mut slow = Client::of(server);
        slow.ask("GET", "/large");
        // There is one place, so this client is served when the other one has been cut off.
        let mut next = Client::of(server);
        assert_eq!(next.get("/file/1").body, file(1));
        drop(slow);
    });
}

#[test]
fn clients_above_the_maximum_wait_for_a_place() {
    let limits = Limits {
        clients: 2,
        ..patient()
    };
    with_server(limits, |server| {
        let mut clients: Vec<Client> = (0..5).map(|_| Client::of(server)).collect();
        for (number, client) in clients.iter_mut().enumerate() {
            client.ask("GET", &format!("/file/{}", number % 4));
        }
        for (number, mut client) in clients.into_iter().enumerate() {
            assert_eq!(client.answer(true).body, file(number % 4));
            assert!(server.answered() <= number as u64 + 2);
        }
    });
}
