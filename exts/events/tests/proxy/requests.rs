//! What clients get, and what servers are asked.

use crate::exchange::ROOM;
use crate::serving::{POLICIES, patient};
use crate::support::{Origin, answer, body, client, get, proxying, rest, with_proxy};
use std::io::{Read, Write};
use std::net::Shutdown;
use std::sync::Arc;
use std::thread;

#[test]
fn answers_come_back_byte_for_byte_under_every_policy() {
    for policy in POLICIES {
        for processors in [1, 2, 4] {
            proxying(policy, processors, patient(), |proxy| {
                for length in [0, 1, ROOM - 1, ROOM, 5 * ROOM + 7] {
                    let expected = answer(&body(length));
                    let origin = Origin::start(4, expected.clone());
                    let address = origin.address;
                    let clients: Vec<_> = (0..4)
                        .map(|_| {
                            let proxy = Arc::clone(proxy);
                            thread::spawn(move || get(&proxy, address, "/x"))
                        })
                        .collect();
                    for client in clients {
                        assert!(client.join().unwrap() == expected, "{length}");
                    }
                    let asked = origin.asked();
                    let first = format!("GET /x HTTP/1.1\r\nHost: {address}\r\n");
                    assert!(asked.iter().all(|request| request.starts_with(&first)));
                }
            });
        }
    }
}

#[test]
fn an_answer_larger_than_all_buffers_waits_for_its_client() {
    with_proxy(patient(), |proxy| {
        let expected = answer(&body(16 << 20));
        let origin = Origin::start(1, expected.clone());
        let mut slow = client(proxy);
        let request = format!("GET http://{}/ HTTP/1.1\r\n\r\n", origin.address);
        slow.write_all(request.as_bytes()).unwrap();
        let mut first = [0; 100];
        slow.read_exact(&mut first).unwrap();
        // Others are served meanwhile.
        let other = Origin::start(1, answer(b"hello"));
        assert_eq!(get(proxy, other.address, "/"), answer(b"hello"));
        other.asked();
        assert!([&first[..], &rest(&mut slow)].concat() == expected);
        origin.asked();
    });
}

#[test]
fn a_request_is_understood_however_it_is_cut() {
    with_proxy(patient(), |proxy| {
        let expected = answer(b"hello");
        let length = "GET http://127.0.0.1:65535/ HTTP/1.1\r\n\r\n".len();
        let origin = Origin::start(length - 1, expected.clone());
        let request = format!("GET http://{}/ HTTP/1.1\r\n\r\n", origin.address);
        for cut in 1..length {
            let (head, tail) = request.as_bytes().split_at(cut.min(request.len() - 1));
            let mut client = client(proxy);
            client.set_nodelay(true).unwrap();
            client.write_all(head).unwrap();
            client.write_all(tail).unwrap();
            // It may say at once that nothing follows.
            if cut % 2 == 0 {
                client.shutdown(Shutdown::Write).unwrap();
            }
            assert_eq!(rest(&mut client), expected, "cut at {cut}");
        }
        origin.asked();
    });
}

#[test]
fn what_follows_a_request_does_not_reach_its_server() {
    with_proxy(patient(), |proxy| {
        let origin = Origin::start(1, answer(b"hello"));
        let mut client = client(proxy);
        let request = format!("GET http://{}/ HTTP/1.1\r\n\r\n", origin.address);
        client.write_all(request.repeat(3).as_bytes()).unwrap();
        assert_eq!(rest(&mut client), answer(b"hello"));
        assert_eq!(origin.asked().len(), 1);
    });
}

#[test]
fn names_are_looked_up() {
    with_proxy(patient(), |proxy| {
        let origin = Origin::start(1, answer(b"hello"));
        let mut client = client(proxy);
        let port = origin.address.port();
        let request = format!("GET http://localhost:{port}/ HTTP/1.1\r\n\r\n");
        client.write_all(request.as_bytes()).unwrap();
        assert_eq!(rest(&mut client), answer(b"hello"));
        let host = format!("Host: localhost:{port}\r\n");
        assert!(origin.asked()[0].contains(&host));
    });
}
