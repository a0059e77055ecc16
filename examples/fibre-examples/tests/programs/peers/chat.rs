//! WebSocket clients, many and rude ones.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;

use tungstenite::protocol::frame::coding::CloseCode;
use tungstenite::{Bytes, Error, Message, WebSocket};

use super::program::{Program, eventually};

/// A client's end.
type Client = WebSocket<TcpStream>;

/// A server `chat`.
pub(crate) struct Chat {
    /// The server.
    pub(crate) program: Program,
}

impl Chat {
    /// Starts a server.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let program = Program::start(env!("CARGO_BIN_EXE_chat"), arguments);
        Self { program }
    }

    /// A client under a path.
    pub(crate) fn join(&self, path: &str) -> Client {
        let address = format!("ws://{}{path}", self.program.address);
        let stream = self.program.connect();
        tungstenite::client(address, stream).unwrap().0
    }
}

/// The next message.
pub(crate) fn receive(client: &mut Client) -> Message {
    client.read().unwrap()
}

/// Checks that the server closes for this reason.
pub(crate) fn expect_close(client: &mut Client, code: CloseCode) {
    loop {
        match receive(client) {
            Message::Close(Some(reason)) => return assert_eq!(reason.code, code),
            Message::Close(None) => panic!("no reason"),
            _ => {}
        }
    }
}

#[test]
fn messages_of_all_sizes_come_back() {
    let chat = Chat::start(&["--max-message", "100000"]);
    let mut client = chat.join("/echo");
    for size in [0, 1, 125, 126, 65_535, 65_536, 100_000] {
        let text = Message::text("x".repeat(size));
        client.send(text.clone()).unwrap();
        assert_eq!(receive(&mut client), text);
        let bytes = Message::binary(vec![7; size]);
        client.send(bytes.clone()).unwrap();
        assert_eq!(receive(&mut client), bytes);
    }
    client
        .send(Message::Ping(Bytes::from_static(b"?")))
        .unwrap();
    assert_eq!(
        receive(&mut client),
        Message::Pong(Bytes::from_static(b"?"))
    );
    client.close(None).unwrap();
    assert!(matches!(receive(&mut client), Message::Close(_)));
    assert!(matches!(client.read(), Err(Error::ConnectionClosed)));
    let mut greedy = chat.join("/echo");
    greedy.send(Message::text("x".repeat(100_001))).unwrap();
    expect_close(&mut greedy, CloseCode::Size);
    drop(greedy);
    chat.program.expect_no_connections();
    chat.program.expect_clean_stop();
}

#[test]
fn everybody_in_a_room_hears_everything_in_one_order() {
    let chat = Chat::start(&[]);
    let mut clients: Vec<_> = (0..20).map(|_| chat.join("/a")).collect();
    let mut other = chat.join("/b");
    for client in &mut clients[..3] {
        for word in ["one", "two", "three"] {
            client.send(Message::text(word)).unwrap();
        }
    }
    let heard: Vec<Vec<Message>> = clients
        .iter_mut()
        .map(|client| (0..9).map(|_| receive(client)).collect())
        .collect();
    assert!(heard.iter().all(|messages| *messages == heard[0]));
    // The other room has heard none of it.
    other.send(Message::text("alone")).unwrap();
    assert_eq!(receive(&mut other), Message::text("20: alone"));
    drop((clients, other));
    chat.program.expect_no_connections();
    chat.program.expect_clean_stop();
}

#[test]
fn five_hundred_clients_and_nothing_is_left() {
    let chat = Chat::start(&["--outbox", "1024"]);
    let mut clients: Vec<_> = (0..500)
        .map(|number| {
            let mut client = chat.join(if number % 2 == 0 { "/echo" } else { "/room" });
            // The server answers the handshake a moment before the client is in the room.
            client.send(Message::text("in")).unwrap();
            assert!(receive(&mut client).to_text().unwrap().ends_with("in"));
            client
        })
        .collect();
    thread::scope(|scope| {
        for part in clients.chunks_mut(125) {
            scope.spawn(|| {
                for client in part.iter_mut() {
                    client.send(Message::text("hello")).unwrap();
                }
            });
        }
    });
    // Each of the room hears all of the room; the others hear themselves.
    for (number, client) in clients.iter_mut().enumerate() {
        let mut left = if number % 2 == 0 { 1 } else { 250 };
        while left > 0 {
            let message = receive(client);
            let text = message.to_text().unwrap();
            left -= usize::from(text.ends_with("hello"));
            assert!(text.ends_with("hello") || text.ends_with("in"), "{text}");
        }
    }
    assert_eq!(chat.program.sockets(), 501);
    drop(clients);
    chat.program.expect_no_connections();
    let line = chat.program.expect_clean_stop();
    assert!(
        // Those in the room: 250 times 250, and 1 + 2 + … + 250.
        line.starts_with("served 1000 messages, 93875 copies"),
        "{line}"
    );
}

#[test]
fn who_does_not_read_is_put_out_and_delays_nobody() {
    let chat = Chat::start(&["--outbox", "8", "--idle-timeout", "1"]);
    let deaf = chat.join("/room");
    let mut speaker = chat.join("/room");
    let text = "x".repeat(50_000);
    // More than the buffers of both sockets, and the outbox.
    for _ in 0..200 {
        speaker.send(Message::text(text.clone())).unwrap();
        assert!(receive(&mut speaker).len() > text.len());
    }
    // Pings, so that only the deaf one is put out for its silence.
    let put_out = eventually(|| {
        speaker.send(Message::text("still there")).unwrap();
        receive(&mut speaker);
        chat.program.sockets() == 2
    });
    assert!(put_out, "{} sockets", chat.program.sockets());
    drop((deaf, speaker));
    chat.program.expect_no_connections();
    chat.program.expect_clean_stop();
}

#[test]
fn who_reads_too_slowly_is_put_out_though_it_reads() {
    let chat = Chat::start(&["--outbox", "8", "--idle-timeout", "20"]);
    let mut slow = chat.join("/room");
    let mut speaker = chat.join("/room");
    let text = "x".repeat(50_000);
    let mut taken = 0;
    let put_out = eventually(|| {
        speaker.send(Message::text(text.clone())).unwrap();
        receive(&mut speaker);
        taken += slow.get_mut().read(&mut [0; 1000]).unwrap_or(0);
        chat.program.sockets() == 2
    });
    assert!(put_out, "{} sockets", chat.program.sockets());
    // Much less than was said until the outbox was full.
    assert!(taken < 1_000_000, "{taken}");
    drop((slow, speaker));
    chat.program.expect_no_connections();
    chat.program.expect_clean_stop();
}

#[test]
fn rude_clients_are_survived() {
    let chat = Chat::start(&["--handshake-timeout", "1.2"]);
    let handshake = "GET /room HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
        Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    let mut halves: Vec<_> = (0..handshake.len())
        .step_by(7)
        .map(|length| {
            let mut stream = chat.program.connect();
            stream.write_all(&handshake.as_bytes()[..length]).unwrap();
            stream
        })
        .collect();
    // Not masked, a reserved operation, invalid text, an end in the middle of a frame.
    let rude: [&[u8]; 5] = [
        b"\x81\x02hi",
        b"\x83\x80\0\0\0\0",
        b"\x81\x81\0\0\0\0\xff",
        b"\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xff\0\0\0\0",
        b"\x81\xfe\x10\0\0\0\0\0abc",
    ];
    for (number, bytes) in rude.iter().cycle().take(50).enumerate() {
        let mut stream = chat.program.connect();
        stream.write_all(handshake.as_bytes()).unwrap();
        let mut head = [0; 100];
        stream.read_exact(&mut head).unwrap();
        assert!(head.starts_with(b"HTTP/1.1 101 "));
        stream.write_all(bytes).unwrap();
        if number % 2 == 0 && number % 5 != 4 {
            let _ = stream.read_to_end(&mut Vec::new());
        }
    }
    let mut client = chat.join("/room");
    client.send(Message::text("still there")).unwrap();
    assert!(
        receive(&mut client)
            .to_text()
            .unwrap()
            .ends_with("still there")
    );
    drop(client);
    for stream in &mut halves {
        let _ = stream.read_to_end(&mut Vec::new());
    }
    chat.program.expect_no_connections();
    chat.program.expect_clean_stop();
}

#[test]
fn who_is_silent_is_pinged_and_then_put_out() {
    let chat = Chat::start(&["--idle-timeout", "0.5"]);
    let mut client = chat.join("/echo");
    // Reading answers the pings.
    for _ in 0..2 {
        assert!(matches!(receive(&mut client), Message::Ping(_)));
    }
    // Without reading there is no answer.
    chat.program.expect_no_connections();
    expect_close(&mut client, CloseCode::Policy);
    chat.program.expect_clean_stop();
}
