//! What clients see when a server stops.

use std::io::{Read, Write};
use std::thread;
use std::time::Duration;

use tungstenite::protocol::frame::coding::CloseCode;
use tungstenite::{Error, Message};

use super::chat::{Chat, receive};
use super::heard::is_heard;
use super::program::eventually;
use super::tls::{Https, answer, ask, get};

#[test]
fn who_rests_is_told_and_who_works_may_finish() {
    for arguments in [&[][..], &["--threads"]] {
        let server = Https::start("stopping", arguments);
        let mut resting = server.connect();
        let mut midway = server.connect();
        let mut loading = server.connect();
        get(&mut resting, "/");
        get(&mut midway, "/");
        midway.write_all(b"GET / HTTP/1.1\r\n").unwrap();
        midway.flush().unwrap();
        // More than the buffers of both sockets: the server is writing when it is stopped.
        ask(&mut loading, "/bytes/30000000").unwrap();
        loading.read_exact(&mut [0; 100]).unwrap();
        assert!(eventually(|| is_heard(midway.get_ref())));
        thread::sleep(Duration::from_millis(100));
        server.program.signal();
        // close_notify.
        assert_eq!(resting.read(&mut [0]).unwrap(), 0);
        midway.write_all(b"Host: a\r\n\r\n").unwrap();
        let (head, _) = answer(&mut midway).unwrap();
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        assert_eq!(midway.read(&mut [0]).unwrap(), 0);
        let mut rest = Vec::new();
        loading.read_to_end(&mut rest).unwrap();
        assert!(rest.len() > 29_999_900, "{}", rest.len());
        server.program.expect_clean_end();
    }
}

#[test]
fn who_never_ends_is_cut() {
    let server = Https::start("cut", &["--drain-timeout", "0.2"]);
    let mut stuck = server.connect();
    ask(&mut stuck, "/bytes/100000000").unwrap();
    let mut half = server.program.connect();
    half.write_all(&server.hello()[..10]).unwrap();
    stuck.read_exact(&mut [0; 100]).unwrap();
    server.program.expect_clean_stop();
    assert!(std::io::copy(&mut stuck, &mut std::io::sink()).is_err());
}

#[test]
fn all_in_a_room_are_told() {
    let chat = Chat::start(&[]);
    let mut clients: Vec<_> = (0..10).map(|_| chat.join("/room")).collect();
    chat.program.signal();
    for client in &mut clients {
        let Message::Close(Some(reason)) = receive(client) else {
            panic!("no reason");
        };
        assert_eq!(reason.code, CloseCode::Away);
        assert!(matches!(
            client.read(),
            Err(Error::ConnectionClosed | Error::Io(_))
        ));
    }
    chat.program.expect_clean_end();
}
