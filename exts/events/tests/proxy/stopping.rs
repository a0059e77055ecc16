//! The end of a proxy.

use crate::serving::patient;
use crate::support::{Origin, answer, body, client, rest, try_read_head, try_rest, with_proxy};
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;

#[test]
fn a_proxy_that_nobody_knows_stops() {
    with_proxy(patient(), |_| {});
}

#[test]
fn idle_clients_are_closed_and_requests_that_have_begun_are_answered() {
    with_proxy(patient(), |proxy| {
        let origin = Origin::start(1, answer(&body(100_000)));
        let mut idle = client(proxy);
        let mut midway = client(proxy);
        midway.write_all(b"GET http://").unwrap();
        // Both are known, and what the second has sent has been read.
        while proxy.midway() == 0 || proxy.clients() < 2 {
            thread::yield_now();
        }
        proxy.stop();
        assert_eq!(rest(&mut idle), b"");
        let tail = format!("{}/ HTTP/1.1\r\n\r\n", origin.address);
        midway.write_all(tail.as_bytes()).unwrap();
        assert!(rest(&mut midway) == answer(&body(100_000)));
        origin.asked();
    });
}

#[test]
fn a_proxy_stops_under_load() {
    with_proxy(patient(), |proxy| {
        let expected = answer(&body(50_000));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let reply = expected.clone();
        // It serves until somebody says that nobody comes any more.
        let server = thread::spawn(move || {
            while let Ok((mut stream, _)) = listener.accept() {
                if try_read_head(&mut stream).is_none() {
                    return;
                }
                let _taken = stream.write_all(&reply);
            }
        });
        let answered = Arc::new(AtomicUsize::new(0));
        let clients: Vec<_> = (0..8)
            .map(|_| {
                let (proxy, expected) = (Arc::clone(proxy), expected.clone());
                let answered = Arc::clone(&answered);
                thread::spawn(move || {
                    loop {
                        let Ok(mut client) = TcpStream::connect(proxy.address()) else {
                            return;
                        };
                        let request = format!("GET http://{address}/ HTTP/1.1\r\n\r\n");
                        let sent = client.write_all(request.as_bytes());
                        match try_rest(&mut client) {
                            Some(answer) if sent.is_ok() && !answer.is_empty() => {
                                assert!(answer == expected);
                                answered.fetch_add(1, SeqCst);
                            }
                            // Its listener has been closed, with those that waited there.
                            _ => return,
                        }
                    }
                })
            })
            .collect();
        while answered.load(SeqCst) < 100 {
            thread::yield_now();
        }
        proxy.stop();
        clients
            .into_iter()
            .for_each(|client| client.join().unwrap());
        drop(TcpStream::connect(address).unwrap());
        server.join().unwrap();
    });
}
