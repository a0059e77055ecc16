//! One client: the fibre that reads.
//!
//! It runs the handshake, takes messages, and answers or passes them on. The fibre that writes ends
//! when nobody holds an end of the outbox any more that can send, which is when this one has ended
//! and has left its room; so the last frame is written, and no fibre is left.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fibre::channel::{Sender, bounded};
use fibre::net::TcpStream;
use fibre_examples::broker::{Broker, Position};
use fibre_examples::connections::{Admission, Socket};
use fibre_examples::server::Limits;
use tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tungstenite::http::Uri;
use tungstenite::protocol::frame::Frame;
use tungstenite::protocol::frame::coding::CloseCode;
use tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tungstenite::{Bytes, Error, Message, WebSocket, accept_hdr_with_config};

use crate::outbox::{Desk, FAREWELL, encode, encode_text, write_all};
use crate::rooms::{Place, Rooms, numbered};

/// The path that is no room.
const ECHO: &str = "/echo";

/// What all connections share.
pub(crate) struct Service {
    /// The rooms, which say which clients hear each other.
    rooms: Arc<Rooms>,
    /// What other servers have the rooms in common by.
    broker: Option<Arc<Broker>>,
    /// What tells the clients of this server from those of others.
    name: u32,
    /// Sizes of buffers and messages.
    config: WebSocketConfig,
    /// Frames that may wait for one client.
    outbox: usize,
    /// After what silence a client is pinged, and how long a piece that is written to it may take.
    idle_timeout: Duration,
    /// How long a handshake may take.
    handshake_timeout: Duration,
    /// Messages that were taken.
    taken: AtomicU64,
}

impl Service {
    /// A service without clients.
    pub(crate) fn new(
        limits: &Limits,
        max_message: usize,
        outbox: usize,
        rooms: Arc<Rooms>,
        broker: Option<Arc<Broker>>,
    ) -> Self {
        Self {
            rooms,
            broker,
            name: std::process::id(),
            // The default buffers are 128 KiB each, from the beginning on.
            config: WebSocketConfig::default()
                .read_buffer_size(4096)
                .write_buffer_size(0)
                .max_message_size(Some(max_message))
                .max_frame_size(Some(max_message)),
            outbox,
            idle_timeout: limits.idle_timeout,
            handshake_timeout: limits.handshake_timeout,
            taken: AtomicU64::new(0),
        }
    }

    /// What has been done, for people to read.
    pub(crate) fn tally(&self) -> String {
        let (taken, passed_on) = (self.taken.load(Ordering::Relaxed), self.rooms.passed_on());
        format!("{taken} messages, {passed_on} copies passed on,")
    }

    /// Serves one client until either side ends it.
    pub(crate) fn serve(&self, link: &Admission<TcpStream>) {
        let stream = link.socket();
        if stream.set_timeout(self.idle_timeout).is_err() {
            return;
        }
        let (outbox, frames) = bounded(self.outbox);
        fibre::scope(|scope| {
            scope.spawn(|| write_all(stream, frames, self.idle_timeout));
            self.converse(link, outbox);
            linger(stream);
        });
    }

    /// The conversation from the first byte read to the last.
    fn converse(&self, link: &Admission<TcpStream>, outbox: Sender<Bytes>) {
        let stream = link.socket();
        stream.set_read_deadline(Instant::now().checked_add(self.handshake_timeout));
        if !link.rest() {
            return;
        }
        let mut uri = Uri::default();
        #[expect(
            clippy::result_large_err,
            reason = "the signature that tungstenite asks for"
        )]
        let note_uri = |request: &Request, response: Response| -> Result<_, ErrorResponse> {
            request.uri().clone_into(&mut uri);
            Ok(response)
        };
        let desk = Desk::new(stream, outbox.clone(), self.idle_timeout);
        let accepted = accept_hdr_with_config(desk, note_uri, Some(self.config));
        // A client that speaks no WebSocket has been told so, or is gone.
        let Ok(mut socket) = accepted else { return };
        stream.set_read_deadline(None);
        let missed_from = self.missed_from(&uri);
        let waits = missed_from.is_some();
        let enter = || self.rooms.enter(uri.path(), link, outbox.clone(), waits);
        let place = (uri.path() != ECHO).then(enter);
        let error = match (&place, missed_from) {
            (Some(place), Some(position)) => self.tell_missed(place, position, &outbox).err(),
            _ => None,
        };
        let error = error.map_or_else(
            || self.listen(link.number, &mut socket, place.as_ref()),
            Error::Io,
        );
        drop(place);
        say_why(&mut socket, link, &error, &outbox);
    }

    /// The last position that the client has heard, if it says so.
    fn missed_from(&self, uri: &Uri) -> Option<(&Broker, Position)> {
        let broker = self.broker.as_deref().filter(|broker| broker.keeps())?;
        let after = uri.query()?.strip_prefix("after=")?;
        Some((broker, after.parse().ok()?))
    }

    /// Sends a client what was said in its room since this position.
    fn tell_missed(
        &self,
        place: &Place<'_>,
        (broker, after): (&Broker, Position),
        outbox: &Sender<Bytes>,
    ) -> io::Result<()> {
        // The client may take its time for each; who speaks waits for nobody.
        let send = |frame| {
            let sent = outbox.send_timeout(frame, self.idle_timeout);
            sent.map_err(|_| io::ErrorKind::TimedOut.into())
        };
        let last = broker.replay(&place.path, after, |message| {
            send(encode_text(numbered(&message))?)
        })?;
        place.catch_up(last, send)
    }

    /// Takes messages until something ends that, and returns what.
    fn listen(
        &self,
        number: u64,
        socket: &mut WebSocket<Desk<'_>>,
        place: Option<&Place<'_>>,
    ) -> Error {
        let mut pinged = false;
        loop {
            let taken = match socket.read() {
                Ok(message) => {
                    pinged = false;
                    self.take(number, message, socket, place)
                }
                Err(Error::Io(error)) if error.kind() == io::ErrorKind::TimedOut && !pinged => {
                    pinged = true;
                    socket.send(Message::Ping(Bytes::new()))
                }
                Err(error) => Err(error),
            };
            if let Err(error) = taken {
                return error;
            }
        }
    }

    /// Answers a message, or passes it on. Pings and farewells are tungstenite's business.
    fn take(
        &self,
        number: u64,
        message: Message,
        socket: &mut WebSocket<Desk<'_>>,
        place: Option<&Place<'_>>,
    ) -> Result<(), Error> {
        if !matches!(message, Message::Text(_) | Message::Binary(_)) {
            return Ok(());
        }
        self.taken.fetch_add(1, Ordering::Relaxed);
        match (place, message) {
            (None, message) => return socket.send(message),
            (Some(place), Message::Text(text)) => match &self.broker {
                None => place.broadcast(&encode_text(format!("{number}: {text}"))?),
                Some(broker) => {
                    let text = format!("{}-{number}: {text}", self.name);
                    let published = broker.publish(&place.path, text, self.idle_timeout);
                    published.map_err(|_| io::Error::from(io::ErrorKind::ResourceBusy))?;
                }
            },
            (Some(_), _) => {}
        }
        Ok(())
    }
}

/// Says why it ends, if the client can still hear that.
fn say_why(
    socket: &mut WebSocket<Desk<'_>>,
    link: &Admission<TcpStream>,
    error: &Error,
    outbox: &Sender<Bytes>,
) {
    let code = match error {
        _ if link.is_stopping() => CloseCode::Away,
        Error::Capacity(_) => CloseCode::Size,
        Error::Protocol(_) => CloseCode::Protocol,
        Error::Utf8(_) => CloseCode::Invalid,
        Error::Io(error) if error.kind() == io::ErrorKind::TimedOut => CloseCode::Policy,
        Error::Io(error) if error.kind() == io::ErrorKind::ResourceBusy => CloseCode::Again,
        _ => return,
    };
    let reason = CloseFrame {
        code,
        reason: "".into(),
    };
    if !link.is_stopping() {
        let _ = socket.close(Some(reason));
    } else if let Ok(frame) = encode(Frame::close(Some(reason))) {
        // Nothing can be read any more, and tungstenite takes that for the end.
        let _ = outbox.try_send(frame);
    }
}

/// Reads on until the client closes, for a moment: a socket closed with unread bytes would reset
/// the connection, and could take the last frames with it.
fn linger(mut stream: &TcpStream) {
    stream.set_read_deadline(Instant::now().checked_add(FAREWELL));
    let mut buffer = [0; 2048];
    while stream.read(&mut buffer).is_ok_and(|count| count > 0) {}
}
