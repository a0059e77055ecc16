//! Clients and servers that send nonsense, nothing, or take nothing.

use crate::front::limits::Limits;
use crate::serving::patient;
use crate::support::{Origin, answer, body, client, get, read_head, rest, status, with_proxy};
use std::io::Write;
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

/// A time that tests wait for.
const SHORT: Duration = Duration::from_millis(50);

/// Time enough for a client and a server to do something, on a busy machine, too.
const LONGER: Duration = Duration::from_secs(3);

#[test]
fn nonsense_is_refused_and_the_connection_closed() {
    let long = format!("GET http://a/{} HTTP/1.1\r\n\r\n", "x".repeat(20_000));
    let endless = "x".repeat(20_000);
    let cases: [(&str, u16); 6] = [
        ("nonsense\r\n\r\n", 400),
        ("GET /x HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("CONNECT a:443 HTTP/1.1\r\n\r\n", 400),
        (
            "POST http://a/ HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello",
            405,
        ),
        (&long, 431),
        (&endless, 431),
    ];
    with_proxy(patient(), |proxy| {
        for (request, expected) in cases {
            let mut client = client(proxy);
            client.write_all(request.as_bytes()).unwrap();
            assert_eq!(status(&rest(&mut client)), expected, "{request:.40}");
        }
    });
}

#[test]
fn silent_and_slow_clients_are_cut_off() {
    let limits = Limits {
        idle: SHORT,
        ..patient()
    };
    with_proxy(limits, |proxy| assert_eq!(rest(&mut client(proxy)), b""));
    let limits = Limits {
        request: SHORT,
        ..patient()
    };
    with_proxy(limits, |proxy| {
        let mut client = client(proxy);
        client.write_all(b"GET http://a/ HT").unwrap();
        assert_eq!(status(&rest(&mut client)), 408);
    });
}

#[test]
fn a_server_that_is_not_there_is_told_of() {
    with_proxy(patient(), |proxy| {
        let nobody = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        assert_eq!(status(&get(proxy, nobody, "/")), 502);
        let mut client = client(proxy);
        client
            .write_all(b"GET http://name.invalid/ HTTP/1.1\r\n\r\n")
            .unwrap();
        assert_eq!(status(&rest(&mut client)), 502);
    });
}

#[test]
fn a_server_that_closes_without_an_answer_is_told_of() {
    with_proxy(patient(), |proxy| {
        let origin = Origin::start(1, Vec::new());
        assert_eq!(status(&get(proxy, origin.address, "/")), 502);
        origin.asked();
    });
}

#[test]
fn a_server_that_says_nothing_is_told_of() {
    let limits = Limits {
        idle: SHORT,
        ..patient()
    };
    with_proxy(limits, |proxy| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        // On a busy machine the proxy may lose its patience before the request comes.
        let mut answers = std::iter::repeat_with(|| get(proxy, address, "/"));
        let answer = answers.find(|answer| !answer.is_empty()).unwrap();
        assert_eq!(status(&answer), 504);
    });
}

#[test]
fn an_answer_that_stops_is_cut_off() {
    let limits = Limits {
        idle: LONGER,
        rate: 1 << 30,
        ..patient()
    };
    with_proxy(limits, |proxy| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            read_head(&mut stream);
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Le").unwrap();
            stream
        });
        assert_eq!(get(proxy, address, "/"), b"HTTP/1.1 200 OK\r\nContent-Le");
        drop(server.join().unwrap());
    });
}

#[test]
fn a_client_that_takes_nothing_is_cut_off() {
    let limits = Limits {
        clients: 1,
        idle: LONGER,
        rate: 1 << 30,
        ..patient()
    };
    with_proxy(limits, |proxy| {
        let large = Origin::start(1, answer(&body(64 << 20)));
        let mut slow = client(proxy);
        let request = format!("GET http://{}/ HTTP/1.1\r\n\r\n", large.address);
        slow.write_all(request.as_bytes()).unwrap();
        // There is one place, so this client is served when the other one has been cut off.
        let mut next = client(proxy);
        next.write_all(b"nonsense\r\n\r\n").unwrap();
        assert_eq!(status(&rest(&mut next)), 400);
        drop(slow);
        large.asked();
    });
}

#[test]
fn clients_above_the_maximum_wait_for_a_place() {
    let limits = Limits {
        clients: 2,
        ..patient()
    };
    with_proxy(limits, |proxy| {
        let mut clients: Vec<_> = (0..6).map(|_| client(proxy)).collect();
        for client in &mut clients {
            client.write_all(b"nonsense\r\n\r\n").unwrap();
        }
        for mut client in clients {
            assert_eq!(status(&rest(&mut client)), 400);
            assert!(proxy.clients() <= 2);
        }
    });
}
