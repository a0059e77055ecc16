//! Clients that send nonsense, nothing, or read nothing. What all programs over `front` do with
//! these is tested with `sws`; here it is that none of them keeps others from the caches.

use crate::front::limits::Limits;
use crate::http::Client;
use crate::serving::patient;
use crate::support::{LARGE, Root, with_server};
use std::time::Duration;

/// A time that tests wait for.
const SHORT: Duration = Duration::from_millis(50);

#[test]
fn nonsense_is_refused_and_the_connection_closed() {
    let root = Root::new();
    let cases: [(&[u8], u16); 4] = [
        (b"nonsense\r\n\r\n", 400),
        (
            b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n",
            413,
        ),
        (
            b"GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: x\r\n\r\n",
            501,
        ),
        (b"GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505),
    ];
    with_server(patient(), &root, |server| {
        for (request, status) in cases {
            let mut client = Client::of(server);
            client.send(request);
            let answer = client.answer(true);
            assert_eq!((answer.status, answer.closes), (status, true));
            assert_eq!(client.rest(), b"");
        }
    });
}

#[test]
fn silent_and_slow_clients_are_cut_off() {
    let root = Root::new();
    root.write("file", b"hello");
    let limits = Limits {
        idle: SHORT,
        ..patient()
    };
    with_server(limits, &root, |server| {
        assert_eq!(Client::of(server).rest(), b"");
    });
    let limits = Limits {
        request: SHORT,
        ..patient()
    };
    with_server(limits, &root, |server| {
        let mut client = Client::of(server);
        client.send(b"GET /file HT");
        assert_eq!(client.answer(true).status, 408);
        assert_eq!(client.rest(), b"");
    });
}

#[test]
fn a_client_that_takes_nothing_is_cut_off() {
    let root = Root::new();
    root.write("large", &vec![b'x'; LARGE]);
    let limits = Limits {
        clients: 1,
        idle: SHORT,
        rate: 1 << 30,
        ..patient()
    };
    with_server(limits, &root, |server| {
        let mut slow = Client::of(server);
        slow.ask("GET", "/large");
        // There is one place, so this client is served when the other one has been cut off.
        let mut next = Client::of(server);
        assert_eq!(next.get("/missing").status, 404);
        drop(slow);
    });
}

#[test]
fn clients_that_leave_before_their_page_comes_do_no_harm() {
    let root = Root::of_mix();
    with_server(patient(), &root, |server| {
        for file in crate::support::some_files() {
            let path = format!("/{}", file.path());
            for _ in 0..4 {
                Client::of(server).ask("GET", &path);
            }
            assert!(Client::of(server).get(&path).body == file.bytes());
        }
    });
}
