//! Clients that do not know the secret, send nonsense, nothing, or read nothing.

use crate::client::Connection;
use crate::front::limits::Limits;
use crate::front::server::Server;
use crate::seal::{LENGTH, LONGEST};
use crate::service::Sfs;
use crate::serving::patient;
use crate::support::{SECRET, bytes_at, client, read, refused, with_server};
use crate::wire::{HELLO, MOST, Status};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A time that tests wait for.
const SHORT: Duration = Duration::from_millis(50);

/// Asserts that the server closes a connection and says nothing before.
#[track_caller]
fn is_closed(stream: &mut TcpStream) {
    let mut rest = Vec::new();
    if let Err(error) = stream.read_to_end(&mut rest) {
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    }
    assert_eq!(rest, b"");
}

/// A client that has said hello before the server lost its patience, on a busy machine, too.
fn client_in_time(server: &Server<Sfs>) -> Connection {
    let open = || Connection::open(server.address(), &SECRET).ok();
    let mut opened = std::iter::repeat_with(open);
    opened.find_map(|connection| connection).unwrap()
}

#[test]
fn a_hello_that_is_none_closes_the_connection() {
    with_server(patient(), |server| {
        for hello in [*b"GET / HTTP/1.1\r\n", *b"sfs-likf01234567"] {
            let mut stream = TcpStream::connect(server.address()).unwrap();
            stream.write_all(&hello).unwrap();
            is_closed(&mut stream);
        }
    });
}

#[test]
fn a_frame_by_another_secret_closes_the_connection() {
    with_server(patient(), |server| {
        let mut stranger = Connection::open(server.address(), &[8; 32]).unwrap();
        let frame = stranger.frame(Some(read(0, 0, 1)));
        stranger.stream.write_all(&frame).unwrap();
        is_closed(&mut stranger.stream);
    });
}

#[test]
fn a_frame_with_any_bit_changed_closes_the_connection() {
    with_server(patient(), |server| {
        let length = client(server).frame(Some(read(0, 0, 1))).len();
        // The length's own bits make a frame that is too long, or has not arrived; see below.
        for at in LENGTH..length {
            let mut client = client(server);
            let mut frame = client.frame(Some(read(0, 0, 1)));
            frame[at] ^= 1 << (at % 8);
            client.stream.write_all(&frame).unwrap();
            is_closed(&mut client.stream);
        }
    });
}

#[test]
fn a_frame_of_another_place_or_connection_closes_the_connection() {
    with_server(patient(), |server| {
        let mut recorded = client(server);
        let frame = recorded.frame(Some(read(0, 0, 1)));
        recorded.stream.write_all(&frame).unwrap();
        assert_eq!(recorded.reply().unwrap().result, bytes_at(0, 1));
        recorded.stream.write_all(&frame).unwrap();
        is_closed(&mut recorded.stream);
        let mut other = client(server);
        other.stream.write_all(&frame).unwrap();
        is_closed(&mut other.stream);
    });
}

#[test]
fn an_answer_is_no_call() {
    with_server(patient(), |server| {
        let mut client = client(server);
        let frame = client.frame(Some(read(0, 0, 1)));
        client.stream.write_all(&frame).unwrap();
        let mut answer = vec![0; LENGTH + 5 + 1 + 16];
        client.stream.read_exact(&mut answer).unwrap();
        client.stream.write_all(&answer).unwrap();
        is_closed(&mut client.stream);
    });
}

#[test]
fn a_length_that_is_too_large_or_small_closes_the_connection() {
    with_server(patient(), |server| {
        for length in [0, 15, LONGEST as u32 + 1, u32::MAX] {
            let mut client = client(server);
            client.stream.write_all(&length.to_be_bytes()).unwrap();
            is_closed(&mut client.stream);
        }
    });
}

#[test]
fn a_call_that_nobody_understands_is_told_so() {
    with_server(patient(), |server| {
        let mut client = client(server);
        for wish in [
            None,
            Some(read(0, 0, MOST + 1)),
            Some(read(0, 0, usize::MAX)),
        ] {
            let frame = client.frame(wish);
            client.stream.write_all(&frame).unwrap();
            refused(&client.reply().unwrap(), Status::Malformed);
        }
        assert_eq!(client.call(read(0, 5, 5)).unwrap().result, bytes_at(5, 5));
    });
}

#[test]
fn a_silent_client_is_closed() {
    let limits = Limits {
        idle: SHORT,
        ..patient()
    };
    with_server(limits, |server| {
        is_closed(&mut TcpStream::connect(server.address()).unwrap());
        is_closed(&mut client_in_time(server).stream);
    });
}

#[test]
fn a_client_that_does_not_finish_is_closed() {
    let limits = Limits {
        request: SHORT,
        ..patient()
    };
    with_server(limits, |server| {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream.write_all(&HELLO[..5]).unwrap();
        is_closed(&mut stream);
        let mut client = client(server);
        let frame = client.frame(Some(read(0, 0, 1)));
        client.stream.write_all(&frame[..20]).unwrap();
        is_closed(&mut client.stream);
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
        let mut slow = client_in_time(server);
        let frames: Vec<u8> = (0..1000)
            .flat_map(|_| slow.frame(Some(read(0, 0, MOST))))
            .collect();
        // On a busy machine it may have been cut off already.
        let _sent = slow.stream.write_all(&frames);
        // There is one place, so this client is served when the other one has been cut off; it may
        // be too slow itself, and then tries again.
        let answered = || client_in_time(server).call(read(0, 1, 3)).ok();
        let reply = std::iter::repeat_with(answered).find_map(|reply| reply);
        assert_eq!(reply.unwrap().result, bytes_at(1, 3));
        drop(slow);
    });
}
